"""The picture of a circle packing as PNG."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from evodiverse.kit.pictures import GRAY, GROUND, INK, PAPER, SUPERSAMPLING, Color, load_font, new_canvas, to_png

FloatArray = NDArray[np.float64]

MARGIN = 40  # pixels
SIDE = 880  # pixels, the side of the unit square
_LINE_HEIGHT = 32
_TAB_STOPS = (0, 120, 290, 410)  # pixels
_TITLE_SIZE, _TEXT_SIZE, _LABEL_SIZE = 26, 20, 16
_EQUAL = 1e-6  # if all radii differ by at most this, all circles have the same color
_MIN_LABELED = 13  # pixels, the smallest radius of a circle with a number
_SCALE_WIDTH, _SCALE_HEIGHT = 200, 14

# Colors from the smallest radius to the largest, increasingly dark, so that the scale also works in grayscale.
_SCALE = np.array([(252, 239, 190), (169, 219, 184), (84, 178, 192), (46, 116, 170), (36, 54, 114)], dtype=np.float64)


def draw_packing(centers: FloatArray, radii: FloatArray, lines: Sequence[str]) -> bytes:
    """Return a PNG of circles in the unit square, numbered where there is room, with the origin at the lower left.

    A circle's color shows where its radius lies between the smallest and the largest.

    Args:
        centers: ``(n, 2)`` centers in the unit square, n ≥ 1.
        radii: ``(n,)`` radii, at least 0.
        lines: The lines of text below the picture, the title first. The other lines hold a label, a number, a second
            label and a second number, separated by tabs. Parts at the end may be left out.
    """
    colors = [_color(share) for share in _shares(radii)]
    image = new_canvas(picture_size(len(lines)))
    image.paste(_draw_square(centers, radii, colors), (0, 0))
    draw = ImageDraw.Draw(image)
    _number(draw, centers, radii, colors)
    _write(draw, lines)
    _draw_scale(draw, radii)
    return to_png(image)


def picture_size(n_lines: int) -> tuple[int, int]:
    """Return the width and height, in pixels, of a picture with ``n_lines`` lines of text below."""
    return SIDE + 2 * MARGIN, SIDE + 2 * MARGIN + n_lines * _LINE_HEIGHT + MARGIN // 2


def to_pixel(x: float, y: float) -> tuple[float, float]:
    """Return the position of a point of the unit square, in pixels of the picture."""
    return MARGIN + x * SIDE, MARGIN + (1 - y) * SIDE


def _draw_square(centers: FloatArray, radii: FloatArray, colors: Sequence[Color]) -> Image.Image:
    """Return the square with its margin, drawn enlarged and then reduced to smooth the outlines."""
    factor = SUPERSAMPLING
    image = new_canvas((factor * (SIDE + 2 * MARGIN),) * 2)
    draw = ImageDraw.Draw(image)
    frame = [factor * (MARGIN - 1), factor * (MARGIN - 1), factor * (MARGIN + SIDE + 1), factor * (MARGIN + SIDE + 1)]
    draw.rectangle(frame, fill=GROUND, outline=INK, width=factor * 2)
    for (x, y), radius, color in zip(centers.tolist(), radii.tolist(), colors, strict=True):
        column, row = to_pixel(x, y)
        half = radius * SIDE
        box = [factor * (column - half), factor * (row - half), factor * (column + half), factor * (row + half)]
        draw.ellipse(box, fill=color, outline=INK, width=round(factor * 1.25))
    return image.reduce(factor)


def _number(draw: ImageDraw.ImageDraw, centers: FloatArray, radii: FloatArray, colors: Sequence[Color]) -> None:
    font = load_font(_LABEL_SIZE)
    for index, ((x, y), radius, color) in enumerate(zip(centers.tolist(), radii.tolist(), colors, strict=True)):
        if radius * SIDE >= _MIN_LABELED:
            draw.text(to_pixel(x, y), str(index), fill=_legible(color), font=font, anchor="mm")


def _write(draw: ImageDraw.ImageDraw, lines: Sequence[str]) -> None:
    title, *rest = lines
    top = SIDE + 2 * MARGIN
    draw.text((MARGIN, top - 5), title, fill=INK, font=load_font(_TITLE_SIZE), anchor="lm")
    font = load_font(_TEXT_SIZE)
    for line in rest:
        top += _LINE_HEIGHT
        for stop, text, color in zip(_TAB_STOPS, line.split("\t"), (GRAY, INK) * 2, strict=False):
            draw.text((MARGIN + stop, top), text, fill=color, font=font, anchor="lm")


def _draw_scale(draw: ImageDraw.ImageDraw, radii: FloatArray) -> None:
    """Draw the color scale, from the smallest to the largest radius, next to the title."""
    left, top = MARGIN + SIDE - _SCALE_WIDTH, SIDE + 2 * MARGIN - _SCALE_HEIGHT // 2
    box = (left - 1, top - 1, left + _SCALE_WIDTH, top + _SCALE_HEIGHT)
    for offset in range(_SCALE_WIDTH):
        column = left + offset
        draw.line([column, top, column, top + _SCALE_HEIGHT - 1], fill=_color(offset / (_SCALE_WIDTH - 1)))
    draw.rectangle(box, outline=INK)
    font = load_font(_LABEL_SIZE)
    for column, radius, anchor in [(left, radii.min(), "lm"), (left + _SCALE_WIDTH, radii.max(), "rm")]:
        draw.text((column, top + _LINE_HEIGHT), f"r = {radius:.4f}", fill=GRAY, font=font, anchor=anchor)


def _shares(radii: FloatArray) -> list[float]:
    """Return where each radius lies between the smallest (0) and the largest (1); 1/2 if all are equal."""
    spread = radii.max() - radii.min()
    shares: list[float] = ((radii - radii.min()) / spread if spread > _EQUAL else np.full(len(radii), 0.5)).tolist()
    return shares


def _color(share: float) -> Color:
    stops = np.linspace(0, 1, len(_SCALE))
    red, green, blue = (round(float(np.interp(share, stops, channel))) for channel in _SCALE.T)
    return red, green, blue


def _legible(color: Color) -> Color:
    """Return a text color that is legible on a background color."""
    return INK if np.dot(color, (0.299, 0.587, 0.114)) > 128 else PAPER
