"""The common style of all figures: sizes, fonts, and a fixed color, dash, marker and hatch for each method."""

import io
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from textwrap import fill
from typing import Any, Final
from zlib import crc32

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from evodiverse.kit import pictures
from evodiverse.kit.files import read_shipped
from evodiverse.text import printable

COLUMN: Final = 3.4
"""The width of a column, in inches."""

PAGE: Final = 7.0
"""The width of a page, in inches."""

INK: Final = "#222222"
PALE: Final = "#c9ced6"
TARGETS: Final = {"jnk3": "JNK3", "gsk3b": "GSK3β"}
_ENTRY: Final = 1.5  # the width of an entry in a legend, in inches

_HERE: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a method, which is also distinct in gray and for color-blind readers.

    Attributes:
        label: The name of the method in legends.
        color: The color, from the palette of Okabe and Ito where possible.
        dash: The dash pattern of lines.
        marker: The marker of points.
        hatch: The hatch of bars.
    """

    label: str
    color: str
    dash: Any
    marker: str
    hatch: str

    @property
    def line(self) -> dict[str, Any]:
        """The arguments with which matplotlib draws a line."""
        return {"label": self.label, "color": self.color, "linestyle": self.dash, "marker": self.marker}

    @property
    def bar(self) -> dict[str, Any]:
        """The arguments with which matplotlib draws a bar."""
        pale = to_rgba(self.color, 0.35)
        return {"facecolor": pale, "edgecolor": self.color, "hatch": self.hatch, "linewidth": 0.8}


_LOOKS: Final = {
    name: Look(label, color, (0, dashes) if dashes else "-", marker, hatch)
    for name, (label, color, dashes, marker, hatch) in read_shipped(_HERE / "looks.yaml").items()
}
METHODS: Final = tuple(_LOOKS)
"""The methods with a look of their own, in the order of legends."""

_OTHER_COLORS: Final = ("#7a4900", "#5b2a86", "#2f4b26", "#8c1c13", "#00506b")
_OTHER_MARKERS: Final = "1234"
_PAIRS: Final = (("#009e73", "-", "o"), ("#0072b2", (0, (4, 1.5)), "s"), ("#d55e00", (0, (1, 1)), "^"))
_POOL_COLORS: Final = ("#0072b2", "#d55e00", "#e69f00", "#cc79a7", "#009e73")
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def look_of(method: str) -> Look:
    """Return how figures draw a method: its label, color, dash pattern, marker and hatch.

    For an unknown method, they depend only on its name.
    """
    if method in _LOOKS:
        return _LOOKS[method]
    place = crc32(method.encode())
    color = _OTHER_COLORS[place % len(_OTHER_COLORS)]
    marker = _OTHER_MARKERS[place % len(_OTHER_MARKERS)]
    return Look(shorten(method, 28), color, (0, (1 + place % 5, 1, 1, 1)), marker, "/")


def order_methods(methods: Iterable[str]) -> list[str]:
    """Return the distinct methods in the order of legends: first as in `METHODS`, then all others by name."""
    return sorted(set(methods), key=lambda name: (METHODS.index(name) if name in _LOOKS else len(METHODS), name))


def pool_look(pool: int) -> Look:
    """Return how figures draw a pool: as points of a color and a marker."""
    place = pool % len(_POOL_COLORS)
    label = "pool 0 (coldest)" if pool == 0 else f"pool {pool}"
    return Look(label, _POOL_COLORS[place], "", "o^sDv"[place], "")


def pair_look(pair: int) -> Look:
    """Return how figures draw the swaps of a pool with the next hotter one, given the index of the pool."""
    color, dash, marker = _PAIRS[pair % len(_PAIRS)]
    return Look(f"pools {pair} and {pair + 1}", color, dash, marker, "")


def name_of(task: str) -> str:
    """Return the display name of a task; for the targets of molecules, that of the paper."""
    return TARGETS.get(task, shorten(task, 30))


def shorten(text: str, most: int) -> str:
    """Return text that comes from a run, made safe to draw and cut to at most ``most`` characters."""
    clean = printable(text)
    return clean if len(clean) <= most else f"{clean[: most - 1]}…"


def show_power(value: float, _: object = None) -> str:
    """Return a power of ten as text with a superscript exponent, or an empty string for 0 and below.

    matplotlib calls this function for each tick, with its value and its index.
    """
    if value <= 0:
        return ""
    exponent = f"{value:e}".partition("e")[2]
    return f"10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def use_powers(axes: Axes) -> None:
    """Make the vertical axis logarithmic, with powers of ten as labels."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(show_power))
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))


def use_counts(axes: Axes, which: str = "x") -> None:
    """Use a few integers with thousands separators as the tick labels of an axis, ``x`` or ``y``."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(MaxNLocator(5, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if isclose(value, round(value)) else ""))


def line_of(look: Look) -> tuple[Line2D, str]:
    """Return an entry of a legend: the line or the point of a look, and its label."""
    return Line2D([], [], markersize=3.8, linewidth=1.4, **look.line), look.label


def bar_of(look: Look) -> tuple[Patch, str]:
    """Return an entry of a legend: the bar of a look, and its label."""
    return Patch(**look.bar), look.label


def add_legend(figure: Any, entries: Sequence[tuple[Any, str]], columns: int = 4) -> None:
    """Add one legend for all panels, below them; the layout of the figure makes room for the legend.

    Args:
        figure: The figure.
        entries: The handle, such as a line, and the text of each entry. Without entries, nothing is added.
        columns: The largest number of columns.
    """
    if entries:
        n_columns = max(1, min(columns, len(entries), int(figure.bbox.width / figure.dpi / _ENTRY)))
        figure.legend(*zip(*entries, strict=True), loc="outside lower center", ncols=n_columns, handlelength=2.6)


def add_basis(figure: Figure, text: str) -> None:
    """Write small print above a figure: the number of runs and similar facts (`Picture.basis`)."""
    place = figure.subfigs[0] if figure.subfigs else figure
    width = int(figure.bbox.width / figure.dpi / 0.046)  # the width of a character of small print, in inches
    place.suptitle(fill(printable(text), width), fontsize=5.5, color=INK, alpha=0.8)


def styled() -> AbstractContextManager[None]:
    """Return a context in which the style of figures holds, regardless of the user's own matplotlib settings."""
    return pictures.styled(_HERE / "figures.mplstyle")


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size, in inches, with matplotlib's constrained layout."""
    return Figure(figsize=(width, height), layout="constrained")


def write_image(figure: Figure, ending: str) -> bytes:
    """Return a figure as the content of an ``svg``, ``png`` or ``pdf`` file.

    The file has no dates or random names, so equal figures give equal files.
    """
    file = io.BytesIO()
    left_out = {"svg": "Date", "png": "Software", "pdf": "CreationDate"}[ending]
    figure.savefig(file, format=ending, dpi=200, metadata={left_out: None})
    return file.getvalue()
