"""Links between pages of the book: which places they point at, and how they lead there inside the PDF."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urldefrag

from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, NullObject

HREF = re.compile(r'\shref="([^"#]*)#([^"]+)"')

Place = tuple[int, float]  # number of the sheet in the book, from 1, and points from its lower edge


def targets(html: Path, names: Sequence[str]) -> dict[str, list[str]]:
    """For each of the pages `names` below `html`, the ids that the others point at."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name in names:
        file = html / f"{name}.html"
        for path, fragment in HREF.findall(file.read_text(encoding="utf-8")):
            aim = (file.parent / unquote(unescape(path))).resolve()
            if path and "://" not in path and aim.is_relative_to(html.resolve()):
                found[aim.relative_to(html.resolve()).with_suffix("").as_posix()].add(unquote(unescape(fragment)))
    return {name: sorted(found[name]) for name in names}


def places(printed: PdfReader, first: int) -> dict[str, Place]:
    """The marked places of one printed page whose first sheet is number `first`, by id; "" is its beginning."""
    marked = {"": (first, float(printed.pages[0].mediabox.top))}
    for name, place in printed.named_destinations.items():
        sheet = printed.get_destination_page_number(place)
        if sheet is not None and sheet >= 0:
            marked[unquote(name.removeprefix("/"))] = (first + sheet, float(place.top))
    return marked


def lead_inside(
    writer: PdfWriter, html: Path, sheets: Mapping[int, str], marked: Mapping[str, Mapping[str, Place]]
) -> None:
    """Turns each link to a page of the book into one to its sheet; `sheets` names the page that each sheet belongs to.

    A link to a file of the book that is not printed, such as a download, is taken away; others stay.
    """
    root = html.resolve().as_uri() + "/"
    for number, sheet in enumerate(writer.pages, 1):
        kept = ArrayObject()
        for reference in sheet.get("/Annots", ()):
            link = reference.get_object()
            aim = _aim(link, sheets.get(number, ""), root)
            if aim is not None:
                name, fragment = aim
                if name not in marked:
                    continue
                place = marked[name].get(fragment) or marked[name][""]
                link.pop("/A", None)
                link[NameObject("/Dest")] = destination(writer, place)
            kept.append(reference)
        if "/Annots" in sheet:
            sheet[NameObject("/Annots")] = kept


def destination(writer: PdfWriter, place: Place) -> ArrayObject:
    """The explicit destination of a place."""
    sheet, top = place
    reference = writer.pages[sheet - 1].indirect_reference
    return ArrayObject([reference, NameObject("/XYZ"), NullObject(), FloatObject(top), NullObject()])


def _aim(link: DictionaryObject, here: str, root: str) -> tuple[str, str] | None:
    """Page and id that a link inside the book points at; None for all others."""
    if "/Dest" in link:
        return here, unquote(str(link["/Dest"]).removeprefix("/"))
    address, fragment = urldefrag(str(link.get("/A", {}).get("/URI", "")))
    if not address.startswith(root):
        return None
    return unquote(address.removeprefix(root)).removesuffix(".html"), unquote(fragment)
