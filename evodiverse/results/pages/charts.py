"""Line charts as SVG, which are readable in color, in gray, in dark mode and on a phone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, isfinite, log10
from typing import Final, TypeVar

from evodiverse.kit.markup import Markup, join, tag

Point = tuple[float, float]
Value = TypeVar("Value")

MOST_POINTS: Final = 400
"""The largest number of points of a line; more would not be visible on a screen."""

N_STYLES: Final = 8
_WIDTH, _HEIGHT = 420, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 10, 10, 38
_N_TICKS: Final = 5


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a chart.

    Attributes:
        name: The name in the legend; empty for none.
        points: The points, as (x, y), from left to right.
        band: An interval around the line, as (x, low, high), from left to right.
    """

    name: str
    points: Sequence[Point]
    band: Sequence[tuple[float, float, float]] = ()


def draw_chart(title: str, x_label: str, y_label: str, lines: Sequence[Line], *, stepped: bool = False) -> Markup:
    """Return a figure with a line chart, and its legend below; a paragraph if no line has points.

    Args:
        title: The caption.
        x_label: The label of the x axis.
        y_label: The label of the y axis, with a unit if there is one.
        lines: The lines to draw; those without points are left out.
        stepped: Whether the lines are step functions, whose value holds until the next point.
    """
    drawn = [Line(line.name, thin(line.points), thin(line.band)) for line in lines if line.points]
    if not drawn:
        return tag("p", f"{title}: nothing to show yet.", class_="none")
    x_low, x_high = _bounds([x for line in drawn for x, _ in line.points])
    y_low, y_high = _bounds(
        [y for line in drawn for _, y in line.points] + [y for line in drawn for _, *ends in line.band for y in ends]
    )

    def place(x: float, y: float) -> Point:
        across, up = (x - x_low) / (x_high - x_low), (y - y_low) / (y_high - y_low)
        return (
            _LEFT + across * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM),
        )

    parts = [_axes((x_low, x_high), (y_low, y_high), place, x_label, y_label)]
    for at, line in enumerate(drawn):
        style = at % N_STYLES
        if line.band:
            upper = [place(x, high) for x, _, high in line.band]
            lower = [place(x, low) for x, low, _ in reversed(line.band)]
            parts.append(tag("polygon", points=_write([*upper, *lower]), class_=f"band s{style}"))
        points = _steps(line.points) if stepped else list(line.points)
        placed = [place(x, y) for x, y in points]
        if len(placed) == 1:
            parts.append(tag("circle", cx=f"{placed[0][0]:.1f}", cy=f"{placed[0][1]:.1f}", r=3, class_=f"dot s{style}"))
        parts.append(tag("polyline", points=_write(placed), class_=f"line s{style}"))
    svg = tag(
        "svg", *parts, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=f"{title}: {y_label} by {x_label}"
    )
    legend = tag("ul", *(_legend(at % N_STYLES, line.name) for at, line in enumerate(drawn)), class_="legend")
    return tag("figure", tag("figcaption", title), svg, legend if len(drawn) > 1 or lines[0].name else None)


def thin(values: Sequence[Value]) -> list[Value]:
    """Return at most `MOST_POINTS` evenly spaced values, including the first and the last."""
    if len(values) <= MOST_POINTS:
        return list(values)
    return [values[round(at * (len(values) - 1) / (MOST_POINTS - 1))] for at in range(MOST_POINTS)]


def find_ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers between ``low`` and ``high``, where ``low < high``."""
    rough = (high - low) / _N_TICKS
    magnitude = 10.0 ** floor(log10(rough))
    step = next(factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= rough * (1 - 1e-9))
    first, last = -floor(-low / step + 1e-9), floor(high / step + 1e-9)
    return [index * step for index in range(int(first), int(last) + 1)]


def _bounds(values: Sequence[float]) -> tuple[float, float]:
    finite = [value for value in values if isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    spread = (high - low) or abs(high) or 1.0
    if spread <= 1e-9 * max(abs(low), abs(high)):
        spread = max(abs(low), abs(high))
    return (low, high) if high - low >= spread else (low - spread / 2, high + spread / 2)


def _steps(points: Sequence[Point]) -> list[Point]:
    walked = list(points[:1])
    for (_, before), (x, y) in pairwise(points):
        walked += [(x, before), (x, y)]
    return walked


def _axes(xs: Point, ys: Point, place: Callable[[float, float], Point], x_label: str, y_label: str) -> Markup:
    (x_low, x_high), (y_low, y_high) = xs, ys
    parts: list[Markup] = []
    for tick in find_ticks(y_low, y_high):
        _, y = place(x_low, tick)
        parts.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid"))
        parts.append(tag("text", _number(tick), x=_LEFT - 5, y=f"{y + 4:.1f}", text_anchor="end"))
    for tick in find_ticks(x_low, x_high):
        x, _ = place(tick, y_low)
        parts.append(tag("text", _number(tick), x=f"{x:.1f}", y=_HEIGHT - _BOTTOM + 15, text_anchor="middle"))
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    parts.append(tag("text", x_label, x=(_LEFT + _WIDTH - _RIGHT) / 2, y=_HEIGHT - 6, text_anchor="middle"))
    parts.append(tag("text", y_label, x=-middle, y=11, text_anchor="middle", transform="rotate(-90)"))
    return tag("g", join(parts), class_="axes")


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 and value == round(value) else f"{value:.4g}"


def _write(points: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _legend(style: int, name: str) -> Markup:
    sample = tag(
        "svg", tag("polyline", points="0,5 24,5", class_=f"line s{style}"), viewBox="0 0 24 10", aria_hidden="true"
    )
    return tag("li", sample, name)
