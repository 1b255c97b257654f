"""One setting, `repository` in _config.yml: with an address, pages have buttons that lead to their source, to an issue
and to places that run them; without one, none.
"""

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError

BUTTONS = ("use_repository_button", "use_source_button", "use_issues_button")
BINDER, COLAB = "https://mybinder.org", "https://colab.research.google.com"
ADDRESS = re.compile(r"https://([\w.-]+)/[\w.-]+/[\w.-]+")


def setup(app: Sphinx) -> None:
    """Completes the theme's options before the theme reads them."""
    app.connect("config-inited", _complete, priority=400)
    app.connect("html-page-context", _say_what_comes_first, priority=600)


def _complete(app: Sphinx, config: Config) -> None:
    config.html_theme_options = with_buttons(config.html_theme_options)


def with_buttons(options: dict[str, Any]) -> dict[str, Any]:
    """The theme's options, with the buttons that `repository_url` allows.

    Raises `ConfigError` for an address that no button could lead to.
    """
    options = dict(options)
    address = (options.pop("repository_url", None) or "").strip().rstrip("/").removesuffix(".git")
    hub = ((options.pop("launch_buttons", None) or {}).get("jupyterhub_url") or "").strip()
    options |= dict.fromkeys(BUTTONS, bool(address))
    if not address:
        return options
    found = ADDRESS.fullmatch(address)
    if not found:
        raise ConfigError(f"repository: url in _config.yml must be https://host/owner/name or empty, got {address!r}")
    launch = {"notebook_interface": "jupyterlab", "binderhub_url": BINDER, "jupyterhub_url": hub}
    launch |= {"colab_url": COLAB} if found[1] == "github.com" else {}
    branch, folder = options.get("repository_branch"), (options.get("path_to_docs") or "").strip("./")
    options |= {"repository_url": address, "repository_branch": branch or "main"}
    return options | {"path_to_docs": folder, "launch_buttons": launch}


def _say_what_comes_first(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Colab opens a notebook alone, without the library: its button says so."""
    buttons = [button for group in context.get("header_buttons", []) for button in group.get("buttons", [])]
    for button in buttons:
        if button.get("text") == "Colab":
            button["tooltip"] += ". One cell comes first: see How to run it"
