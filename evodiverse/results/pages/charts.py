"""Line charts as SVG, which are readable in color, in gray, in dark mode and on a phone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10
from typing import Any, Final

from evodiverse.results.grouping import thin

Point = tuple[float, float]
Chart = Mapping[str, Any]

MOST_POINTS: Final = 400
"""The largest number of points of a line; more would not be visible on a screen."""

WIDTH, HEIGHT = 420, 250
LEFT, RIGHT, TOP, BOTTOM = 52, 410, 10, 212
"""The edges of the plot within the drawing, which is `WIDTH` by `HEIGHT`."""


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


def plan_chart(title: str, x_label: str, y_label: str, lines: Sequence[Line], *, stepped: bool = False) -> Chart:
    """Return what the template ``macros.html`` needs to draw a line chart; it has no lines if no line has points.

    Args:
        title: The caption.
        x_label: The label of the x axis.
        y_label: The label of the y axis, with a unit if there is one.
        lines: The lines to draw; those without points are left out.
        stepped: Whether the lines are step functions, whose value holds until the next point.
    """
    drawn = [
        Line(line.name, thin(line.points, MOST_POINTS), thin(line.band, MOST_POINTS)) for line in lines if line.points
    ]
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
