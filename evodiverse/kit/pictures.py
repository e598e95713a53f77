"""The canvas and the palette of pictures, so that those of all domains look like parts of one report."""

import io
from typing import Final, TypeAlias

from PIL import Image, ImageFont

Color: TypeAlias = tuple[int, int, int]
Font: TypeAlias = ImageFont.ImageFont | ImageFont.FreeTypeFont

PAPER: Final[Color] = (255, 255, 255)
GROUND: Final[Color] = (246, 246, 243)
GRID: Final[Color] = (228, 228, 224)
INK: Final[Color] = (22, 34, 56)
GRAY: Final[Color] = (96, 104, 116)

SUPERSAMPLING: Final = 4
"""How much larger a picture is drawn than it is shown: to reduce it smooths the outlines."""


def new_canvas(size: tuple[int, int]) -> Image.Image:
    """Return an empty picture with so many pixels in width and height."""
    return Image.new("RGB", size, PAPER)


def load_font(size: float) -> Font:
    """Return the font of a size in pixels; it knows little more than ASCII."""
    return ImageFont.load_default(size)


def to_png(image: Image.Image) -> bytes:
    """Return a picture as PNG."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
