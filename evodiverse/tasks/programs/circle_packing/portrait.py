"""The picture of a circle packing as SVG, for reports."""

import json
from typing import Final

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from evodiverse.kit.svg import embed_svg

_SIDE: Final = 240
_MARGIN: Final = 4
_MOST_CIRCLES: Final = 2_000
_MOST_CHARACTERS: Final = 400_000
_SVG: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" width="{size}" height="{size}" stroke="#162238">
<rect x="{margin}" y="{margin}" width="{side}" height="{side}" fill="#f6f6f3" stroke-width="1.5"/>
{circles}
</svg>"""


def draw_packing(text: str) -> Markup | None:
    """Return a picture of circles in the unit square, larger ones darker, or None if the text holds no packing.

    Args:
        text: A value of the column ``packing``: JSON with ``centers``, which are pairs, and ``radii``.
    """
    circles = _read_circles(text)
    if not len(circles):
        return None
    largest = circles[:, 2].max() or 1.0
    drawn = [
        f'<circle cx="{_MARGIN + x * _SIDE:.3f}" cy="{_MARGIN + (1 - y) * _SIDE:.3f}" r="{radius * _SIDE:.3f}" '
        f'fill="hsl(203, 55%, {88 - 45 * radius / largest:.0f}%)"/>'
        for x, y, radius in circles
    ]
    svg = _SVG.format(size=_SIDE + 2 * _MARGIN, margin=_MARGIN, side=_SIDE, circles="\n".join(drawn))
    return embed_svg(svg, f"{len(circles)} circles in the unit square, sum of radii {circles[:, 2].sum():.6f}")


def _read_circles(text: str) -> NDArray[np.float64]:
    """Return x, y and radius of ``n`` circles, as ``(n, 3)``; ``n`` is 0 if the text holds no packing."""
    try:
        packing = json.loads(text if len(text) <= _MOST_CHARACTERS else "")
        circles = np.column_stack([np.array(packing["centers"], float), np.array(packing["radii"], float)])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return np.zeros((0, 3))
    is_sound = circles.shape[1] == 3 and len(circles) <= _MOST_CIRCLES and bool((np.abs(circles) <= 2).all())
    return circles if is_sound and bool((circles[:, 2] >= 0).all()) else np.zeros((0, 3))
