"""SVG drawings inside HTML pages."""

import base64

from markupsafe import Markup

_IMAGE = Markup('<img src="data:image/svg+xml;base64,{}" alt="{}" loading="lazy">')


def embed_svg(svg: str, alternative: str) -> Markup:
    """Return an SVG as an image element, in which a browser never runs scripts or loads other files.

    Args:
        svg: The source of the SVG.
        alternative: The text for readers who cannot see the image.
    """
    return _IMAGE.format(base64.b64encode(svg.encode()).decode(), alternative)
