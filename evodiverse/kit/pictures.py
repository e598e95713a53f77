"""The common style of the pictures in ``best/``, so that those of all domains match, and drawings inside HTML pages.

Lengths are in pixels. Only the functions import matplotlib, so a search that draws nothing does not load it.
"""

import base64
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from markupsafe import Markup

from evodiverse.text import printable

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

Axes: TypeAlias = "matplotlib.axes.Axes"
Figure: TypeAlias = "matplotlib.figure.Figure"

GROUND, INK, GRAY = "#f6f6f3", "#162238", "#606874"
SCALE: Final = ("#fcefbe", "#a9dbb8", "#54b2c0", "#2e74aa", "#243672")
"""Colors from low to high, increasingly dark, so that the scale also works in grayscale."""

_DPI: Final = 72  # makes matplotlib's points, the units of fonts and lines, pixels
_MONO: Final = "DejaVu Sans Mono"  # comes with matplotlib, like DejaVu Sans, so pictures do not depend on the machine
_SPACE: Final = 0.28  # between panels, as a share of their side
_IMAGE: Final = Markup('<img src="data:image/svg+xml;base64,{}" alt="{}" loading="lazy">')
_STYLE: Final = Path(__file__).with_suffix(".mplstyle")  # with the colors above


@contextmanager
def styled(style: Path = _STYLE) -> Iterator[None]:
    """Within the context, draw in one style, regardless of the user's own matplotlib settings.

    Args:
        style: The style sheet of matplotlib; by default, that of this module.
    """
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(mpl.rc_params_from_file(style, use_default_template=False))
        yield


def new_figure(side: int, n_panels: int = 1) -> tuple[Figure, list[Axes]]:
    """Return a figure of square panels in a row, and the axes of each; `to_png` makes room for what is around them."""
    from matplotlib.figure import Figure

    figure = Figure(((n_panels + (n_panels - 1) * _SPACE) * side / _DPI, side / _DPI), _DPI)
    grid = {"left": 0, "right": 1, "bottom": 0, "top": 1, "wspace": _SPACE}
    return figure, [*figure.subplots(1, n_panels, squeeze=False, gridspec_kw=grid)[0]]


def color_map() -> Any:
    """Return the colormap of `SCALE`."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("scale", SCALE)


def to_png(figure: Figure, lines: Sequence[str]) -> bytes:
    """Write text around a figure, and return it as the content of a PNG file. Equal pictures give equal bytes.

    Args:
        figure: The figure, which is changed.
        lines: The title, which is written above, and the lines below. Tabs separate the fields of a line, which are
            aligned. A character that the font lacks is replaced by ``�``.
    """
    from matplotlib.font_manager import findfont, get_font

    known = get_font(findfont(_MONO)).get_charmap()
    title, *rows = ([printable(field) for field in line.split("\t")] for line in lines)
    fields = zip_longest(*(row for row in rows if len(row) > 1), fillvalue="")
    widths = [max(map(len, column)) for column in fields] or [0]
    below = "\n".join("   ".join(map(str.ljust, row, widths)) for row in rows)
    box, gap, (width, height) = figure.get_tightbbox(), 16 / _DPI, figure.get_size_inches()
    for text, y, side, size in [(title[0], box.y1 + gap, "bottom", 20), (below, box.y0 - gap, "top", 15)]:
        legible = "".join(one if one == "\n" or ord(one) in known else "\N{REPLACEMENT CHARACTER}" for one in text)
        figure.text(box.x0 / width, y / height, legible, size=size, va=side, family=_MONO, linespacing=1.5)
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None}, bbox_inches="tight", pad_inches=2 * gap)
    return file.getvalue()


def embed_svg(svg: str, alternative: str) -> Markup:
    """Return an SVG as an image element, in which a browser never runs scripts or loads other files.

    Args:
        svg: The source of the SVG.
        alternative: The text for readers who cannot see the image.
    """
    return _IMAGE.format(base64.b64encode(svg.encode()).decode(), alternative)
