"""The view of a circle packing: read from the log, and drawn on axes of matplotlib or as the picture in ``best/``."""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from markupsafe import Markup

from evodiverse.kit.pictures import GROUND, INK, Axes, color_map, embed_svg, new_figure, styled, to_png
from evodiverse.tasks.programs.circle_packing.packing import FloatArray

MOST_CIRCLES: Final = 2_000  # so that pages stay small
_LARGEST: Final = 2.0  # of all numbers, so that what is drawn stays near the unit square
_EQUAL: Final = 1e-6  # the least range of radii that the color scale covers, so that rounding does not show
_MIN_LABELED: Final = 0.015  # the smallest radius of a circle with a number
_SIDE: Final = 880  # pixels
_SVG: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 248 248" width="248" height="248" stroke="#162238">
<rect x="4" y="4" width="240" height="240" fill="#f6f6f3" stroke-width="1.5"/>
{}
</svg>"""


class Packing(NamedTuple):
    """Circles in the unit square.

    Attributes:
        centers: ``(n, 2)`` centers, n ≥ 1.
        radii: ``(n,)`` radii, at least 0.
    """

    centers: FloatArray
    radii: FloatArray


def read_packing(text: str) -> Packing:
    """Return the packing in a value of the column ``packing``: JSON with ``centers``, which are pairs, and ``radii``.

    The numbers are exact. The text is not trusted, since logs may come from elsewhere.

    Raises:
        ValueError: The text holds no packing, one of more than `MOST_CIRCLES`, or one far from the unit square.
    """
    try:
        read = json.loads(text)
        centers, radii = (np.array(read[name], dtype=np.float64) for name in ("centers", "radii"))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ValueError(f"it is not a packing: {type(error).__name__}") from error
    is_listed = radii.ndim == 1 and 0 < len(radii) <= MOST_CIRCLES and centers.shape == (len(radii), 2)
    if not (is_listed and (abs(centers) <= _LARGEST).all() and (radii >= 0).all() and (radii <= _LARGEST).all()):
        raise ValueError(f"it is not a list of up to {MOST_CIRCLES:,} circles near the unit square")
    return Packing(centers, radii)


def draw(axes: Axes, packing: Packing, line: float = 0.6) -> Any:
    """Draw the unit square and the circles, with the origin at the lower left; larger circles are darker.

    Args:
        axes: The axes to draw on; their limits and frame are replaced.
        packing: The packing to draw.
        line: The width of outlines, in points.

    Returns:
        The circles, a ``PatchCollection``, which are colored by their radii.
    """
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle, Rectangle

    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.set_axis_off()
    axes.add_patch(Rectangle((0, 0), 1, 1, facecolor=GROUND, edgecolor=INK, linewidth=2 * line, clip_on=False))
    patches = [Circle((x, y), radius) for (x, y), radius in zip(*packing, strict=True)]
    circles = PatchCollection(patches, cmap=color_map(), edgecolor=INK, linewidth=line, clip_on=False)
    circles.set_array(packing.radii)
    circles.set_clim(packing.radii.min(), max(packing.radii.max(), packing.radii.min() + _EQUAL))
    axes.add_collection(circles)
    return circles


@styled()
def draw_picture(packing: Packing, lines: Sequence[str]) -> bytes:
    """Return a PNG of a packing, with numbers in the circles where there is room, and a scale of the radii.

    Args:
        packing: The packing to draw.
        lines: The lines of text; see `to_png`.
    """
    figure, (axes,) = new_figure(_SIDE)
    circles = draw(axes, packing, line=1.25)
    are_light = circles.to_rgba(packing.radii)[:, :3] @ (0.299, 0.587, 0.114) > 0.5
    for number, ((x, y), radius, is_light) in enumerate(zip(*packing, are_light, strict=True)):
        if radius >= _MIN_LABELED:
            axes.text(x, y, str(number), color=INK if is_light else "white", ha="center", va="center_baseline")
    ends = [packing.radii.min(), packing.radii.max()]
    figure.colorbar(circles, cax=axes.inset_axes((1.02, 0, 0.02, 0.3)), ticks=ends, format="r = %.4f")
    return to_png(figure, lines)


def write_svg(text: str) -> Markup | None:
    """Return a picture of circles in the unit square, larger ones darker, or None if the text holds no packing.

    Args:
        text: A value of the column ``packing``: JSON with ``centers``, which are pairs, and ``radii``.
    """
    try:
        centers, radii = read_packing(text)
    except ValueError:
        return None
    largest = radii.max() or 1.0
    drawn = [
        f'<circle cx="{4 + 240 * x:.3f}" cy="{244 - 240 * y:.3f}" r="{240 * radius:.3f}" '
        f'fill="hsl(203, 55%, {88 - 45 * radius / largest:.0f}%)"/>'
        for (x, y), radius in zip(centers, radii, strict=True)
    ]
    svg = _SVG.format("\n".join(drawn))
    return embed_svg(svg, f"{len(radii)} circles in the unit square, sum of radii {radii.sum():.6f}")
