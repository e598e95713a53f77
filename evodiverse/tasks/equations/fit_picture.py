"""The picture of a fit: predictions plotted against measurements."""

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evodiverse.kit.pictures import GRAY, GROUND, new_figure, styled, to_png
from evodiverse.tasks.equations.data import find_wild

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]
Limits = tuple[float, float]  # the lowest and the highest value on both axes

MAX_ROWS, MAX_POINTS = 6, 2000
_SIDE, ROW_LENGTH = 420, 50  # pixels of a panel's side, and characters of text for each panel
_EXTENSION = 0.05  # how far the axes extend beyond each end of the target's range, relative to that range
# A range smaller than this, relative to the target's largest magnitude, counts as none, since its ticks would have too
# many digits.
_EQUAL = 1e-5
_WIDENING = 0.1  # the same as _EXTENSION for a target without a range, relative to its magnitude

# One dark and one light, so that they differ in grayscale too.
POINT, OUTSIDE = "#244a86", "#f09228"


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


@styled()
def draw_fit(panels: Sequence[Panel], lines: Sequence[str]) -> bytes:
    """Return a PNG with one square per panel: measurements on the horizontal axis, predictions on the vertical one.

    Args:
        panels: One to three panels, from left to right.
        lines: The lines of text (see `to_png`), which are wrapped, and cut after `MAX_ROWS` rows.
    """
    figure, places = new_figure(_SIDE, len(panels))
    for axes, panel in zip(places, panels, strict=True):
        draw_panel(axes, panel)
    return to_png(figure, wrap_lines(lines, len(panels) * ROW_LENGTH))


def draw_panel(axes: "Axes", panel: Panel) -> None:
    """Draw predictions against measurements; perfect predictions lie on the diagonal.

    Wild measurements (`find_wild`) do not widen the axes. A point beyond the limits of the axes is drawn at the border
    in another color. A prediction that is not finite is not drawn. If there are more than `MAX_POINTS` rows, only
    `MAX_POINTS` of them are drawn, evenly spaced. The square states how many of all points are beyond the limits or not
    finite.
    """
    limits = find_limits(panel.target)
    points = np.array([panel.target, panel.predicted])
    outside = ~np.logical_and(*((limits[0] <= points) & (points <= limits[1])))
    chosen = np.linspace(0, len(outside) - 1, min(len(outside), MAX_POINTS)).round().astype(int)
    axes.plot(limits, limits, color=GRAY, linewidth=1)
    for color, is_drawn in [(POINT, ~outside), (OUTSIDE, outside & np.isfinite(panel.predicted))]:
        shown = points[:, chosen[is_drawn[chosen]]].clip(*limits)
        axes.plot(*shown, "o", color=color, markersize=6 if len(chosen) < 400 else 4, mew=0, clip_on=False)
    if outside.any():
        text = axes.annotate(f"{outside.sum()} outside", (0.97, 0.03), xycoords="axes fraction", ha="right", zorder=3)
        text.set_bbox({"color": GROUND, "pad": 2})
    axes.grid()
    axes.locator_params(nbins=5)
    axes.set(xlim=limits, ylim=limits, xlabel="measured", ylabel="predicted", title=f"{panel.name}\n{panel.caption}")


def find_limits(target: FloatArray) -> Limits:
    """Return the limits shared by both axes, a little beyond the range of the target ``(n,)`` without wild values."""
    target = target[~find_wild(target)]
    low, high = float(target.min()), float(target.max())
    magnitude = max(abs(low), abs(high))
    spread = high - low
    extension = _EXTENSION * spread if spread > _EQUAL * magnitude else _WIDENING * (magnitude or 1.0)
    return low - extension, high + extension


def wrap_lines(lines: Sequence[str], length: int) -> list[str]:
    """Return a title and lines, broken into at most `MAX_ROWS` rows of at most ``length`` characters.

    A title that does not fit into a row, and lines that do not fit into the rows, end with an ellipsis.
    """
    title, *others = lines
    rows = [row for line in others for row in wrap(line, length, break_on_hyphens=False)]
    if len(rows) >= MAX_ROWS:
        rows[MAX_ROWS - 2 :] = [rows[MAX_ROWS - 2][: length - 1] + "…"]
    return [title if len(title) <= length else title[: length - 1] + "…", *rows]
