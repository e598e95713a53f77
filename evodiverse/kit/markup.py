"""HTML, SVG and MathML built element by element, so that no text of others can be taken for markup."""

import base64
import html
from collections.abc import Iterable
from typing import TypeAlias


class Markup(str):
    """Text that is markup. Only this module makes it from other text, which it escapes."""

    __slots__ = ()


Content: TypeAlias = str | Markup | None


def tag(name: str, /, *contents: Content, **attributes: str | float | None) -> Markup:
    """Return an element.

    Args:
        name: Of the element.
        contents: What it holds, in order: markup as it is, other text escaped, nothing for None.
        attributes: Those that are None are left out. A trailing underscore is dropped and others become hyphens.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(legible(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{join(contents)}</{name}>")


def void(name: str, /, **attributes: str | float | None) -> Markup:
    """Return an element that holds nothing and has no end, such as ``input``."""
    return Markup(tag(name, **attributes).removesuffix(f"</{name}>"))


def join(contents: Iterable[Content]) -> Markup:
    """Return what stands one after the other, text escaped."""
    return Markup(
        "".join(each if isinstance(each, Markup) else html.escape(legible(each)) for each in contents if each)
    )


def picture(svg: str, alternative: str) -> Markup:
    """Return an SVG as an image, in which a browser runs no script and loads nothing, whatever it holds."""
    encoded = base64.b64encode(svg.encode()).decode()
    return void("img", src=f"data:image/svg+xml;base64,{encoded}", alt=alternative, loading="lazy")


def legible(text: str) -> str:
    """Return text in which line ends and tabs alone are no printable characters; others become ``�``."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )
