"""Reading circle packings from logs, and drawing them."""

import json
from collections.abc import Collection
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Rectangle
from numpy.typing import NDArray

from evodiverse.errors import InputError
from evodiverse.results.figures.style import INK
from evodiverse.runlog.runs import Run

FloatArray = NDArray[np.float64]
_DARKEST: Final = np.array([0.14, 0.21, 0.45])
_LIGHTEST: Final = np.array([0.88, 0.93, 0.85])
_MOST_BYTES: Final = 1 << 20
_MOST_CIRCLES: Final = 10_000


def read_packings(run: Run, calls: Collection[int]) -> dict[int, FloatArray]:
    """Return the packings that some oracle calls of a run evaluated, by call, each as ``(n, 3)``: x, y and radius.

    Raises:
        InputError: The log has no valid packing for one of the calls.
    """
    columns = run.columns("evaluations", ["call"], {"packing": str})
    texts = dict(zip(columns["call"], columns["packing"], strict=True))
    return {call: _read(run, call, texts.get(call)) for call in calls}


def _read(run: Run, call: int, text: Any) -> FloatArray:
    try:
        if not isinstance(text, str) or len(text) > _MOST_BYTES:
            raise ValueError("it is missing or too long")  # noqa: TRY301
        packing = json.loads(text)
        centers, radii = (np.array(packing[name], dtype=np.float64) for name in ("centers", "radii"))
        circles = np.column_stack([centers.reshape(-1, 2), radii])
        if not (0 < len(circles) <= _MOST_CIRCLES and np.isfinite(circles).all()):
            raise ValueError("its numbers do not describe circles")  # noqa: TRY301
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(
            f"{run.path} has no valid packing for call {call} ({error}); run it again with overwrite=true"
        ) from error
    return circles


def draw_packing(axes: Axes, circles: FloatArray) -> None:
    """Draw ``(n, 3)`` circles in the unit square; larger ones are darker."""
    axes.set_aspect("equal")
    axes.set_xlim(-0.01, 1.01)
    axes.set_ylim(-0.01, 1.01)
    axes.set_axis_off()
    axes.add_patch(Rectangle((0, 0), 1, 1, facecolor="white", edgecolor=INK, linewidth=0.8))
    smallest, largest = float(circles[:, 2].min()), float(circles[:, 2].max())
    for x, y, radius in circles.tolist():
        share = (radius - smallest) / (largest - smallest) if largest - smallest > 1e-6 else 0.5
        color = tuple((_LIGHTEST + share * (_DARKEST - _LIGHTEST)).tolist())
        axes.add_patch(Circle((x, y), radius, facecolor=color, edgecolor=INK, linewidth=0.5))
