"""Where the pages of the built book lead."""

from html.parser import HTMLParser
from pathlib import Path


class Links(HTMLParser):
    """What a page names: addresses of links, scripts, styles and pictures; whole links to the glossary; its own ids."""

    def __init__(self, file: Path):
        super().__init__()
        self.addresses, self.terms, self.ids = [], [], []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.addresses += [attributes[name] for name in ("href", "src") if attributes.get(name)]
        if tag == "a" and "term" in attributes.get("class", "").split():
            self.terms.append(attributes)
