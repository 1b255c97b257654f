"""The figure with a kernel behind it: the page of JupyterLab, answered by the very object that answers there."""

import base64

import pytest
import torch

from tests.browsing import controls, drawn, move
from transformer_anatomy import choices, explore, logspace

# A page that mounts the module as JupyterLab does. `answers` is held back where a test wants to be late.
MOUNT = """async ([module, html]) => {
  const listeners = [], url = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
  window.sent = [];
  window.deliver = ({ content, buffers }) => {
    const views = buffers.map(text => new DataView(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer));
    listeners.forEach(listener => listener(content, views));
  };
  window.answered = true;
  const model = {
    get: name => ({ html })[name],
    on: (name, listener) => listeners.push(listener),
    off: (name, listener) => listeners.splice(listeners.indexOf(listener), 1),
    send: async content => { sent.push(content); if (answered) deliver(await kernel(content)); },
  };
  window.listeners = listeners;
  window.close_figure = (await import(url)).default.render({ model, el: document.getElementById("output") });
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
    assert count.get_attribute("max") == "12"
    assert field.get_attribute("type") == "text"
    assert kernel.text(".state").startswith("live on cpu")
    assert kernel.text(".readout").startswith("'one' at 1.0000, 8 tokens.")


def test_a_value_between_the_stored_ones_is_computed(kernel):
    slider, count, _ = live(kernel)
    move(slider)
    assert kernel.asked() == []
    kernel.wait(40)
    kernel.page.get_by_text(" ms").wait_for()
    exact = between(1, 3.162, 1 / 50)
    assert kernel.text(".readout").startswith(f"'one' at {exact:.4f}, 8 tokens.")
    move(count)
    kernel.wait(40)
    kernel.page.get_by_text("9 tokens").wait_for()
    assert kernel.asked()[-1]["controls"] == {"temperature": pytest.approx(exact), "n": 9, "sentence": "one"}
    assert drawn(kernel.figure)["pixels"][0][:2] == [9, 9]


def test_a_burst_of_moves_is_one_question(kernel):
    slider, *_ = live(kernel)
    for _ in range(5):
        move(slider)
    kernel.wait(40)
    kernel.page.get_by_text(" ms").wait_for()
    assert len(kernel.asked()) == 1


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
    slider, *_ = live(kernel)
    kernel.page.evaluate("window.answered = false")
    slider.fill("140")
    kernel.wait(40)
    kernel.wait(8000)
    assert "the kernel has not answered for 8 s" in kernel.text(".state")
    assert slider.get_attribute("max") == "4"
    assert kernel.text("output >> nth=0") == "3.16"
    move(slider)
    assert kernel.text(".readout").startswith("'one' at 10.0000")
    kernel.page.evaluate("window.answered = true")
    move(slider)
    live(kernel)


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
