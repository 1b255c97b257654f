"""Every address inside the book leads to a file that is there, and to a place on it."""

from urllib.parse import unquote, urlsplit

from tests.book.links import Links


def dead(html) -> list[str]:
    """Each link of each page that leads nowhere, behind the page that has it."""
    pages = {file: Links(file) for file in html.rglob("*.html") if "_static" not in file.parts}
    found = []
    for file, links in pages.items():
        for address in set(links.addresses):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            known = pages[target].ids if target in pages else None
            if not target.exists() or (known is not None and parts.fragment and unquote(parts.fragment) not in known):
                found.append(f"{file.relative_to(html)}: {address}")
    return found


def test_no_link_of_the_book_is_dead(built):
    assert dead(built.resolve()) == []


def test_a_dead_link_and_a_dead_place_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a id="here" href="b.html#there">1</a><a href="#here">2</a><img src="c.png">')
    (tmp_path / "b.html").write_text('<a href="a.html#here">1</a><a href="https://example.org/d.html">2</a>')
    assert sorted(dead(tmp_path)) == ["a.html: b.html#there", "a.html: c.png"]
