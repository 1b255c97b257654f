"""How long the pages of the built book take from a server on this machine until their text can be read.

    python -m benchmarks.pages                        # every page of _build/html
    python -m benchmarks.pages --loads 9 --record     # and keep the slowest in measured.json

Each load is a first visit, with nothing in the browser's cache: the time from the start of the navigation until text is
painted (first contentful paint), until the document is read with its figures drawn, and until all is loaded.
"""

import argparse
import functools
import http.server
import os
import shutil
import statistics
import sys
import threading
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from benchmarks.record import record

ROOT = Path(__file__).parents[1]
BOUND = 1.5  # s: text can be read
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync", "--no-first-run", "--disable-quic"]

TIMES = """() => {
  const [{ domContentLoadedEventEnd, loadEventEnd }] = performance.getEntriesByType("navigation");
  const [painted] = performance.getEntriesByName("first-contentful-paint");
  return painted && loadEventEnd ? [painted.startTime, domContentLoadedEventEnd, loadEventEnd] : null;
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(folder: Path) -> http.server.ThreadingHTTPServer:
    """A server of `folder` on a free port of this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    server.daemon_threads = True
    server.socket.listen(128)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def load(browser: Browser, address: str) -> list[float]:
    """Seconds of one first visit: text painted, document read, all loaded."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.goto(address)
    milliseconds = page.wait_for_function(TIMES).json_value()
    context.close()
    return [time / 1000 for time in milliseconds]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--book", type=Path, default=ROOT / "_build" / "html", help="the folder of the built book")
    parser.add_argument("--loads", type=int, default=5, help="first visits of each page")
    parser.add_argument("--record", action="store_true", help="keep the slowest page in measured.json")
    arguments = parser.parse_args()
    pages = sorted((arguments.book / "book").glob("*.html"))
    if not pages:
        parser.error(f"no pages in {arguments.book}: make book")
    names = [os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"]
    chromium = next((path for name in names if name and (path := shutil.which(name))), None)
    if chromium is None:
        parser.error("no Chromium on this machine: install chromium, or let CHROMIUM name one")
    server, slowest = serve(arguments.book), 0.0
    print(f"{'text':>6} {'read':>6} {'loaded':>6}  s, medians of {arguments.loads} first visits")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for page in pages:
            address = f"http://127.0.0.1:{server.server_port}/book/{page.name}"
            load(browser, address)  # one to warm up
            loads = [load(browser, address) for _ in range(arguments.loads)]
            text, read, loaded = (statistics.median(times) for times in zip(*loads, strict=True))
            slowest = max(slowest, text)
            print(f"{text:6.2f} {read:6.2f} {loaded:6.2f}  {page.stem}")
        browser.close()
    server.shutdown()
    print(f"slowest page {slowest:.2f} s until text is painted, at most {BOUND} s")
    if arguments.record:
        name = "Text of a page painted after a first visit from localhost: the slowest page's median"
        record(name, slowest, "s", at_most=BOUND, command="make benchmark-pages")
    return 0 if slowest <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
