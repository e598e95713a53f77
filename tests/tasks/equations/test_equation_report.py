"""The picture of a fit plots each prediction against its measurement; a split without an error says why."""

import io
from collections.abc import Sequence

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from evodiverse.tasks.equations import report
from evodiverse.tasks.equations.front import EXACT, Member
from evodiverse.tasks.equations.problems import FloatArray, Rows
from evodiverse.tasks.equations.report import (
    MAX_ROWS,
    OUTSIDE,
    POINT,
    ROW_LENGTH,
    Panel,
    draw_fit,
    draw_front,
    draw_panel,
    explain_no_error,
    find_limits,
    wrap_lines,
)
from evodiverse.tasks.equations.skeleton import read_skeleton, write_function

TARGET = np.array([-1.0, 0.3, 2.0, 4.0])
PERFECT = Panel("train", TARGET, TARGET, "nmse 0")
FRONT = [Member(1, 1, 0.9, 0.8, 0.1), Member(2, 5, 1e-3, 2e-3, 1e-4), Member(3, 9, 0.0, 2e-3, 1e-4)]


def predicting(*predicted: float) -> Panel:
    return PERFECT._replace(predicted=np.array(predicted))


def drawn(panel: Panel) -> Axes:
    axes = Figure().subplots()
    draw_panel(axes, panel)
    return axes


def points(panel: Panel, color: str) -> list[tuple[float, float]]:
    """Return the points that are drawn in a color."""
    lines = [line for line in drawn(panel).lines if line.get_marker() == "o" and line.get_color() == color]
    return [(float(x), float(y)) for line in lines for x, y in zip(*line.get_data(), strict=True)]


def texts(panel: Panel) -> list[str]:
    return [text.get_text() for text in drawn(panel).texts]


def pairs(panel: Panel, rows: Sequence[int]) -> list[tuple[float, float]]:
    return [(float(panel.target[row]), float(panel.predicted[row])) for row in rows]


@pytest.mark.parametrize("scale", [1e-12, -1e-12, 1.0, 1e9, -3e9])
def test_each_prediction_is_drawn_over_its_measurement(scale: float) -> None:
    panel = Panel("train", scale * TARGET, scale * TARGET * 0.9, "")
    assert points(panel, POINT) == pairs(panel, range(4))
    assert points(panel, OUTSIDE) == []
    axes = drawn(panel)
    assert axes.get_xlim() == axes.get_ylim() == pytest.approx(find_limits(panel.target))
    assert [tuple(ends) for ends in axes.lines[0].get_data()] == [find_limits(panel.target)] * 2  # the diagonal


def test_the_axes_show_values() -> None:
    axes = drawn(PERFECT)
    axes.get_figure(root=True).draw_without_rendering()
    for axis in (axes.xaxis, axes.yaxis):
        assert {"0", "2", "4"} <= {label.get_text() for label in axis.get_ticklabels()}


def test_the_limits_lie_a_little_beyond_the_target_whatever_is_predicted() -> None:
    assert find_limits(np.array([10.0, -10.0, 3.0])) == pytest.approx((-11, 11))
    off = predicting(-1, 1e6, 2, 4)
    assert points(off, POINT) == pairs(off, [0, 2, 3])


@pytest.mark.parametrize(("far", "edge"), [(1e6, 4.25), (-1e6, -1.25), (1e308, 4.25)])
def test_a_prediction_outside_is_drawn_at_the_border_in_another_color(far: float, edge: float) -> None:
    assert points(predicting(-1, 0.3, far, 4), OUTSIDE) == [(2.0, edge)]


def test_a_wild_measurement_is_drawn_at_the_border_and_widens_nothing() -> None:
    target = np.append(np.linspace(0, 1, 30), 1e6)
    panel = Panel("training", target, np.minimum(target, 0.5), "")
    assert find_limits(target) == pytest.approx((-0.05, 1.05))
    assert points(panel, OUTSIDE) == [(pytest.approx(1.05), 0.5)]
    assert points(panel, POINT) == pairs(panel, range(30))


