"""The figure with a kernel behind it: the page of JupyterLab, answered by the very object that answers there."""

import base64
from itertools import pairwise

import pytest
import torch

from tests.browsing import controls, drawn, move
from transformer_anatomy import choices, explore, logspace

# A page that mounts the module as JupyterLab does. `answers` is held back where a test wants to be late. A buffer
# comes, as it does there, as a view into a longer one.
MOUNT = """async ([module, html]) => {
  const listeners = [], url = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
  window.sent = [];
  window.deliver = ({ content, buffers }) => {
    const bytes = text => Uint8Array.from("12345678" + atob(text), c => c.charCodeAt(0)).buffer;
    const views = buffers.map(text => new DataView(bytes(text), 8));
    listeners.forEach(listener => listener(content, views));
  };
  window.answered = true;
  const model = {
    get: name => ({ html })[name],
    on: (name, listener) => listeners.push(listener),
    off: (name, listener) => listeners.splice(listeners.indexOf(listener), 1),
    send: content => {
      if (window.gone) throw new Error("Cannot send");
      sent.push(content);
      if (answered) kernel(content).then(deliver);
    },
  };
  window.listeners = listeners;
  window.view = async () => {
    const el = document.getElementById("output").appendChild(document.createElement("div"));
    return (await import(url)).default.render({ model, el });
  };
  window.close_figure = await view();
}"""


def attention(temperature, n, sentence, device):
    if sentence == "nonsense":
        raise ValueError("nonsense is no sentence")
    scores = torch.randn(n, n, generator=torch.Generator().manual_seed(len(sentence)))
    return (scores / temperature).softmax(-1).to(device)


def figure():
    return explore(
        attention,
        title="Live",
        alt="A map",
        temperature=logspace(0.1, 10, 5, start=1),
        n=[4, 8, 16],
        sentence=choices(["one", "three"], free_text=True),
        readout=lambda weights, temperature, n, sentence: f"{sentence!r} at {temperature:.4f}, {n} tokens.",
    )


class Kernel:
    def __init__(self, visit, address, explorer):
        self.explorer, self.widget = explorer, explorer.widget
        self.visit = visit(address)
        self.page = self.visit.page
        self.page.clock.install(time=0)
        self.page.clock.pause_at(1000)  # from here on time passes when a test says so
        self.page.expose_function("kernel", self.answer)
        self.page.evaluate(MOUNT, [self.widget._esm, self.widget.html])
        self.page.add_style_tag(content=self.widget._css)
        self.figure = self.page.locator("figure.explore")

    def answer(self, content):
        answer, buffers = self.widget.answer(content)
        return {"content": answer, "buffers": [base64.b64encode(buffer).decode() for buffer in buffers]}

    def asked(self):
        return [content for content in self.page.evaluate("sent") if content["type"] == "compute"]

    def deliver(self, content):
        """The answer to `content`, now."""
        self.page.evaluate("answer => deliver(answer)", self.answer(content))

    def wait(self, milliseconds):
        self.page.clock.run_for(milliseconds)

    def text(self, part):
        return " ".join(self.figure.locator(part).inner_text().split())


