"""Small multiples: several pictures side by side."""

import html
from collections.abc import Sequence

from transformer_anatomy.page.course import building_book
from transformer_anatomy.page.plotting.picture import NARROW, STYLE, Picture, image_address
from transformer_anatomy.page.plotting.themes import THEMES

LEAST = 300  # px: two fit beside each other wherever the page is a little wider than twice that


class Sheet:
    """`pictures` two by two, or on a narrow page one below the other, each drawn as for a phone. It shows itself."""

    def __init__(self, pictures: Sequence[Picture]):
        if not pictures:
            raise ValueError("pictures must hold at least one picture, got none")
        self.pictures = tuple(pictures)

    def _repr_html_(self) -> str:
        images = "".join(f"<div>{_images(picture)}</div>" for picture in self.pictures)
        columns = f"repeat(auto-fill,minmax(min(100%,{LEAST}px),1fr))"
        layout = f"display:grid;grid-template-columns:{columns};gap:24px;max-width:{2 * NARROW + 24}px"
        sheet = f'<div style="{layout}">{images}</div>'
        return sheet if building_book() else STYLE + sheet

    def __repr__(self) -> str:
        return f"<Sheet: {'; '.join(picture.alt for picture in self.pictures)}>"


def _images(picture: Picture) -> str:
    images = ""
    for theme in THEMES:
        size, address = image_address(picture.svg(theme, narrow=True))
        images += f'<img class="picture only-{theme}" {size} alt="{html.escape(picture.alt)}" src="{address}">'
    return images
