"""The picture of a rule for online bin packing: where it puts items, and how full its bins are in the end."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from evodiverse.kit.pictures import GRAY, GRID, GROUND, INK, Color, load_font, new_canvas, to_png
from evodiverse.tasks.programs.bin_packing.instances import Instance
from evodiverse.tasks.programs.bin_packing.packing import replay

FloatArray = NDArray[np.float64]
Choices = Sequence[Sequence[int]]

SIZE: Final = 560  # pixels, the side of each of the two panels
LEFT, TOP, GAP, RIGHT = 84, 124, 116, 40
BELOW: Final = 100  # pixels, for the labels of the axes
MAX_CELLS: Final = 150  # the most cells on each side of the left panel
_LINE_HEIGHT: Final = 32
_TAB_STOPS: Final = (0, 200, 460)
_TITLE_SIZE, _TEXT_SIZE, _LABEL_SIZE = 24, 20, 16
_TICKS: Final = 6
_STRIP: Final = 16  # pixels, the height of the row of new bins
_SCALE_WIDTH, _SCALE_HEIGHT = 200, 14
_FIRST: Final = 80  # percent, where the histogram starts
_BEST_FIT: Final[Color] = (201, 92, 46)
_RULE: Final[Color] = (84, 152, 192)

# Colors from never to always, increasingly dark, so that the scale also works in grayscale.
_SCALE = np.array([(252, 239, 190), (169, 219, 184), (84, 178, 192), (46, 116, 170), (36, 54, 114)], dtype=np.float64)


def draw_rule(instances: Sequence[Instance], choices: Choices, best_fit: Choices, lines: Sequence[str]) -> bytes:
    """Return a PNG that shows a rule in two panels.

    The left panel shows for each item size and each free space how often the rule took the space when it could. The
    right panel is a histogram of how full the rule's bins are in the end, together with the same histogram for the
    best-fit rule.

    Args:
        instances: The packed instances, at least one.
        choices: The rule's choices for each instance.
        best_fit: The choices of best fit for each instance.
        lines: The lines of text below the panels. The first is the title. In each of the other lines, tabs separate up
            to three columns.
    """
    image = new_canvas(picture_size(len(lines)))
    draw = ImageDraw.Draw(image)
    _draw_shares(image, draw, count_shares(instances, choices), _unit(instances))
    _draw_fillings(draw, *(count_fillings(instances, made) for made in (choices, best_fit)))
    _write(draw, lines)
    return to_png(image)


def picture_size(n_lines: int) -> tuple[int, int]:
    """Return the width and height, in pixels, of a picture with ``n_lines`` lines of text below."""
    return LEFT + 2 * SIZE + GAP + RIGHT, TOP + SIZE + BELOW + n_lines * _LINE_HEIGHT


def count_shares(instances: Sequence[Instance], choices: Choices) -> FloatArray:
    """Return how often items of each size went into each free space, as a share of the times they could have.

    Returns:
        ``(n + 1, n)`` shares from 0 to 1, or NaN where items never had the choice; n is the smallest capacity, but at
        most `MAX_CELLS`. Rows are free spaces of open bins, ascending, and the last row is a new bin; columns are item
        sizes, ascending. If a capacity is above n, neighboring spaces and sizes share a cell.
    """
    n_cells = min(MAX_CELLS, *(instance.capacity for instance in instances))
    offered = np.zeros((n_cells + 1, n_cells))
    taken = np.zeros((n_cells + 1, n_cells))
    for instance, chosen in zip(instances, choices, strict=True):
        columns = (np.arange(instance.capacity + 1) * n_cells - 1) // instance.capacity
        rows = np.append(columns[:-1], n_cells)
        for step in replay(instance, chosen):
            column = columns[step.item]
            offered[np.unique(rows[[*step.spaces, instance.capacity]]), column] += 1
            taken[rows[step.space], column] += 1
    return np.divide(taken, offered, out=np.full_like(taken, np.nan), where=offered > 0)


def count_fillings(instances: Sequence[Instance], choices: Choices) -> dict[int, float]:
    """Return the share of bins, from 0 to 1, that end at each fill level.

    The keys are fill levels in percent, rounded down. A level without bins has no key.
    """
    counts: Counter[int] = Counter()
    for instance, chosen in zip(instances, choices, strict=True):
        bins: Counter[int] = Counter()
        for step in replay(instance, chosen):
            if step.space != instance.capacity:
                bins[step.space] -= 1
            bins[step.space - step.item] += 1
        for space, count in bins.items():
            counts[100 * (instance.capacity - space) // instance.capacity] += count
    return {percent: count / counts.total() for percent, count in counts.items() if count}


def _unit(instances: Sequence[Instance]) -> int | None:
    """Return the capacity that all instances share, or None if their capacities differ."""
    capacities = {instance.capacity for instance in instances}
    return capacities.pop() if len(capacities) == 1 else None


def _draw_shares(image: Image.Image, draw: ImageDraw.ImageDraw, shares: FloatArray, capacity: int | None) -> None:
    colors = np.full((*shares.shape, 3), GROUND, dtype=np.uint8)
    for row, column in np.argwhere(~np.isnan(shares)).tolist():
        colors[row, column] = _color(shares[row, column])
    font = load_font(_LABEL_SIZE)
    strip = TOP - _STRIP - 12
    for part, top, height in [(colors[-2::-1], TOP, SIZE), (colors[-1:], strip, _STRIP)]:
        panel = Image.fromarray(np.ascontiguousarray(part)).resize((SIZE, height), Image.Resampling.NEAREST)
        image.paste(panel, (LEFT, top))
        draw.rectangle([LEFT - 1, top - 1, LEFT + SIZE, top + height], outline=INK)
    draw.text((LEFT - 8, strip + _STRIP / 2), "new bin", fill=GRAY, font=font, anchor="rm")
    unit = "" if capacity else "%"
    for share in np.linspace(0, 1, _TICKS):
        text = f"{share * (capacity or 100):.4g}{unit}"
        draw.text((LEFT + share * SIZE, TOP + SIZE + 16), text, fill=GRAY, font=font, anchor="mm")
        draw.text((LEFT - 8, TOP + SIZE - share * SIZE), text, fill=GRAY, font=font, anchor="rm")
    draw.text((LEFT + SIZE / 2, TOP + SIZE + 42), "size of the item", fill=INK, font=font, anchor="mm")
    _write_upright(image, "free space of the bin", (20, TOP + SIZE // 2))
    _head(draw, LEFT, "Where items go", "how often a space is taken when it can be")
    _draw_scale(draw)


def _draw_fillings(draw: ImageDraw.ImageDraw, rule: dict[int, float], best_fit: dict[int, float]) -> None:
    left, bottom = LEFT + SIZE + GAP, TOP + SIZE
    draw.rectangle([left - 1, TOP - 1, left + SIZE, bottom], fill=GROUND, outline=INK)
    font = load_font(_LABEL_SIZE)
    width = SIZE / (101 - _FIRST)
    columns = [_gather(made) for made in (rule, best_fit)]
    highest, step = _choose_scale(max(max(column) for column in columns))
    for percent in range(0, highest + 1, step):
        row = bottom - percent / highest * SIZE
        if 0 < percent < highest:
            draw.line([left, row, left + SIZE - 1, row], fill=GRID)
        draw.text((left - 8, row), f"{percent}%", fill=GRAY, font=font, anchor="rm")
    for column, color, start, end in zip(columns, (_RULE, _BEST_FIT), (0.12, 0.5), (0.5, 0.88), strict=True):
        for at, share in enumerate(column):
            top = bottom - round(100 * share / highest * SIZE)
            if top < bottom:
                draw.rectangle([left + (at + start) * width, top, left + (at + end) * width, bottom - 1], fill=color)
    for percent in range(_FIRST, 101, 5):
        text = f"<={percent}%" if percent == _FIRST else f"{percent}%"
        draw.text((left + (percent - _FIRST + 0.5) * width, bottom + 16), text, fill=GRAY, font=font, anchor="mm")
    draw.text((left + SIZE / 2, bottom + 42), "how full a bin ends", fill=INK, font=font, anchor="mm")
    _head(draw, left, "How full the bins end", "share of the bins that were opened")
    for number, (text, color) in enumerate([("this rule", _RULE), ("best fit", _BEST_FIT)]):
        place = left + SIZE - 220 + 120 * number
        draw.rectangle([place, TOP - 32, place + 14, TOP - 18], fill=color)
        draw.text((place + 24, TOP - 25), text, fill=INK, font=font, anchor="lm")


def _gather(fillings: dict[int, float]) -> list[float]:
    """Return the share of bins at each fill level from `_FIRST` to 100 percent.

    The argument is a result of `count_fillings`. The first share also includes all bins that are less full.
    """
    below = sum(share for percent, share in fillings.items() if percent <= _FIRST)
    return [below, *(fillings.get(percent, 0.0) for percent in range(_FIRST + 1, 101))]


def _choose_scale(share: float) -> tuple[int, int]:
    """Return the percentage at the top of an axis and the step between its ticks, also in percent.

    Args:
        share: The largest share to be drawn, from 0 to 1. The axis reaches at least this share.
    """
    step = next(step for step in (1, 2, 5, 10, 20) if 100 * share <= (_TICKS - 1) * step)
    return step * max(1, math.ceil(100 * share / step)), step


def _head(draw: ImageDraw.ImageDraw, left: int, title: str, subtitle: str) -> None:
    draw.text((left, TOP - 94), title, fill=INK, font=load_font(_TITLE_SIZE), anchor="lm")
    draw.text((left, TOP - 62), subtitle, fill=GRAY, font=load_font(_LABEL_SIZE), anchor="lm")


def _write(draw: ImageDraw.ImageDraw, lines: Sequence[str]) -> None:
    title, *rest = lines
    top = TOP + SIZE + BELOW - 10
    draw.text((LEFT, top - 5), title, fill=INK, font=load_font(_TITLE_SIZE), anchor="lm")
    font = load_font(_TEXT_SIZE)
    for line in rest:
        top += _LINE_HEIGHT
        for stop, text, color in zip(_TAB_STOPS, line.split("\t"), (GRAY, INK, INK), strict=False):
            draw.text((LEFT + stop, top), text, fill=color, font=font, anchor="lm")


def _write_upright(image: Image.Image, text: str, center: tuple[int, int]) -> None:
    font = load_font(_LABEL_SIZE)
    width, height = 240, 24
    label = new_canvas((width, height))
    ImageDraw.Draw(label).text((width / 2, height / 2), text, fill=INK, font=font, anchor="mm")
    image.paste(label.rotate(90, expand=True), (center[0] - height // 2, center[1] - width // 2))


def _draw_scale(draw: ImageDraw.ImageDraw) -> None:
    """Draw the color scale, with its ends labeled never and always, in the lower right corner of the left panel.

    The colors show how often a free space is taken when it can be. No data are drawn in this corner, since it stands
    for large items (horizontal axis) and small free spaces (vertical axis), and such items do not fit.
    """
    left, top = LEFT + SIZE - _SCALE_WIDTH - 24, TOP + SIZE - 64
    for offset in range(_SCALE_WIDTH):
        column = left + offset
        draw.line([column, top, column, top + _SCALE_HEIGHT - 1], fill=_color(offset / (_SCALE_WIDTH - 1)))
    draw.rectangle([left - 1, top - 1, left + _SCALE_WIDTH, top + _SCALE_HEIGHT], outline=INK)
    font = load_font(_LABEL_SIZE)
    for column, text, anchor in [(left, "never", "lm"), (left + _SCALE_WIDTH, "always", "rm")]:
        draw.text((column, top + 30), text, fill=GRAY, font=font, anchor=anchor)


def _color(share: float) -> Color:
    stops = np.linspace(0, 1, len(_SCALE))
    red, green, blue = (round(float(np.interp(share, stops, channel))) for channel in _SCALE.T)
    return red, green, blue
