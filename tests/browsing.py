"""A browser that reaches nothing outside this machine, and probes of what a figure really draws."""

import functools
import http.server
import os
import shutil
import threading
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, Route, sync_playwright

ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync", "--no-first-run", "--disable-quic"]
LOCAL = {"127.0.0.1", "localhost"}

# Pixels of every canvas and the markup of every svg: a slider that moves over a frozen picture changes neither.
DRAWN = """figure => ({
  pixels: [...figure.querySelectorAll("canvas")].map(canvas =>
    [canvas.width, canvas.height, ...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data]),
  marks: [...figure.querySelectorAll(".picture svg")].map(svg => svg.outerHTML),
})"""


@dataclass(frozen=True)
class Visit:
    """An open page, the requests that it made outside this machine, and the errors that it reported."""

    page: Page
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def figure(self, title: str) -> Locator:
        """The figure with this title."""
        return self.page.locator("figure.explore").filter(has=self.page.locator(".title", has_text=title))


def drawn(figure: Locator) -> dict:
    """What a figure shows: `pixels` of its canvases, `marks` of its svg elements."""
    return figure.evaluate(DRAWN)


def controls(figure: Locator) -> list[Locator]:
    """The native controls of a figure, in order."""
    return figure.locator(".controls input, .controls select").all()


def move(control: Locator) -> None:
    """One step of a control by keyboard, to a value that it does not have, when the figure has all its frames."""
    control.focus()
    control.locator("xpath=ancestor::figure[not(@data-frames)]").wait_for()
    menu = control.evaluate("element => element.tagName") == "SELECT"
    at_end = control.evaluate("element => +element.value === +(element.max ?? element.options.length - 1)")
    control.press(("ArrowUp" if menu else "ArrowLeft") if at_end else ("ArrowDown" if menu else "ArrowRight"))


def chromium() -> str:
    """The reader's own Chromium: $CHROMIUM, else what is on the path."""
    names = [os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"]
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    return found or pytest.fail("no Chromium on this machine: install chromium, or let CHROMIUM name one")


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Opens an address; options are those of a browser context, such as java_script_enabled=False."""
    contexts = []

    def open_page(address: str, **options) -> Visit:
        context = browser.new_context(**{"viewport": {"width": 1000, "height": 900}} | options)
        context.set_default_timeout(90_000)  # ms, long enough for a machine that is busy with other work
        contexts.append(context)
        visit = Visit(context.new_page())

        def guard(route: Route) -> None:
            parts = urlsplit(route.request.url)
            if parts.scheme in ("file", "data", "blob") or parts.hostname in LOCAL:
                return route.continue_()
            visit.outside.append(route.request.url)
            return route.abort()

        context.route("**/*", guard)
        visit.page.on("console", lambda message: visit.errors.append(message.text) if message.type == "error" else None)
        visit.page.on("pageerror", lambda error: visit.errors.append(str(error)))
        visit.page.goto(address)
        return visit

    yield open_page
    for context in contexts:
        context.close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def serve():
    """Serves a folder on this machine; returns its address, without a slash at the end."""
    servers = []

    def start(folder) -> str:
        handler = functools.partial(Quiet, directory=str(folder))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
