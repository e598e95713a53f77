"""The picture of a fit plots each prediction against its measurement, and counts those it cannot show."""

import io

import numpy as np
import pytest
from PIL import Image, ImageFont

from evodiverse.tasks.equations import fit_picture
from evodiverse.tasks.equations.fit_picture import (
    MAX_ROWS,
    OUTSIDE,
    PANEL_WIDTH,
    POINT,
    Panel,
    draw_fit,
    find_limits,
    find_ticks,
    picture_size,
    to_pixel,
    wrap,
)

TARGET = np.array([-1.0, 0.3, 2.0, 4.0])
PERFECT = Panel("train", TARGET, TARGET, "nmse 0")
# Where the number of those outside is written.
CORNER = (PANEL_WIDTH - 200, 440, PANEL_WIDTH - 46, 466)


def picture(*panels: Panel, lines: tuple[str, ...] = ("title",)) -> Image.Image:
    image = Image.open(io.BytesIO(draw_fit(panels, lines)))
    assert image.format == "PNG"
    return image.convert("RGB")


def predicting(*predicted: float) -> Panel:
    return PERFECT._replace(predicted=np.array(predicted))


def color(image: Image.Image, panel: Panel, row: int, index: int = 0) -> tuple[int, ...]:
    """Return the color of the pixel at the point of a row of the data, in the panel with this index."""
    limits = find_limits(panel.target)
    x, y = to_pixel(limits, float(panel.target[row]), float(panel.predicted[row]))
    return image.getpixel((index * PANEL_WIDTH + int(x), int(y)))


def ticks(low: float, high: float) -> list[str]:
    return fit_picture.write_ticks(find_ticks((low, high)))


def n_pixels(image: Image.Image, wanted: tuple[int, ...]) -> int:
    return sum(count for count, found in image.getcolors(image.width * image.height) if found == wanted)


def test_the_size_depends_on_the_panels_and_the_rows_of_text() -> None:
    assert picture(PERFECT).size == picture_size(1, 1)
    assert picture(PERFECT, PERFECT, PERFECT, lines=("title", "text")).size == picture_size(3, 2)
    assert picture_size(3, 2) > picture_size(1, 2) > picture_size(1, 1)


@pytest.mark.parametrize("scale", [1e-12, -1e-12, 1.0, 1e9, -3e9])
def test_a_perfect_prediction_lies_on_the_diagonal(scale: float) -> None:
    panel = PERFECT._replace(target=scale * TARGET, predicted=scale * TARGET)
    image = picture(PERFECT, panel)
    assert [color(image, panel, row, 1) for row in range(len(TARGET))] == [POINT] * len(TARGET)
    low, high = find_limits(panel.target)
    left, bottom = to_pixel((low, high), low, low)
    for value in panel.target.tolist():
        x, y = to_pixel((low, high), value, value)
        assert x - left == pytest.approx(bottom - y)


def test_measurements_grow_to_the_right_and_predictions_upwards() -> None:
    x, y = to_pixel((0, 1), 0.2, 0.7)
    assert to_pixel((0, 1), 0.3, 0.7)[0] > x
    assert to_pixel((0, 1), 0.2, 0.8)[1] < y


def test_the_limits_lie_a_little_beyond_the_target_whatever_is_predicted() -> None:
    assert find_limits(np.array([10.0, -10.0, 3.0])) == pytest.approx((-11, 11))
    off = predicting(-1, 1e6, 2, 4)
    assert color(picture(off), off, 2) == POINT


@pytest.mark.parametrize(("far", "edge"), [(1e6, 4.25), (-1e6, -1.25), (1e308, 4.25)])
def test_a_prediction_outside_is_drawn_at_the_border_in_another_color(far: float, edge: float) -> None:
    limits = find_limits(TARGET)
    assert to_pixel(limits, 2.0, far) == pytest.approx(to_pixel(limits, 2.0, edge))
    panel = predicting(-1, 0.3, far, 4)
    assert color(picture(panel), panel, 2) == OUTSIDE
    assert n_pixels(picture(PERFECT), OUTSIDE) == 0


def test_a_wild_measurement_is_drawn_at_the_border_and_widens_nothing() -> None:
    target = np.append(np.linspace(0, 1, 30), 1e6)
    panel = Panel("training", target, np.minimum(target, 0.5), "")
    assert find_limits(target) == pytest.approx((-0.05, 1.05))
    assert color(picture(panel), panel, 30) == OUTSIDE
    assert color(picture(panel), panel, 29) == POINT


