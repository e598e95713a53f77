"""The picture of a fit: predictions plotted against measurements."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from evodiverse.kit.pictures import GRAY, GRID, GROUND, INK, SUPERSAMPLING, Color, load_font, new_canvas, to_png
from evodiverse.tasks.equations.data import find_wild

FloatArray = NDArray[np.float64]
Limits = tuple[float, float]  # the lowest and the highest value on both axes

SIDE = 400  # pixels, side of the square in a panel
LEFT, RIGHT, TOP, BOTTOM = 104, 36, 72, 60  # pixels around the square
PANEL_WIDTH, PANEL_HEIGHT = LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM
MARGIN = 24  # pixels around the lines of text
MAX_ROWS, MAX_POINTS = 6, 2000
_TITLE_SIZE, _NAME_SIZE, _TEXT_SIZE, _LABEL_SIZE = 24, 20, 16, 14
_ROW_HEIGHT = 26
_LABEL_WIDTH, _LABEL_GAP = 72, 12
_RADIUS, _SMALL_RADIUS, _MANY = 3, 2, 400
_TICK = 5
_MAX_STEPS = 7  # intervals between ticks, at most
_PLAIN = 6  # characters; longer numbers may be shortened to the form 1e6
_EXTENSION = 0.05  # how far the axes extend beyond each end of the target's range, relative to that range
# A range smaller than this, relative to the target's largest magnitude, counts as none, since its ticks would have too
# many digits.
_EQUAL = 1e-5
_WIDENING = 0.1  # the same as _EXTENSION for a target without a range, relative to its magnitude

# One dark and one light, so that they differ in grayscale too.
POINT: Color = (36, 74, 134)
OUTSIDE: Color = (240, 146, 40)


class Panel(NamedTuple):
    """A panel of the picture.

    Attributes:
        name: The heading.
        target: ``(n,)`` measurements, n ≥ 1, finite.
        predicted: ``(n,)`` predictions, possibly not finite.
        caption: The line below the heading.
    """

    name: str
    target: FloatArray
    predicted: FloatArray
    caption: str


def draw_fit(panels: Sequence[Panel], lines: Sequence[str]) -> bytes:
    """Return a PNG with one square per panel: measurements on the horizontal axis, predictions on the vertical one.

    Perfect predictions lie on the diagonal. Wild measurements (`find_wild`) do not widen the axes. A point beyond the
    limits of the axes is drawn at the border in another color. A prediction that is not finite is not drawn. If there
    are more than `MAX_POINTS` rows, only `MAX_POINTS` of them are drawn, evenly spaced. The square states how many of
    all points are beyond the limits or not finite. The font covers little more than ASCII; any other character shows as
    a box.

    Args:
        panels: One to three panels, from left to right.
        lines: The text below the panels, the title first. It is wrapped, and cut after `MAX_ROWS` rows.
    """
    sizes = [_TITLE_SIZE, *[_TEXT_SIZE] * len(lines)]
    rows = wrap(zip(lines, sizes, strict=False), len(panels) * PANEL_WIDTH - 2 * MARGIN, MAX_ROWS)
    image = new_canvas(picture_size(len(panels), len(rows)))
    for index, panel in enumerate(panels):
        image.paste(_draw_panel(panel), (index * PANEL_WIDTH, 0))
    draw = ImageDraw.Draw(image)
    for index, (text, size) in enumerate(rows):
        place = (MARGIN, PANEL_HEIGHT + MARGIN + index * _ROW_HEIGHT)
        draw.text(place, text, INK, load_font(size), "lm")
    return to_png(image)


def picture_size(n_panels: int, n_rows: int) -> tuple[int, int]:
    """Return the width and the height in pixels of a picture with this many panels and rows of text."""
    return n_panels * PANEL_WIDTH, PANEL_HEIGHT + n_rows * _ROW_HEIGHT + MARGIN


def to_pixel(limits: Limits, target: float, predicted: float) -> tuple[float, float]:
    """Return the position of a point in its panel, in pixels; a point beyond the limits is moved to the border."""
    low, high = limits
    x, y = ((min(max(value, low), high) - low) / (high - low) for value in (target, predicted))
    return LEFT + x * SIDE, TOP + (1 - y) * SIDE


def find_limits(target: FloatArray) -> Limits:
    """Return the limits shared by both axes, a little beyond the range of the target ``(n,)`` without wild values."""
    target = target[~find_wild(target)]
    low, high = float(target.min()), float(target.max())
    magnitude = max(abs(low), abs(high))
    spread = high - low
    extension = _EXTENSION * spread if spread > _EQUAL * magnitude else _WIDENING * (magnitude or 1.0)
    return low - extension, high + extension


def find_ticks(limits: Limits) -> list[Decimal]:
    """Return the two to eight multiples of a round step (1, 2 or 5 times a power of ten) within the limits."""
    low, high = map(Decimal, limits)
    least = (high - low) / _MAX_STEPS
    step = next(step for digit in (1, 2, 5, 10) if (step := Decimal(digit).scaleb(least.adjusted())) >= least)
    return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def write_ticks(ticks: Sequence[Decimal]) -> list[str]:
    """Return the ticks as text.

    If the numbers would be long, all of them except 0 are written with an exponent, as in 2e6, provided that this makes
    them shorter.
    """
    plain = [f"{tick.normalize():f}" for tick in ticks]
    scientific = [f"{tick.normalize():e}".replace("e+", "e") if tick else "0" for tick in ticks]
    return plain if max(map(len, plain)) <= max(_PLAIN, *map(len, scientific)) else scientific


def wrap(lines: Iterable[tuple[str, int]], width: int, max_rows: int) -> list[tuple[str, int]]:
    """Break lines of text into rows.

    Args:
        lines: The text and the font size of each line.
        width: The largest width of a row, in pixels.
        max_rows: The largest number of rows.

    Returns:
        The rows with their font sizes. If the text does not fit, the last row ends with an ellipsis.
    """
    rows = list(islice((row for text, size in lines for row in _wrap_line(text, size, width)), max_rows + 1))
    if len(rows) > max_rows:
        text, size = rows[max_rows - 1]
        rows[max_rows - 1 :] = [(text[: _count_fitting(text, size, width, "…")].rstrip() + "…", size)]
    return rows


def _wrap_line(line: str, size: int, width: int) -> Iterator[tuple[str, int]]:
    """Break a line into rows, at spaces where possible, and yield each row with the font size."""
    text = " ".join(line.split())
    while (end := _count_fitting(text, size, width, "")) < len(text):
        space = text.rfind(" ", 0, end + 1)
        end = space if space > 0 else end
        yield text[:end], size
        text = text[end:].lstrip()
    yield text, size


def _count_fitting(text: str, size: int, width: int, ending: str) -> int:
    """Return how many characters of a text, followed by an ending, fit into a width in pixels."""
    font = load_font(size)
    ends = range(1, len(text) + 1)
    return bisect_right(ends, width, key=lambda end: math.ceil(font.getlength(text[:end] + ending)))


def _draw_panel(panel: Panel) -> Image.Image:
    limits = find_limits(panel.target)
    ticks = find_ticks(limits)
    low, high = limits
    inside = [(low <= values) & (values <= high) for values in (panel.target, panel.predicted)]
    outside = ~np.logical_and(*inside)
    image = _draw_square(panel, limits, ticks, outside)
    draw = ImageDraw.Draw(image)
    for text, size, middle, color in [(panel.name, _NAME_SIZE, 24, INK), (panel.caption, _TEXT_SIZE, 50, GRAY)]:
        [(row, _)] = wrap([(text, size)], SIDE, 1)
        draw.text((LEFT, middle), row, color, load_font(size), "lm")
    _label(image, limits, ticks)
    if outside.any():
        corner, font = (LEFT + SIDE - 12, TOP + SIDE - 14), load_font(_LABEL_SIZE)
        draw.text(corner, f"{outside.sum()} outside", INK, font, "rs", stroke_width=3, stroke_fill=GROUND)
    return image


def _draw_square(panel: Panel, limits: Limits, ticks: Sequence[Decimal], outside: NDArray[np.bool_]) -> Image.Image:
    """Return the panel without its text, drawn large and then reduced, which smooths the outlines."""
    factor = SUPERSAMPLING
    image = new_canvas((factor * PANEL_WIDTH, factor * PANEL_HEIGHT))
    draw = ImageDraw.Draw(image)
    left, top, right, bottom = (factor * edge for edge in (LEFT, TOP, LEFT + SIDE, TOP + SIDE))
    draw.rectangle([left, top, right, bottom], fill=GROUND)
    for tick in map(float, ticks):
        column, row = (factor * pixel for pixel in to_pixel(limits, tick, tick))
        draw.line([column, top, column, bottom], fill=GRID, width=factor)
        draw.line([left, row, right, row], fill=GRID, width=factor)
        draw.line([column, bottom, column, bottom + factor * _TICK], fill=INK, width=factor)
        draw.line([left - factor * _TICK, row, left, row], fill=INK, width=factor)
    draw.line([left, bottom, right, top], fill=GRAY, width=factor)
    draw.rectangle([left, top, right, bottom], outline=INK, width=factor)
    n_points = min(len(panel.target), MAX_POINTS)
    chosen = np.linspace(0, len(panel.target) - 1, n_points).round().astype(int)
    radius = factor * (_RADIUS if n_points < _MANY else _SMALL_RADIUS)
    for color, drawn in [(POINT, ~outside), (OUTSIDE, outside & np.isfinite(panel.predicted))]:
        for index in chosen[drawn[chosen]]:
            column, row = (factor * pixel for pixel in to_pixel(limits, panel.target[index], panel.predicted[index]))
            draw.ellipse([column - radius, row - radius, column + radius, row + radius], fill=color)
    return image.reduce(factor)


def _label(image: Image.Image, limits: Limits, ticks: Sequence[Decimal]) -> None:
    """Write the titles of the axes, and numbers at the ticks, in a smaller font if the numbers are long.

    If the numbers on the horizontal axis would overlap, only some of them are written, evenly spaced.
    """
    draw = ImageDraw.Draw(image)
    font = load_font(_LABEL_SIZE)
    texts = write_ticks(ticks)
    longest = max(map(font.getlength, texts))
    small = load_font(_LABEL_SIZE * min(1.0, _LABEL_WIDTH / longest))
    pixels = [to_pixel(limits, float(tick), float(tick)) for tick in ticks]
    every = math.ceil((min(longest, _LABEL_WIDTH) + _LABEL_GAP) / (pixels[1][0] - pixels[0][0]))
    for index, (text, (column, row)) in enumerate(zip(texts, pixels, strict=True)):
        draw.text((LEFT - _TICK - 4, row), text, INK, small, "rm")
        if index % every == 0:
            draw.text((column, TOP + SIDE + _TICK + 4), text, INK, small, "ma")
    draw.text((LEFT + SIDE / 2, PANEL_HEIGHT - 14), "measured", GRAY, font, "mm")
    upright = new_canvas((SIDE, _LABEL_SIZE + 4))
    ImageDraw.Draw(upright).text((SIDE / 2, _LABEL_SIZE / 2 + 2), "predicted", GRAY, font, "mm")
    image.paste(upright.transpose(Image.Transpose.ROTATE_90), (2, TOP))
