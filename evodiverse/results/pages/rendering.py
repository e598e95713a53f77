"""Rendering of the report pages from the templates next to this module, and the line charts in them.

A page loads no other files, and runs no script except its own. The templates escape every text; only values of the type
`Markup` are HTML. Then all unprintable characters of the page are replaced. Charts are readable in color, in gray, in
dark mode and on a phone.
"""

import base64
import hashlib
import html
import re
from collections.abc import Mapping, Sequence
from math import floor, isfinite, log10
from pathlib import Path
from typing import Any, Final, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from evodiverse import __version__
from evodiverse.results.grouping import thin
from evodiverse.runlog.runs import write_setting
from evodiverse.text import count_of, printable

Point = tuple[float, float]
Chart = Mapping[str, Any]

LEFT, RIGHT, TOP, BOTTOM = 52, 410, 10, 212
"""The edges of the plot within the drawing, which is 420 by 250."""

GENERATOR: Final = f"evodiverse-report evodiverse {__version__}"
_FOLDER: Final = Path(__file__).parent / "templates"
# The characters that Markdown would take for a link, a picture, or the end of a cell.
_MARKDOWN: Final = re.compile(r"[\\\[\]|]|(?<=:)//|(?<=www)\.", re.IGNORECASE)
_UNPRINTABLE: Final = re.compile(r"[^ -~\n\t]")


def render(template: str, **values: Any) -> str:
    """Return a complete page.

    Args:
        template: The file name of the page's template.
        values: The values that the template refers to.
    """
    return legible(_ENVIRONMENT.get_template(template).render(values))


def legible(text: str) -> str:
    """Return text in which unprintable characters except newlines and tabs are replaced by ``�``."""
    return _UNPRINTABLE.sub(lambda found: printable(found[0]), text)


def escape_markdown(text: str) -> str:
    """Return text in which Markdown finds no tags, links or pictures, and no end of a cell."""
    return _MARKDOWN.sub(lambda special: f"\\{special[0]}", html.escape(text, quote=False))


def cut(text: str, most: int) -> str:
    """Return a text, cut after ``most`` characters with a note on how many were left out."""
    return text if len(text) <= most else f"{text[:most]} … ({count_of(len(text) - most, 'more character')})"


def number(value: float) -> str:
    """Return a number as people read it: a count as it is, any other number with four significant digits."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if 9999.5 <= abs(value) < 1e9 else f"{value:.4g}"


def sortable(text: str) -> str | int:
    """Return a text as a number if it is a whole number, so that a table sorts it by value."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def _load(name: str) -> tuple[Markup, str]:
    """Return the page's style or script, and the hash by which its content security policy knows it."""
    text = (_FOLDER / name).read_text(encoding="utf-8")
    return Markup(text), f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"  # noqa: S704


_ENVIRONMENT: Final = Environment(
    loader=FileSystemLoader(_FOLDER),
    autoescape=select_autoescape(["html"]),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {"count": count_of, "cut": cut, "read": number, "sortable": sortable, "setting": write_setting}
_ENVIRONMENT.globals |= {"style": _load("page.css"), "script": _load("page.js"), "generator": GENERATOR}


class Line(NamedTuple):
    """A line of a chart.

    Attributes:
        name: The name in the legend; empty for none.
        points: The points, as (x, y), from left to right.
        band: An interval around the line, as (x, low, high), from left to right.
    """

    name: str
    points: Sequence[Point]
    band: Sequence[tuple[float, float, float]] = ()


def plan_chart(title: str, x_label: str, y_label: str, lines: Sequence[Line], *, stepped: bool = False) -> Chart:
    """Return what the template ``macros.html`` needs to draw a line chart; it has no lines if no line has points.

    Args:
        title: The caption.
        x_label: The label of the x axis.
        y_label: The label of the y axis, with a unit if there is one.
        lines: The lines to draw; those without points are left out.
        stepped: Whether the lines are step functions, whose value holds until the next point.
    """
    # More points would not be visible on a screen.
    drawn = [Line(line.name, thin(line.points, 400), thin(line.band, 400)) for line in lines if line.points]
    edges = [(x, y) for line in drawn for x, *ends in line.band for y in ends]
    x_low, x_high = _bounds([x for line in drawn for x, _ in line.points])
    y_low, y_high = _bounds([y for _, y in [*edges, *(point for line in drawn for point in line.points)]])

    def place(x: float, y: float) -> Point:
        across, up = (x - x_low) / (x_high - x_low), (y - y_low) / (y_high - y_low)
        return LEFT + across * (RIGHT - LEFT), BOTTOM - up * (BOTTOM - TOP)

    placed = []
    for line in drawn:
        around = [*((x, high) for x, _, high in line.band), *((x, low) for x, low, _ in reversed(line.band))]
        placed.append((line.name, [place(*point) for point in line.points], [place(*point) for point in around]))
    ticks = {
        "x_ticks": [(place(tick, y_low)[0], _write(tick)) for tick in find_ticks(x_low, x_high)],
        "y_ticks": [(place(x_low, tick)[1], _write(tick)) for tick in find_ticks(y_low, y_high)],
    }
    return {"title": title, "x_label": x_label, "y_label": y_label, **ticks, "lines": placed, "stepped": stepped}


def find_ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers between ``low`` and ``high``, where ``low < high``."""
    rough = (high - low) / 5
    magnitude = 10.0 ** floor(log10(rough))
    step = next(factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= rough * (1 - 1e-9))
    first, last = -floor(-low / step + 1e-9), floor(high / step + 1e-9)
    return [index * step for index in range(int(first), int(last) + 1)]


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    """Return the smallest and the largest value, moved apart if no ticks would fit between them."""
    finite = [value for value in values if isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    spread = (high - low) or abs(high) or 1.0
    if spread <= 1e-9 * max(abs(low), abs(high)):
        spread = max(abs(low), abs(high))
    return (low, high) if high - low >= spread else (low - spread / 2, high + spread / 2)


def _write(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 and value == round(value) else f"{value:.4g}"