@pytest.mark.parametrize("missing", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_not_drawn(missing: float) -> None:
    image = picture(predicting(-1, 0.3, missing, 4))
    assert n_pixels(image, OUTSIDE) == 0
    assert 0 < n_pixels(image, POINT) < n_pixels(picture(PERFECT), POINT)


def test_the_number_of_those_outside_or_missing_is_written() -> None:
    none, far, missing, both = (
        picture(panel).crop(CORNER).tobytes()
        for panel in (
            PERFECT,
            predicting(-1, 0.3, 9, 4),
            predicting(-1, 0.3, np.nan, 4),
            predicting(-1, 0.3, -np.inf, 9),
        )
    )
    assert far == missing
    assert len({none, far, both}) == 3


def test_the_two_colors_differ_in_gray_too() -> None:
    point, outside = Image.new("RGB", (1, 1), POINT), Image.new("RGB", (1, 1), OUTSIDE)
    assert outside.convert("L").getpixel((0, 0)) - point.convert("L").getpixel((0, 0)) > 80


@pytest.mark.parametrize("value", [3.0, -2e9, 1.5e-12, 0.0])
@pytest.mark.parametrize("n", [1, 5])
def test_a_constant_target_lies_in_the_middle(value: float, n: int) -> None:
    target = value * (1 + 1e-16 * np.arange(n))
    low, high = find_limits(target)
    assert low < value < high
    assert (low + high) / 2 == pytest.approx(value)
    panel = Panel("constant", target, target, "")
    assert color(picture(panel), panel, 0) == POINT


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (-0.05, 1.05, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (-2.9, 7.1, ["-2", "0", "2", "4", "6"]),
        (0.09, 0.41, ["0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4"]),
        (-950, 10500, ["0", "2000", "4000", "6000", "8000", "10000"]),
        (9e-13, 3.1e-12, ["1e-12", "1.5e-12", "2e-12", "2.5e-12", "3e-12"]),
        (-2.1e9, 2.1e9, ["-2e9", "-1e9", "0", "1e9", "2e9"]),
        (300.01, 300.11, ["300.02", "300.04", "300.06", "300.08", "300.1"]),
    ],
)
def test_the_ticks_are_round_numbers(low: float, high: float, texts: list[str]) -> None:
    assert ticks(low, high) == texts


@pytest.mark.parametrize("exponent", [-300, -12, -3, 0, 2, 9, 300])
def test_there_are_some_ticks_at_any_magnitude_and_few(exponent: int) -> None:
    for low, high in [(-1.0, 1.0), (0.0, 6.9), (-7.1, -1.3), (1.0, 1.0001)]:
        texts = ticks(low * 10.0**exponent, high * 10.0**exponent)
        assert 2 <= len(texts) <= 8
        assert max(map(len, texts)) < 14


def test_at_most_so_many_points_are_drawn_and_from_the_first_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_picture, "MAX_POINTS", 3)
    target = np.arange(5.0)
    panel = Panel("many", target, target[::-1].copy(), "")
    image = picture(panel)
    assert [color(image, panel, row) == POINT for row in range(5)] == [True, False, True, False, True]


def test_a_line_is_wrapped_at_spaces_to_the_width() -> None:
    rows = wrap([("one two three four five six", 16)], 80, 6)
    assert len(rows) > 1
    assert " ".join(text for text, _ in rows) == "one two three four five six"


def test_a_word_wider_than_the_width_is_broken_and_nothing_is_lost() -> None:
    rows = wrap([("x" * 50, 16)], 80, 100)
    assert len(rows) > 1
    assert "".join(text for text, _ in rows) == "x" * 50


@pytest.mark.parametrize("lines", [[("x*y " * 500, 16)], [("x" * 3000, 24)], [("short", 16)] * 7])
def test_text_too_long_is_cut_with_an_ellipsis(lines: list[tuple[str, int]]) -> None:
    rows = wrap(lines, 400, MAX_ROWS)
    assert len(rows) == MAX_ROWS
    assert [text.endswith("…") for text, _ in rows] == [False] * 5 + [True]
    assert all(ImageFont.load_default(size).getlength(text) <= 400 for text, size in rows)
    assert picture(PERFECT, lines=tuple(text for text, _ in lines)).size == picture_size(1, MAX_ROWS)


def test_text_that_just_fits_is_not_cut() -> None:
    assert wrap([("short", 16)] * 6, 400, MAX_ROWS) == [("short", 16)] * 6


@pytest.mark.parametrize("part", ["name", "caption"])
def test_a_long_heading_stays_in_its_panel(part: str) -> None:
    image = picture(PERFECT._replace(**{part: "long " * 100}), PERFECT)
    assert len(image.crop((PANEL_WIDTH - 20, 0, PANEL_WIDTH + 60, 66)).getcolors()) == 1
