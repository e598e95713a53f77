"""The picture of a packing shows each circle where it is, and how large."""

import io

import numpy as np
import pytest
from PIL import Image

from evodiverse.tasks.programs.circle_packing.picture import MARGIN, SIDE, draw_packing, picture_size, to_pixel

CENTERS = np.array([[0.3, 0.3], [0.8, 0.9]])
RADII = np.array([0.25, 0.08])
LINES = ["title", "label\t1.25"]


def picture(centers: np.ndarray = CENTERS, radii: np.ndarray = RADII, lines: list[str] = LINES) -> Image.Image:
    image = Image.open(io.BytesIO(draw_packing(centers, radii, lines)))
    assert image.format == "PNG"
    return image.convert("RGB")


def color(image: Image.Image, x: float, y: float) -> tuple[int, ...]:
    """Of a point in the unit square."""
    column, row = to_pixel(x, y)
    return image.getpixel((int(column), int(row)))


def test_the_size_depends_on_the_lines_below_alone() -> None:
    assert picture().size == picture_size(2) == picture(CENTERS[:1], RADII[:1]).size
    assert picture(lines=["title"]).size == picture_size(1) < picture_size(2)


def test_the_origin_is_at_the_lower_left() -> None:
    assert to_pixel(0, 0) == (MARGIN, MARGIN + SIDE)
    assert to_pixel(1, 1) == (MARGIN + SIDE, MARGIN)


def test_a_circle_is_colored_and_the_square_around_it_is_not() -> None:
    image = picture()
    ground = color(image, 0.3, 0.8)
    for (x, y), radius in zip(CENTERS, RADII, strict=True):
        inside = [color(image, x + dx * 0.95 * radius, y + dy * 0.95 * radius) for dx, dy in [(1, 0), (0, 1), (-1, 0)]]
        outside = [color(image, x + dx * 1.1 * radius, y + dy * 1.1 * radius) for dx, dy in [(1, 0), (0, 1), (-1, 0)]]
        assert ground not in inside
        assert set(outside) == {ground}


def test_the_larger_circle_is_darker_in_gray_too() -> None:
    image = picture().convert("L").convert("RGB")
    assert color(image, 0.4, 0.4) < color(image, 0.84, 0.9) < color(image, 0.3, 0.8)


@pytest.mark.parametrize("noise", [0.0, 1e-16])
def test_equal_circles_have_one_color_whatever_rounding_did_to_them(noise: float) -> None:
    image = picture(np.array([[0.2, 0.3], [0.8, 0.7]]), np.array([0.1, 0.1 + noise]))
    assert color(image, 0.25, 0.3) == color(image, 0.85, 0.7)


def test_a_circle_is_numbered_where_there_is_room() -> None:
    legible = picture(np.array([[0.5, 0.5]]), np.array([0.1])).crop((460, 460, 500, 500))
    cramped = picture(np.array([[0.5, 0.5]]), np.array([0.01])).crop((476, 476, 484, 484))
    assert len(legible.getcolors(1600)) > 1
    assert len(cramped.getcolors(64)) == 1


def test_the_lines_stand_below() -> None:
    caption = (0, MARGIN + SIDE + MARGIN // 2, *picture_size(2))
    written, other = (picture(lines=["title", line]).crop(caption) for line in ("label\t1.25", "label\t1.26"))
    assert written.tobytes() != other.tobytes()


@pytest.mark.parametrize("radii", [np.zeros(100), np.linspace(0, 0.05, 100)])
def test_a_hundred_circles_can_be_drawn(radii: np.ndarray) -> None:
    assert picture(np.random.default_rng(1).random((100, 2)), radii).size == picture_size(2)
