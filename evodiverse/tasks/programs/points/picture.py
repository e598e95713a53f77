"""The common layout of pictures of points: a square with the points in it, and lines of text below."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from PIL import ImageDraw

from evodiverse.kit.pictures import GRAY, INK, PAPER, SUPERSAMPLING, Color, load_font, new_canvas, to_png
from evodiverse.tasks.programs.points.exact import Points, to_integers

MARGIN: Final = 50  # pixels
SIDE: Final = 860
LINE_HEIGHT: Final = 32

_TAB_STOPS: Final = (0, 475, 650, 780)  # pixels
_TITLE_SIZE, _TEXT_SIZE, _LABEL_SIZE = 26, 20, 11
_DOT: Final = 9  # radius in pixels

Pixel = tuple[float, float]


class Brush(NamedTuple):
    """A tool that draws lines and filled polygons. `draw_points` calls its argument ``paint`` with such a tool.

    Coordinates and widths are in pixels of the final picture. The picture is drawn `SUPERSAMPLING` times as large and
    then reduced, so that its outlines are smooth. The methods multiply all coordinates and widths by this factor.

    Attributes:
        draw: The Pillow object that draws on the enlarged picture.
    """

    draw: ImageDraw.ImageDraw

    def line(self, ends: Sequence[Pixel], color: Color, width: float) -> None:
        """Draw a line through points, with a width in pixels."""
        self.draw.line(_enlarge(ends), fill=color, width=round(SUPERSAMPLING * width))

    def area(self, corners: Sequence[Pixel], color: Color) -> None:
        """Fill a polygon."""
        self.draw.polygon(_enlarge(corners), fill=color)


def draw_points(pixels: Sequence[Pixel], paint: Callable[[Brush], None], lines: Sequence[str]) -> bytes:
    """Return a PNG of numbered points.

    Args:
        pixels: The positions of the points in the picture.
        paint: A function that draws everything that lies under the points. It is called once, with the brush to draw
            with, before the points are drawn.
        lines: The lines of text below the picture, the title first. The other lines hold up to four fields, separated
            by tabs: a label, a number, a second label and a second number.
    """
    image = new_canvas(picture_size(len(lines)))
    square = new_canvas((SUPERSAMPLING * (SIDE + 2 * MARGIN),) * 2)
    draw = ImageDraw.Draw(square)
    paint(Brush(draw))
    for x, y in pixels:
        box = [(x - _DOT, y - _DOT), (x + _DOT, y + _DOT)]
        draw.ellipse(_enlarge(box), fill=INK, outline=PAPER, width=SUPERSAMPLING)
    image.paste(square.reduce(SUPERSAMPLING), (0, 0))
    draw = ImageDraw.Draw(image)
    for number, pixel in enumerate(pixels):
        draw.text(pixel, str(number), fill=PAPER, font=load_font(_LABEL_SIZE), anchor="mm")
    _write(draw, lines)
    return to_png(image)


def picture_size(n_lines: int) -> tuple[int, int]:
    """Return the width and height, in pixels, of a picture with ``n_lines`` lines of text below."""
    return SIDE + 2 * MARGIN, SIDE + 2 * MARGIN + n_lines * LINE_HEIGHT + MARGIN // 2


def fit(points: Points) -> list[Pixel]:
    """Return the positions of points in a picture, scaled to fill the square above the text, with y pointing up.

    Args:
        points: The points, at least two, not all the same.
    """
    whole, _ = to_integers(points)
    columns = list(zip(*whole, strict=True))
    extent = max(max(column) - min(column) for column in columns)
    shares = [
        [(2 * value - min(column) - max(column) + extent) / (2 * extent) for value in column] for column in columns
    ]
    return [(MARGIN + x * SIDE, MARGIN + (1 - y) * SIDE) for x, y in zip(*shares, strict=True)]


def _enlarge(places: Sequence[Pixel]) -> list[Pixel]:
    return [(SUPERSAMPLING * x, SUPERSAMPLING * y) for x, y in places]


def _write(draw: ImageDraw.ImageDraw, lines: Sequence[str]) -> None:
    title, *rest = lines
    top = SIDE + 2 * MARGIN
    draw.text((MARGIN, top - 5), title, fill=INK, font=load_font(_TITLE_SIZE), anchor="lm")
    font = load_font(_TEXT_SIZE)
    for line in rest:
        top += LINE_HEIGHT
        for stop, text, color in zip(_TAB_STOPS, line.split("\t"), (GRAY, INK) * 2, strict=False):
            draw.text((MARGIN + stop, top), text, fill=color, font=font, anchor="lm")
