import json
import re
from html.parser import HTMLParser

import pytest
import torch
from torch import nn

from tests.instruments.health.models import LanguageModel, prediction_loss
from transformer_anatomy import PATIENTS, examine
from transformer_anatomy.instruments.health.finding import HINTS

FAULTS = """vanishing exploding collapsed saturated dead unused shared masked-out non-finite update-too-large
update-too-small"""


def report_on(name):
    make, *_ = PATIENTS[name]
    model, loss, optimizer = make()
    return examine(model, loss, optimizer=optimizer)


@pytest.fixture
def healthy(unchecked):
    model = LanguageModel(n_layers=3)
    return examine(model, prediction_loss(), optimizer=torch.optim.Adam(model.parameters()))


@pytest.fixture
def sick(unchecked):
    return report_on("no residual connections, 12 layers")


class Reader(HTMLParser):
    """The cells of each table; raises for a tag that is not closed in order."""

    def __init__(self, markup):
        super().__init__()
        self.open, self.tables, self.attributes = [], [], []
        self.feed(markup)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if tag in ("wbr", "img"):
            return
        self.open.append(tag)
        if tag == "table":
            self.tables.append({"caption": "", "rows": []})
        elif tag == "tr":
            self.tables[-1]["rows"].append([])
        elif tag in ("td", "th"):
            self.tables[-1]["rows"][-1].append("")
            self.attributes.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if "caption" in self.open:
            self.tables[-1]["caption"] += text
        elif {"td", "th"} & set(self.open):
            self.tables[-1]["rows"][-1][-1] += text


def test_every_fault_has_a_hint():
    assert set(HINTS) == set(FAULTS.split())


def test_the_verdict_says_what_and_where_in_a_sentence(sick):
    start = r"12 layers: collapsed at encoder\.layers\.[12]: its tokens are all alike: their mean cosine is 1 − "
    assert re.match(start, sick.verdict) and sick.verdict.endswith(". Also: vanishing.")


def test_the_text_holds_findings_with_hints_and_a_line_for_each_layer(sick, healthy):
    lines = str(sick).splitlines()
    assert lines[0] == sick.verdict and repr(sick) == str(sick)
    for finding in sick.findings:
        at = lines.index(f"{finding.fault} at {finding.where}")
        assert lines[at + 1 : at + 3] == [f"    {finding.evidence}", f"    {HINTS[finding.fault]}"]
    head, *rows = str(healthy).splitlines()[2:]
    assert [row.split()[0] for row in rows] == [f"encoder.layers.{i}" for i in range(3)]
    assert {len(row) for row in rows} == {len(head)}


def test_numbers_have_three_digits_and_no_powers_where_none_is_needed(sick, healthy):
    for report in (sick, healthy):
        assert not re.search(r"\de[+-]?\d", str(report))
        assert not re.search(r"\d\.\d{6,}", str(report))


def test_the_html_has_tables_with_captions_and_scopes_and_no_colours_of_its_own(sick):
    markup = sick._repr_html_()
    read = Reader(markup)
    findings, layers = read.tables
    assert [findings["caption"], layers["caption"]] == ["Findings", "Layers of encoder.layers"]
    assert [row[:2] for row in findings["rows"][1:]] == [[f.fault, f.where] for f in sick.findings]
    assert all(f.evidence + f.hint == row[2] for f, row in zip(sick.findings, findings["rows"][1:], strict=True))
    assert len(layers["rows"]) == 13 and len({len(row) for row in layers["rows"]}) == 1
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in read.attributes if tag == "th")
    assert "tabular-nums" in markup and not re.search(r"#[0-9a-f]{3,8}\b|rgba?\(|background:(?!none)", markup)


def test_the_table_and_the_data_hold_the_same_numbers(healthy):
    (table,) = Reader(healthy._repr_html_()).tables
    (stack,) = healthy.to_dict()["stacks"]
    columns = ["path", "gradient", "relative_gradient", "similarity", "size", "growth", "entropy", "dead", "update"]
    for row, layer in zip(table["rows"][1:], stack, strict=True):
        assert row[0] == layer["path"]
        for cell, name in zip(row[1:], columns[1:], strict=True):
            assert float(cell) == pytest.approx(layer[name], rel=6e-3), name


@pytest.mark.parametrize("name", PATIENTS)
def test_every_report_can_be_shown_and_written(name, unchecked):
    report = report_on(name)
    json.dumps(report.to_dict())
    Reader(report._repr_html_())
    assert report.to_dict()["findings"][0]["fault"] == report.findings[0].fault


def test_a_name_in_the_model_is_no_markup(unchecked):
    model = nn.Sequential()
    model.add_module("<b>", nn.Linear(4, 4))
    model.add_module("c&d", nn.Linear(4, 4))
    x = torch.randn(4, 4)
    markup = examine(model, lambda model: model(x).mean())._repr_html_()
    assert "<b>" not in markup and "&lt;b&gt;" in markup and "c&amp;d" in markup


def test_attention_that_is_not_seen_is_noted(unchecked):
    class LinearAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(8, 8)

        def forward(self, x):
            return x + self.inner(x) @ (x.transpose(1, 2) @ x)

    model, x = nn.Sequential(LinearAttention(), LinearAttention()), torch.randn(4, 6, 8) / 10
    (note,) = examine(model, lambda model: model(x).square().mean()).notes
    assert note == "the attention of 0 was not seen, so saturated and masked-out were not judged"
