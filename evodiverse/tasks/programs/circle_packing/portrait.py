"""The picture of a circle packing as SVG, for reports."""

from typing import Final

from markupsafe import Markup

from evodiverse.kit.svg import embed_svg
from evodiverse.tasks.programs.circle_packing.view import read_packing

_SIDE: Final = 240
_MARGIN: Final = 4
_MOST_CIRCLES: Final = 2_000  # so that pages stay small
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
    try:
        centers, radii = read_packing(text)
    except ValueError:
        return None
    if len(radii) > _MOST_CIRCLES:
        return None
    largest = radii.max() or 1.0
    drawn = [
        f'<circle cx="{_MARGIN + x * _SIDE:.3f}" cy="{_MARGIN + (1 - y) * _SIDE:.3f}" r="{radius * _SIDE:.3f}" '
        f'fill="hsl(203, 55%, {88 - 45 * radius / largest:.0f}%)"/>'
        for (x, y), radius in zip(centers, radii, strict=True)
    ]
    svg = _SVG.format(size=_SIDE + 2 * _MARGIN, margin=_MARGIN, side=_SIDE, circles="\n".join(drawn))
    return embed_svg(svg, f"{len(radii)} circles in the unit square, sum of radii {radii.sum():.6f}")
