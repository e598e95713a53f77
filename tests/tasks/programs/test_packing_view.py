"""The view of a packing shows each circle where it is, and how large; text that is no packing is refused."""

import io
import json
from types import ModuleType

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from PIL import Image

from evodiverse.ports import Viewed
from evodiverse.tasks.programs import view as programs
from evodiverse.tasks.programs.circle_packing import view
from evodiverse.tasks.programs.circle_packing.view import MOST_CIRCLES, Packing, draw, draw_picture, read_packing

PACKING = Packing(np.array([[0.3, 0.3], [0.8, 0.9], [1 / 3, 0.7]]), np.array([0.25, 0.08, 0.1]))
LINES = ["title", "label\t1.25", "call 1"]


def text_of(centers: object, radii: object) -> str:
    return json.dumps({"centers": centers, "radii": radii})


def new_axes() -> Axes:
    return Figure().subplots()


def circles_of(axes: Axes) -> np.ndarray:
    """Return x, y and radius of each circle, measured on the drawn outlines."""
    (circles,) = (artist for artist in axes.collections if isinstance(artist, PatchCollection))
    boxes = [path.get_extents() for path in circles.get_paths()]
    return np.array([((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2, box.width / 2) for box in boxes])


def colors_of(packing: Packing) -> np.ndarray:
    circles = draw(new_axes(), packing)
    circles.update_scalarmappable()
    return np.array(circles.get_facecolor())


def test_a_packing_is_read_to_the_last_bit() -> None:
    read = read_packing(text_of(*(part.tolist() for part in PACKING)))
    assert [part.tobytes() for part in read] == [part.tobytes() for part in PACKING]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "None",
        "[]",
        "3",
        "{}",
        "[" * 100_000,
        "<script>",
        '{"centers": [], "radii": []}',
        text_of([[0.5, 0.5]], [0.1, 0.2]),
        text_of([[0.5, 0.5, 0.5]], [0.1]),
        text_of([0.5, 0.5], [0.1]),
        text_of([[0.5, 0.5]], 0.1),
        text_of([[0.5, None]], [0.1]),
        text_of([[0.5, "x"]], [0.1]),
        text_of([[0.5, float("nan")]], [0.1]),
        text_of([[0.5, 0.5]], [float("inf")]),
        text_of([[0.5, 1e9]], [0.1]),
        text_of([[0.5, 10**400]], [0.1]),
        text_of([[0.5, 0.5]], [-0.1]),
        text_of([[0, 0]] * (MOST_CIRCLES + 1), [0] * (MOST_CIRCLES + 1)),
        " " * (2 << 20),
    ],
)
def test_text_that_is_no_packing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^it"):
        read_packing(text)


def test_circles_are_drawn_where_they_are_and_as_large() -> None:
    axes = new_axes()
    draw(axes, PACKING)
    assert circles_of(axes) == pytest.approx(np.column_stack(PACKING), abs=1e-9)
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, 1), (0, 1))


def test_larger_circles_are_darker() -> None:
    gray = colors_of(PACKING)[:, :3] @ (0.299, 0.587, 0.114)
    assert np.argsort(-gray).tolist() == np.argsort(PACKING.radii).tolist()


def test_equal_circles_have_one_color_whatever_rounding_did_to_them() -> None:
    one, other = colors_of(Packing(PACKING.centers[:2], np.array([0.1, 0.1 + 1e-16])))
    assert one.tolist() == other.tolist()


def test_the_domain_draws_the_packing_of_a_logged_row() -> None:
    assert isinstance(programs, ModuleType)
    assert isinstance(programs, Viewed)
    axes = new_axes()
    programs.draw(axes, "", {"packing": text_of([[0.5, 0.4]], [0.1])})
    assert circles_of(axes) == pytest.approx(np.array([[0.5, 0.4, 0.1]]), abs=1e-9)
    with pytest.raises(ValueError, match="not a packing"):
        programs.draw(new_axes(), "", {"packing": None})


def test_the_picture_numbers_circles_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "to_png", lambda figure, _: " ".join(text.get_text() for text in figure.axes[0].texts))
    assert draw_picture(PACKING._replace(radii=np.array([0.25, 0.01, 0.1])), LINES) == "0 2"


@pytest.mark.parametrize("radii", [np.zeros(100), np.linspace(0, 0.05, 100)])
def test_equal_packings_give_equal_bytes_and_other_text_another_picture(radii: np.ndarray) -> None:
    packing = Packing(np.random.default_rng(1).random((100, 2)), radii)
    picture = draw_picture(packing, LINES)
    image = Image.open(io.BytesIO(picture))
    assert (image.format, set(image.info) <= {"dpi"}) == ("PNG", True)
    assert picture == draw_picture(packing, LINES)
    assert picture != draw_picture(packing, ["title", "label\t1.26", "call 1"])
