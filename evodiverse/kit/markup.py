"""HTML, SVG and MathML built element by element, so that text from elsewhere is never taken for markup."""

import base64
import html
from collections.abc import Iterable
from typing import TypeAlias


class Markup(str):
    """Text that is already markup. Text from elsewhere becomes markup only through this module, which escapes it."""

    __slots__ = ()


Content: TypeAlias = str | Markup | None


def tag(name: str, /, *contents: Content, **attributes: str | float | None) -> Markup:
    """Return an element.

    Args:
        name: The name of the element.
        contents: The content of the element, in order. Markup is kept as it is, other text is escaped, and None is
            skipped.
        attributes: The attributes by name; None is skipped. In a name, a trailing underscore is dropped and any other
            underscore becomes a hyphen.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(legible(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{join(contents)}</{name}>")


def void(name: str, /, **attributes: str | float | None) -> Markup:
    """Return an element without content or an end tag, such as ``input``."""
    return Markup(tag(name, **attributes).removesuffix(f"</{name}>"))


def join(contents: Iterable[Content]) -> Markup:
    """Return the concatenation of contents, with text escaped."""
    return Markup(
        "".join(each if isinstance(each, Markup) else html.escape(legible(each)) for each in contents if each)
    )


def picture(svg: str, alternative: str) -> Markup:
    """Return an SVG as an image element, in which a browser never runs scripts or loads other files.

    Args:
        svg: The source of the SVG.
        alternative: The text for readers who cannot see the image.
    """
    encoded = base64.b64encode(svg.encode()).decode()
    return void("img", src=f"data:image/svg+xml;base64,{encoded}", alt=alternative, loading="lazy")


def legible(text: str) -> str:
    """Return text in which unprintable characters except newlines and tabs are replaced by ``�``."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )
