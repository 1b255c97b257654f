"""How long a figure of the book takes to redraw, and how many bytes it brings along.

    python -m benchmarks.figures                                  # a sample page with every kind of figure
    python -m benchmarks.figures _build/html/book/*.html          # pages of the built book
    python -m benchmarks.figures --record                         # and keep the slowest in measured.json

For each control, 100 moves: from the input event until the picture is drawn and laid out, in milliseconds.
"""

import argparse
import math
import os
import re
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

import torch
from playwright.sync_api import sync_playwright

from benchmarks.record import record

FRAME = 16  # ms: one picture of a screen at 60 Hz
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync", "--no-first-run", "--disable-quic"]

MEASURE = """(figure, [index, moves]) => {
  const control = figure.querySelectorAll(".controls input, .controls select")[index];
  const count = control.options ? control.options.length : +control.max + 1;
  return Array.from({ length: moves }, () => {
    const begun = performance.now();
    control.value = (+control.value + 1) % count;
    control.dispatchEvent(new Event("input", { bubbles: true }));
    figure.getBoundingClientRect();  // makes the browser lay out what was drawn
    return performance.now() - begun;
  });
}"""


def sample() -> str:
    """HTML of a page with every kind of figure, at and above the sizes of the book."""
    from transformer_anatomy import explore, linspace, logspace
    from transformer_anatomy.page.assets import asset

    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(6, 64, 64, generator=generator)
    x = torch.linspace(0, 4, 200)

    def one_map(temperature, head):
        weights = (scores[head, :12, :12] / temperature).softmax(-1)
        entropy = -(weights * weights.clamp_min(1e-30).log()).sum(-1)
        return {"weight": weights, "entropy, nats": entropy, "uniform": math.log(12)}

    def six_maps(temperature):
        return {f"layer {k + 1}": (scores[k, :11, :11] / temperature).softmax(-1) for k in range(6)}

    def large_map(temperature):
        return (scores[0] / temperature).softmax(-1)

    def curves(rate):
        return {f"curve {k}": torch.exp(-rate * x / k) for k in range(1, 6)} | {"half": 0.5}

    def bars(temperature):
        return {f"head {k}": (scores[k, 0, :8] / temperature).softmax(-1) for k in range(3)} | {"uniform": 1 / 8}

    def layers(temperature):
        weights = (scores.repeat(12, 1, 1).unflatten(0, (6, 12))[..., :10, :10] / temperature).softmax(-1)
        return {"weights": weights, "entropy, nats": -(weights * weights.clamp_min(1e-30).log()).sum(-1)}

    temperature = logspace(0.1, 10, 11, start=1)
    heads = [0, 1, 2, 3, 4, 5]
    figures = [
        explore(one_map, title="One map and its strip, 12 × 12", alt="a map", temperature=temperature, head=heads),
        explore(six_maps, title="Six maps, 11 × 11", alt="six maps", temperature=temperature),
        explore(large_map, title="One map, 64 × 64", alt="a map", temperature=temperature),
        explore(
            curves, title="Five curves of 200 points", alt="curves", x=x, baselines=("half",), rate=linspace(0, 2, 9)
        ),
        explore(
            bars,
            title="Three times eight bars",
            alt="bars",
            kind="bars",
            baselines=("uniform",),
            temperature=temperature,
        ),
        explore(layers, title="Six layers of twelve heads, 10 × 10", alt="layers", temperature=[0.5, 1.0, 2.0]),
    ]
    body = "".join(figure.figure() for figure in figures)
    return (
        '<!doctype html><meta charset="utf-8">'
        f"<style>body {{ max-width: 720px; margin: auto }} {asset('tokens.css', 'explore.css')}</style>"
        f"{body}<script>{asset('layers.js', 'explore.js')}</script>"
    )


def measure(page, path: Path, moves: int) -> float:
    """Prints a line for each control of the open page; returns the slowest 95th percentile."""
    figures = re.findall(r'<figure class="explore.*?</figure>', path.read_text(encoding="utf-8"), re.DOTALL)
    slowest = 0.0
    print(f"{'median':>7} {'95 %':>7} {'KB':>6}  figure, control")
    for markup, figure in zip(figures, page.locator("figure.explore").all(), strict=True):
        title = figure.locator(".title").inner_text()
        frames = re.search(r'data-frames="([^"]*)"', markup)  # in a built book they stand beside the page
        size = (len(markup.encode()) + ((path.parent / frames[1]).stat().st_size if frames else 0)) / 1000
        figure.scroll_into_view_if_needed()
        figure.and_(page.locator(":not([data-frames])")).wait_for()
        for index, label in enumerate(figure.locator(".controls .name").all_inner_texts()):
            times = sorted(figure.evaluate(MEASURE, [index, moves]))
            late = times[math.ceil(0.95 * moves) - 1]
            slowest = max(slowest, late)
            print(f"{statistics.median(times):7.2f} {late:7.2f} {size:6.1f}  {title}, {label}")
    return slowest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path, help="HTML files with figures; none: a sample page")
    parser.add_argument("--moves", type=int, default=100, help="moves of each control")
    parser.add_argument("--record", action="store_true", help="keep the figure in measured.json")
    arguments = parser.parse_args()
    if arguments.record and arguments.pages:
        parser.error("--record keeps what the sample page measures: name no pages")
    names = [os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"]
    chromium = next((path for name in names if name and (path := shutil.which(name))), None)
    if chromium is None:
        parser.error("no Chromium on this machine: install chromium, or let CHROMIUM name one")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        pages = arguments.pages
        if not pages:
            os.environ["TRANSFORMER_ANATOMY_BOOK"] = "1"
            pages = [Path(folder) / "sample.html"]
            pages[0].write_text(sample())
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        slowest = 0.0
        for path in pages:
            page = browser.new_page(viewport={"width": 1200, "height": 900})
            page.goto(path.resolve().as_uri())
            if page.locator("figure.explore").count():
                print(path.name)
                slowest = max(slowest, measure(page, path, arguments.moves))
            page.close()
        browser.close()
    print(f"slowest 95th percentile {slowest:.2f} ms, one frame of the screen is {FRAME} ms")
    if arguments.record:
        name = "A figure redrawn after a move of a control: the slowest 95th percentile on a page with every kind"
        record(name, slowest, "ms", at_most=FRAME, command="make benchmark-figures")
    return 0 if slowest <= FRAME else 1


if __name__ == "__main__":
    sys.exit(main())
