"""A picture that follows the theme: drawn once on light and once on dark paper, shown as one."""

import base64
import html
import io
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from transformer_anatomy.page.course import building_book
from transformer_anatomy.page.plotting.fonts import families
from transformer_anatomy.page.plotting.themes import THEMES, Theme, colours

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The book's theme hides the picture of the other theme; elsewhere the picture has to bring the rule along.
STYLE = (
    "<style>img.picture{max-width:100%;height:auto}.only-dark{display:none}"
    "@media(prefers-color-scheme:dark){.only-dark{display:inline}.only-light{display:none}}"
    'body[data-jp-theme-light="true"] .only-light,body[data-jp-theme-light="false"] .only-dark{display:inline}'
    'body[data-jp-theme-light="false"] .only-light,body[data-jp-theme-light="true"] .only-dark{display:none}</style>'
)
WIDE, NARROW = 720, 340  # px: the text column of the book, and of a phone


class Picture:
    """Two renderings of one drawing, `light` and `dark`, with the `alt` text that says what is to be seen.

    `draw(figure, palette, width)` fills an empty Figure with the colours and the width in pixels that it is given. In a
    notebook a Picture shows itself, drawn anew for narrow pages so that its text keeps its size; nothing calls ``show``
    and no matplotlib backend is chosen.
    """

    def __init__(self, draw: "Callable[[Figure, Mapping[str, str], float], None]", *, alt: str):
        if not isinstance(alt, str) or not alt.strip():
            raise ValueError(f"alt must say in words what is to be seen, got {alt!r}")
        self.alt = alt
        self._draw = draw

    @cached_property
    def light(self) -> "Figure":
        """The matplotlib Figure on light paper."""
        return self._figure("light", WIDE)

    @cached_property
    def dark(self) -> "Figure":
        """The matplotlib Figure on dark paper."""
        return self._figure("dark", WIDE)

    def _figure(self, theme: Theme, width: float) -> "Figure":
        from matplotlib.figure import Figure

        with _style(colours(theme)):
            figure = Figure()
            self._draw(figure, colours(theme), width)
        return figure

    def svg(self, theme: Theme, *, narrow: bool = False) -> str:
        """The drawing as SVG text, one user unit a CSS pixel; the same bytes on every run."""
        figure = self._figure(theme, NARROW) if narrow else getattr(self, theme)
        return _compact(_svg(figure, theme))

    def html(self, *, narrow: bool = True) -> str:
        """Both themes as images that need nothing else; without `narrow` a small screen scales them down."""
        images = "".join(self._image(theme, narrow) for theme in THEMES)
        return images if building_book() else STYLE + images

    def _image(self, theme: Theme, narrow: bool) -> str:
        wide = image_address(self.svg(theme))
        image = f'<img class="picture only-{theme}" {wide[0]} alt="{html.escape(self.alt)}" src="{wide[1]}">'
        if not narrow or getattr(self, theme).get_figwidth() <= NARROW / 72:
            return image
        small = image_address(self.svg(theme, narrow=True))
        return f'<picture><source media="(max-width: 600px)" {small[0]} srcset="{small[1]}">{image}</picture>'

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": repr(self)}

    def _repr_html_(self) -> str:
        """For what embeds the picture in something larger, which knows its own width."""
        return self.html(narrow=False)

    def __repr__(self) -> str:
        return f"<Picture: {self.alt}>"


def _svg(figure: "Figure", theme: Theme) -> str:
    buffer = io.StringIO()
    with _style(colours(theme)):
        figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    return buffer.getvalue()


def _compact(svg: str) -> str:
    """A third of the bytes less: the families of the font stand once, not in every text, and no line is indented."""
    families = max(re.findall(r"font-family: ([^;]*)", svg), key=len, default="")
    if families:
        svg = svg.replace(families, "var(--f)").replace("*{", f"svg{{--f: {families}}}*{{", 1)
    return re.sub(r"\n\s*", "\n", svg[svg.index("<svg") :])


def image_address(svg: str) -> tuple[str, str]:
    """Attributes that reserve the picture's place, and the picture itself as a data address."""
    width, height = re.search(r'viewBox="0 0 (\S+) (\S+)"', svg).groups()
    data = base64.b64encode(svg.encode()).decode()
    return f'width="{width}" height="{height}"', f"data:image/svg+xml;base64,{data}"


def _style(palette: Mapping[str, str]):
    """The rcParams of anatomy.mplstyle with one theme's colours, for as long as the context lasts."""
    from matplotlib import rc_context, rc_params_from_file

    with as_file(files(__package__) / "anatomy.mplstyle") as path:
        parameters = rc_params_from_file(path, use_default_template=False)
    paper, ink, muted, edge = (palette[name] for name in ("paper", "ink", "muted", "edge"))
    return rc_context(
        {
            **parameters,
            "font.family": families(),
            **dict.fromkeys(("figure.facecolor", "savefig.facecolor", "axes.facecolor"), paper),
            **dict.fromkeys(("text.color", "axes.titlecolor"), ink),
            **dict.fromkeys(("axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), muted),
            **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), edge),
        }
    )
