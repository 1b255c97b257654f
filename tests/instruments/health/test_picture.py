import math

import pytest
import torch
from torch import nn

from tests.instruments.health.models import LanguageModel, prediction_loss
from transformer_anatomy import PATIENTS, HealthReport, examine


@pytest.fixture
def healthy(unchecked):
    return examine(LanguageModel(n_layers=3), prediction_loss())


def test_it_draws_each_figure_of_the_layers_in_its_colour(healthy):
    sheet = healthy.plot()
    titles = ["Gradient norm", "Gradient · weights / loss", "Token similarity", "Attention entropy"]
    assert [picture.alt[: len(title)] for picture, title in zip(sheet.pictures, titles, strict=True)] == titles
    curves = [picture.light.axes[0].lines[0] for picture in sheet.pictures]
    assert [curve.get_color() for curve in curves] == ["#d55e00", "#d55e00", "#56657a", "#753e8e"]
    assert curves[0].get_ydata().tolist() == [layer.gradient for layer in healthy.stacks[0]]


def test_it_shows_itself_in_both_themes_and_says_in_words_what_is_to_be_seen(healthy):
    markup = healthy.plot()._repr_html_()
    assert markup.count("only-light") - markup.count(".only-light") == 4
    assert "in encoder.layers.0 to " in markup and "<Sheet: Gradient norm" in repr(healthy.plot())


def test_a_bare_stack_is_named_after_the_model(unchecked):
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model, x = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False), torch.randn(4, 6, 16)
    report = examine(model, lambda model: model(x).square().mean())
    assert "Layers of <code>the model</code>" not in report._repr_html_()
    assert "<caption>Layers of the model</caption>" in report._repr_html_()
    assert all("in the layers of the model, from" in picture.alt for picture in report.plot().pictures)


def test_without_layers_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match="plot needs figures of repeated layers, this report has none"):
        HealthReport(1.0, (), ()).plot()


@pytest.mark.parametrize("name", PATIENTS)
def test_whatever_is_finite_can_be_drawn(name, unchecked):
    make, *_ = PATIENTS[name]
    model, loss, _ = make()
    report = examine(model, loss)
    if math.isfinite(report.loss):
        assert report.plot().pictures