@pytest.mark.parametrize("missing", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_not_drawn(missing: float) -> None:
    panel = predicting(-1, 0.3, missing, 4)
    assert points(panel, OUTSIDE) == []
    assert points(panel, POINT) == pairs(panel, [0, 1, 3])


@pytest.mark.parametrize(
    ("panel", "written"),
    [
        (PERFECT, []),
        (predicting(-1, 0.3, 9, 4), ["1 outside"]),
        (predicting(-1, 0.3, np.nan, 4), ["1 outside"]),
        (predicting(-1, 0.3, -np.inf, 9), ["2 outside"]),
    ],
)
def test_the_number_of_those_outside_or_missing_is_written(panel: Panel, written: list[str]) -> None:
    assert texts(panel) == written


def test_the_two_colors_differ_in_gray_too() -> None:
    point, outside = (np.dot(to_rgb(color), (0.299, 0.587, 0.114)) for color in (POINT, OUTSIDE))
    assert outside - point > 0.3


@pytest.mark.parametrize("value", [3.0, -2e9, 1.5e-12, 0.0])
@pytest.mark.parametrize("n", [1, 5])
def test_a_constant_target_lies_in_the_middle(value: float, n: int) -> None:
    target = value * (1 + 1e-16 * np.arange(n))
    low, high = find_limits(target)
    assert low < value < high
    assert (low + high) / 2 == pytest.approx(value)


def test_at_most_so_many_points_are_drawn_and_from_the_first_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MAX_POINTS", 3)
    target = np.arange(5.0)
    panel = Panel("many", target, target[::-1].copy(), "")
    assert points(panel, POINT) == pairs(panel, [0, 2, 4])


def test_lines_are_wrapped_at_spaces_and_words_too_long_for_a_row_are_broken() -> None:
    assert wrap_lines(["title", "one two three", "x" * 12], 10) == ["title", "one two", "three", "x" * 10, "xx"]


@pytest.mark.parametrize("lines", [["title", "x*y " * 500], ["title", "x" * 3000], ["short"] * 8])
def test_text_too_long_is_cut_with_an_ellipsis(lines: list[str]) -> None:
    rows = wrap_lines(lines, 30)
    assert len(rows) == MAX_ROWS
    assert [text.endswith("…") for text in rows] == [False] * 5 + [True]
    assert max(map(len, rows)) <= 30
    assert wrap_lines(["short"] * MAX_ROWS, 30) == ["short"] * MAX_ROWS
    assert wrap_lines(["title" * 10], 10) == ["titletitl…"]


@pytest.mark.parametrize("text", ["$x_{", "\x00\x1b[31m \ud800", "变量 = 量", "<svg>&amp;", "", "\\frac{1}{2}"])
def test_any_text_can_be_drawn_and_equal_pictures_have_equal_bytes(text: str) -> None:
    picture = draw_fit([PERFECT, PERFECT], FRONT, FRONT[1], [text, f"{text} = 1"])
    assert Image.open(io.BytesIO(picture)).format == "PNG"
    assert picture == draw_fit([PERFECT, PERFECT], FRONT, FRONT[1], [text, f"{text} = 1"])


def test_long_text_makes_no_picture_much_wider() -> None:
    sizes = [
        Image.open(io.BytesIO(draw_fit([PERFECT], FRONT, FRONT[1], ["W" * n, "W" * n]))).size
        for n in (ROW_LENGTH // 2, 5000)
    ]
    assert sizes[1][0] < 1.5 * sizes[0][0]


def test_the_front_has_a_point_for_each_equation_and_a_ring_around_the_chosen_one() -> None:
    axes = Figure().subplots()
    draw_front(axes, FRONT, FRONT[1])
    front, ring = ([*map(tuple, line.get_xydata().tolist())] for line in axes.get_lines())
    assert front == [(1.0, 0.9), (5.0, 1e-3), (9.0, EXACT)]
    assert ring == [(5.0, 1e-3)]
    assert axes.get_yscale() == "log"


X = np.array([2.0, -1.5, 0.0, -3.0])


def explain(expression: str, target: FloatArray = X, predicted: FloatArray | None = None) -> str | None:
    source = read_skeleton(write_function(["x"], expression), ["x"]).source
    return explain_no_error(Rows(X[: len(target), None], target), predicted, ["x"], source, [0.5])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (
            "2 * (x ** params[0] + 1)",
            "power(-1.5, 0.5) of a negative base in row 2 is not a finite number (2 of 4 rows)",
        ),
        ("1 + 3 / x", "divide(3, 0) in row 3 is not a finite number (1 of 4 rows)"),
        ("np.log(x - 2)", "log(0) in row 1 is not a finite number (4 of 4 rows)"),
        ("np.exp(1000 * x)", "exp(2000) in row 1 is not a finite number (1 of 4 rows)"),
        ("np.where(x > 1, 1, np.sqrt(x))", "sqrt(-1.5) in row 2 is not a finite number (2 of 4 rows)"),
        ("params[0] * x", "the equation could not be computed"),  # as when the fit ran out of time
    ],
)
def test_the_operation_without_a_value_is_named(expression: str, expected: str) -> None:
    assert explain(expression) == expected


def test_a_target_without_a_variance_and_predictions_that_are_too_large() -> None:
    assert explain("x", np.full(3, 0.1), np.arange(3.0)) == "the target is the same in all rows"
    assert explain("x", X, np.full(4, 1e200)) == "a prediction is too large to be squared"


def test_a_known_error_and_a_split_without_rows_need_no_words() -> None:
    assert explain("x", X, X) is None
    assert explain("x", np.empty(0), None) is None
