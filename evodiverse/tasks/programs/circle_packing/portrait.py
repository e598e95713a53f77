"""The picture of a circle packing as SVG, for reports."""

import json
from math import isfinite
from typing import Final

from markupsafe import Markup

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
    if not circles:
        return None
    largest = max(radius for _, _, radius in circles) or 1.0
    drawn = [
        f'<circle cx="{_MARGIN + x * _SIDE:.3f}" cy="{_MARGIN + (1 - y) * _SIDE:.3f}" r="{radius * _SIDE:.3f}" '
        f'fill="hsl(203, 55%, {88 - 45 * radius / largest:.0f}%)"/>'
        for x, y, radius in circles
    ]
    svg = _SVG.format(size=_SIDE + 2 * _MARGIN, margin=_MARGIN, side=_SIDE, circles="\n".join(drawn))
    total = sum(radius for _, _, radius in circles)
    return embed_svg(svg, f"{len(circles)} circles in the unit square, sum of radii {total:.6f}")


def _read_circles(text: str) -> list[tuple[float, float, float]]:
    """Return x, y and radius of each circle; empty if the text holds no packing."""
    if len(text) > _MOST_CHARACTERS:
        return []
    try:
        packing = json.loads(text)
        circles = [
            (float(x), float(y), float(radius))
            for (x, y), radius in zip(packing["centers"], packing["radii"], strict=True)
        ]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return []
    is_sound = len(circles) <= _MOST_CIRCLES and all(
        isfinite(value) and abs(value) <= 2 for circle in circles for value in circle
    )
    return circles if is_sound and all(radius >= 0 for *_, radius in circles) else []
