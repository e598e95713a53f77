"""A canvas and a palette for pictures, so that those of all domains match in a report."""

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
"""The factor by which a picture is drawn larger than it is shown, since downscaling smooths the outlines."""


def new_canvas(size: tuple[int, int]) -> Image.Image:
    """Return a blank picture with this width and height, in pixels."""
    return Image.new("RGB", size, PAPER)


def load_font(size: float) -> Font:
    """Return the font at a size in pixels. The font has few characters beyond ASCII."""
    return ImageFont.load_default(size)


def to_png(image: Image.Image) -> bytes:
    """Return a picture as the content of a PNG file."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
