"""What a page costs its reader: bytes, requests, our own scripts, and text that moves under the eyes.

Bytes are those that the server sends, uncompressed; what the browser's cache answers costs none.
"""

import functools
import os
import re
import threading
from http.server import ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from tests.book.conftest import pages
from tests.browsing import Quiet
from transformer_anatomy.page.assets import STATIC

KB = 1000
FIRST, NEXT, READ, REQUESTS, OURS = 2500 * KB, 400 * KB, 800 * KB, 60, 25 * KB
WITH_FIGURES = 'figure class="explore'
# Three things move by themselves: a table of contents that follows the reader; and, while the page still arrives, the
# buttons of its header as one more comes, and the columns of a table as one more row does.
SHIFTS = """() => {
  window.shifted = 0;
  const arrived = () => performance.getEntriesByType("navigation")[0].domContentLoadedEventStart || Infinity;
  new PerformanceObserver(list => {
    for (const { value, sources, startTime } of list.getEntries()) {
      const expected = ".bd-sidebar-secondary" + (startTime < arrived() ? ", .header-article-items, table" : "");
      if (!sources.length || sources.some(({ node }) => !node?.parentElement?.closest(expected)))
        window.shifted += value;
    }
  }).observe({ type: "layout-shift", buffered: true });
}"""
TO_THE_END = """async () => {
  const next = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  for (let y = 0; y < document.documentElement.scrollHeight; y += 500) {
    scrollTo({ top: y, behavior: "instant" });
    await next();
  }
}"""


@pytest.fixture(scope="module")
def fetched(built):
    """A server of the book that tells what it sent: `address`, and `sent`, a list of (path, bytes)."""

    class Handler(Quiet):
        def copyfile(self, source, target):
            self.server.sent.append((urlsplit(self.path).path, os.fstat(source.fileno()).st_size))
            super().copyfile(source, target)

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(built)))
    server.daemon_threads, server.sent = True, []
    server.socket.listen(128)  # a browser asks for much at once
    server.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def settle(page, server) -> None:
    """Returns when the browser has asked for nothing new for a while."""
    seen = -1
    while seen != len(server.sent):
        seen = len(server.sent)
        page.wait_for_timeout(600)


def cost(page, server, address: str | None = None) -> list[tuple[str, int]]:
    """What opening `address` fetched or, without one, reading on to the end of the open page."""
    server.sent.clear()
    if address:
        page.goto(f"{server.address}/{address}.html")
    else:
        page.evaluate(TO_THE_END)
    settle(page, server)
    return list(server.sent)


@pytest.fixture
def reader(browser):
    """A page of a browser with an empty cache of its own. (A context that guards requests, as in `visit`, has none.)"""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    context.set_default_timeout(90_000)
    yield context.new_page()
    context.close()


def total(sent: list[tuple[str, int]]) -> int:
    return sum(size for _, size in sent)


def test_a_page_that_is_opened_first_is_light_and_the_one_after_it_lighter(reader, fetched, page):
    first = cost(reader, fetched, page)
    assert total(first) < FIRST
    assert len(first) < REQUESTS
    on = cost(reader, fetched)
    own = [entry for entry in first if page in entry[0] or "/figures/" in entry[0]]
    assert total(own + on) < READ
    order = pages()
    following = cost(reader, fetched, order[order.index(page) - 1])
    assert 0 < total(following) < NEXT, following


def test_a_page_that_is_opened_after_the_front_page_is_light(reader, fetched, page):
    front, *others = pages()
    cost(reader, fetched, front if page != front else others[0])
    sent = cost(reader, fetched, page)
    assert 0 < total(sent) < NEXT, sent


def test_our_own_scripts_on_a_page_are_small(built, page):
    pytest.importorskip("minify", reason="without tdewolff-minify the scripts stay as they were written")
    text = (built / f"{page}.html").read_text(encoding="utf-8")
    ours = {file.name for file in STATIC.glob("*.js")}
    linked = [urlsplit(address).path for address in re.findall(r'<script\b[^>]*\bsrc="([^"]*)"', text)]
    files = [path for path in linked if path.rpartition("/")[2] in ours]
    inline = re.findall(r"<script(?: data-cfasync=\"false\")?>(.*?)</script>", text, re.DOTALL)
    size = sum((built / page).parent.joinpath(path).stat().st_size for path in files) + len("".join(inline).encode())
    assert size < OURS
    assert ("explore.js" in "".join(files)) == (WITH_FIGURES in text)


def test_no_page_loads_what_nothing_on_it_uses(built, page):
    text = (built / f"{page}.html").read_text(encoding="utf-8")
    for name in ("thebe", "togglebutton", "design-tabs", "fontawesome", "searchindex"):
        assert not re.search(rf'<(?:script|link)\b[^>]*(?:src|href)="[^"]*{name}', text), name
    assert bool(re.search(r'<script\b[^>]*src="[^"]*/mathjax/', text)) == ('class="math' in text)


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("place", ["top", "middle", "exercises"])
def test_nothing_moves_when_figures_are_drawn_and_pictures_come(visit, built, fetched, page, place, width):
    text = (built / f"{page}.html").read_text(encoding="utf-8")
    if WITH_FIGURES not in text and "<img" not in text:
        pytest.skip("a page of text")
    sections = re.findall(r'<section [^>]*\bid="([^"]+)"', text)
    opened = visit("about:blank", viewport={"width": width, "height": 900}).page
    opened.route("**/tex-chtml.js*", lambda route: route.abort())  # formulas move when they are set; not measured here
    opened.add_init_script(f"({SHIFTS})()")
    anchor = {"top": "", "middle": f"#{sections[len(sections) // 2]}", "exercises": f"#{sections[-2]}"}[place]
    opened.set_default_timeout(90_000)
    opened.goto(f"{fetched.address}/{page}.html{anchor}")
    settle(opened, fetched)
    if place == "top":
        opened.evaluate(TO_THE_END)
        settle(opened, fetched)
    assert opened.locator("figure.explore:not([data-mounted])").count() == 0
    assert opened.evaluate("shifted") < 0.01


def test_pictures_and_frames_are_fetched_when_they_come_near_and_printed_all_the_same(reader, fetched):
    opened = reader
    cost(opened, fetched, "book/softmax_decay")
    assert opened.locator("figure.explore[data-frames]").count() > 3
    opened.pdf()
    printed = opened.evaluate(
        "[...document.querySelectorAll('article img')].filter(i => i.checkVisibility() && !i.naturalWidth).length"
    )
    assert printed == 0
    cost(opened, fetched)
    assert opened.locator("figure.explore[data-frames]").count() == 0