@pytest.fixture(scope="module")
def address(serve, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    (folder / "page.html").write_text('<!doctype html><body class="jp-Notebook"><div id="output"></div></body>')
    return f"{serve(folder)}/page.html"


@pytest.fixture
def kernel(visit, address, monkeypatch):
    monkeypatch.delenv("TRANSFORMER_ANATOMY_BOOK", raising=False)
    kernel = Kernel(visit, address, figure())
    yield kernel
    assert (kernel.visit.outside, kernel.visit.errors) == ([], [])


def between(low: float, high: float, share: float) -> float:
    """The value this far between two stored ones, on a logarithmic slider."""
    return low * (high / low) ** share


def live(kernel):
    kernel.figure.and_(kernel.page.locator("[data-live]")).wait_for()
    return controls(kernel.figure)


def test_it_is_live_once_the_kernel_has_answered(kernel):
    slider, count, field = live(kernel)
    assert slider.get_attribute("max") == "200"
    assert count.get_attribute("max") == "8"
    assert field.get_attribute("type") == "text"
    assert kernel.text(".state").startswith("live on cpu")
    assert kernel.text(".readout").startswith("'one' at 1.0000, 8 tokens.")


def test_a_value_between_the_stored_ones_is_computed(kernel):
    slider, count, _ = live(kernel)
    move(slider)
    kernel.wait(39)
    assert kernel.asked() == []
    kernel.wait(1)
    kernel.page.get_by_text(" ms").wait_for()
    exact = between(1, 3.162, 1 / 50)
    assert kernel.text(".readout").startswith(f"'one' at {exact:.4f}, 8 tokens.")
    move(count)
    kernel.wait(40)
    kernel.page.get_by_text("10 tokens").wait_for()
    assert kernel.asked()[-1]["controls"] == {"temperature": pytest.approx(exact), "n": 10, "sentence": "one"}
    assert drawn(kernel.figure)["pixels"][0][:2] == [10, 10]


FINE_STOPS = """async module => {
  const blob = new Blob([module, "export { fineStops };"], { type: "text/javascript" });
  const { fineStops } = await import(URL.createObjectURL(blob));
  const grids = [
    { values: [4, 16, 64, 256, 1024], integer: true }, { values: [1, 2, 3, 5], integer: true },
    { values: [0.1, 1, 10], log: true }, { values: [0, 1, 3] }, { values: [7], integer: true },
  ];
  return grids.map(fineStops);
}"""


def test_between_any_two_stored_settings_lie_as_many_others(kernel):
    widths, few, logs, linear, one = kernel.page.evaluate(FINE_STOPS, kernel.widget._esm)
    assert widths[::12] == [4, 16, 64, 256, 1024] and widths[:3] == [4, 5, 6] and len(widths) == 49
    assert few == [1, 2, 3, 5]
    assert logs[::100] == [0.1, 1, 10] and logs[50] == pytest.approx(0.1**0.5)
    assert linear[::100] == [0, 1, 3] and linear[150] == 2
    assert one == [7]
    assert all(a < b for stops in (widths, few, logs, linear) for a, b in pairwise(stops))


def test_a_burst_of_moves_is_one_question(kernel):
    slider, *_ = live(kernel)
    for _ in range(5):
        move(slider)
        kernel.wait(30)
    kernel.wait(40)
    kernel.page.get_by_text(" ms").wait_for()
    assert len(kernel.asked()) == 1
    assert kernel.asked()[0]["controls"]["temperature"] == pytest.approx(between(1, 3.162, 5 / 50))


def test_until_the_answer_comes_the_nearest_stored_frame_and_its_words_are_shown(kernel):
    slider, *_ = live(kernel)
    kernel.page.evaluate("window.answered = false")
    slider.fill("140")
    assert kernel.text(".readout").startswith("'one' at 3.1620, 8 tokens.")
    assert "computing…" in kernel.text(".state")
    kernel.wait(40)
    kernel.deliver(kernel.asked()[0])
    assert kernel.text(".readout").startswith(f"'one' at {between(1, 3.162, 40 / 50):.4f}, 8 tokens.")


def test_an_answer_that_comes_too_late_is_not_shown(kernel):
    slider, *_ = live(kernel)
    kernel.page.evaluate("window.answered = false")
    slider.fill("110")
    kernel.wait(40)
    slider.fill("190")
    kernel.wait(40)
    (first,) = kernel.asked()
    before = drawn(kernel.figure)
    kernel.deliver(first)
    assert drawn(kernel.figure) == before
    kernel.deliver(kernel.asked()[1])
    shown = kernel.text(".readout")
    assert shown.startswith(f"'one' at {between(3.162, 10, 40 / 50):.4f}")
    kernel.deliver(first)
    assert kernel.text(".readout") == shown


def test_an_answer_to_another_view_is_not_shown(kernel):
    slider, *_ = live(kernel)
    kernel.page.evaluate("window.answered = false")
    slider.fill("140")
    kernel.wait(40)
    (asked,) = kernel.asked()
    shown = kernel.text(".readout")
    kernel.deliver(asked | {"id": [asked["id"][0] + 1, asked["id"][1]]})
    assert kernel.text(".readout") == shown
    kernel.deliver(asked)
    assert kernel.text(".readout") != shown


def test_every_view_has_ids_of_its_own(kernel):
    live(kernel)
    kernel.page.evaluate("view()")
    kernel.page.wait_for_function("document.querySelectorAll('figure[data-live]').length === 2")
    ids = kernel.page.evaluate("[...document.querySelectorAll('[id]')].map(element => element.id)")
    assert len(ids) == len(set(ids))
    for attribute in ("aria-labelledby", "list"):
        elements = kernel.page.locator(f"[{attribute}]").all()
        wanted = [element.get_attribute(attribute) for element in elements]
        assert len(wanted) == 2 and len(set(wanted)) == 2 and set(wanted) <= set(ids)


def test_entries_keep_their_order_whatever_their_names(visit, address, monkeypatch):
    monkeypatch.delenv("TRANSFORMER_ANATOMY_BOOK", raising=False)
    maps = {"64": [[1.0, 0.0]], "8": [[0.0, 1.0]], "b": [[0.5, 0.5]]}
    explorer = explore(
        lambda scale: {name: torch.tensor(rows) * scale for name, rows in maps.items()},
        title="t",
        alt="a",
        scale=[0.5, 1.0],
    )
    kernel = Kernel(visit, address, explorer)
    (slider,) = live(kernel)
    slider.fill("0")
    kernel.wait(40)
    kernel.page.get_by_text(" ms").wait_for()
    headings = kernel.figure.locator("text.head").all_text_contents()
    assert headings == ["64", "8", "b"]
    shades = [pixels[2::4] for pixels in drawn(kernel.figure)["pixels"]]
    assert [shade[0] < shade[1] for shade in shades] == [True, False, False]
    kernel.figure.locator("summary").click()
    cells = kernel.figure.locator(".data tr").nth(1).locator("td").all_inner_texts()
    assert cells == ["0.50", "0.00", "0.00", "0.50", "0.25", "0.25"]
    assert kernel.figure.locator(".data tr").first.locator("th").all_inner_texts()[:4:2] == ["64: 1", "8: 1"]


def test_the_device_that_is_chosen_computes(visit, address, monkeypatch):
    monkeypatch.delenv("TRANSFORMER_ANATOMY_BOOK", raising=False)
    monkeypatch.setattr("transformer_anatomy.page.explore.live.available_devices", lambda: ["cpu", "abacus"])
    monkeypatch.setattr("transformer_anatomy.page.explore.live.pick_device", lambda name: name)
    devices = []

    def weights(scale, device):
        devices.append(device)
        return torch.eye(2) * scale

    kernel = Kernel(visit, address, explore(weights, title="t", alt="a", scale=[0.5, 1.0]))
    (slider,) = live(kernel)
    menu = kernel.figure.get_by_label("device")
    assert menu.locator("option").all_inner_texts() == ["cpu", "abacus"]
    slider.fill("0")
    kernel.wait(40)
    kernel.page.get_by_text(" ms").wait_for()
    assert devices[-1] == "cpu"
    menu.select_option("abacus")
    kernel.wait(40)
    kernel.page.get_by_text(" ms").wait_for()
    assert devices[-1] == "abacus"


def test_any_text_can_be_typed(kernel):
    *_, field = live(kernel)
    field.fill("a new sentence")
    assert kernel.asked() == []
    field.press("Enter")
    kernel.wait(40)
    kernel.page.get_by_text("'a new sentence' at").wait_for()


def test_an_error_is_said_in_words_and_the_picture_stays(kernel):
    *_, field = live(kernel)
    before = drawn(kernel.figure)
    field.fill("nonsense")
    field.press("Enter")
    kernel.wait(40)
    kernel.page.get_by_text("nonsense is no sentence").wait_for()
    assert kernel.figure.locator("[role=alert]").is_visible()
    assert drawn(kernel.figure) == before
    field.fill("three")
    kernel.wait(40)
    kernel.page.get_by_text("'three' at 1.0000").wait_for()
    assert not kernel.figure.locator("[role=alert]").is_visible()


def test_without_an_answer_for_eight_seconds_it_is_a_stored_figure_again(kernel):
    slider, _, field = live(kernel)
    field.fill("nonsense")
    field.press("Enter")
    kernel.wait(40)
    kernel.page.get_by_text("nonsense is no sentence").wait_for()
    kernel.page.evaluate("window.answered = false")
    slider.fill("140")
    kernel.wait(40)
    kernel.wait(8000)
    assert "the kernel has not answered for 8 s" in kernel.text(".state")
    assert not kernel.figure.locator("[role=alert]").is_visible()
    assert slider.get_attribute("max") == "4"
    assert kernel.text("output >> nth=0") == "3.16"
    move(slider)
    assert kernel.text(".readout").startswith("'one' at 10.0000")
    kernel.page.evaluate("window.answered = true")
    move(slider)
    live(kernel)


def test_after_a_restart_of_the_kernel_it_is_a_stored_figure_and_says_so(kernel):
    slider, *_ = live(kernel)
    kernel.page.evaluate("window.gone = true")
    move(slider)
    kernel.wait(40)
    assert kernel.text(".state").endswith("its kernel is gone: run the cell again")
    assert kernel.text(".readout").startswith("'one' at 1.0000, 8 tokens.")
    move(controls(kernel.figure)[0])
    assert kernel.text(".readout").startswith("'one' at 3.1620, 8 tokens.")
    assert kernel.visit.errors == []


def test_keys_do_not_reach_jupyterlab(kernel):
    slider, *_ = live(kernel)
    kernel.page.evaluate("window.keys = 0; document.addEventListener('keydown', () => { window.keys += 1; })")
    move(slider)
    assert kernel.page.evaluate("window.keys") == 0
    assert kernel.figure.get_attribute("data-lm-suppress-shortcuts") == "true"


def test_a_closed_view_listens_no_longer(kernel):
    live(kernel)
    kernel.page.evaluate("close_figure()")
    assert kernel.page.evaluate("listeners.length") == 0
