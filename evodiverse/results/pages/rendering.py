"""Rendering of the report pages from the templates next to this module.

A page loads no other files, and runs no script except its own. The templates escape every text; only values of the type
`Markup` are HTML. Then all unprintable characters of the page are replaced.
"""

import base64
import hashlib
import html
import re
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from evodiverse.runlog.runs import write_setting
from evodiverse.text import count_of, printable
from evodiverse.version import VERSION

GENERATOR: Final = f"evodiverse-report {VERSION}"
_FOLDER: Final = Path(__file__).parent / "templates"
# The characters that Markdown would take for a link, a picture, or the end of a cell.
_MARKDOWN: Final = re.compile(r"[\\\[\]|]|(?<=:)//|(?<=www)\.", re.IGNORECASE)
_UNPRINTABLE: Final = re.compile(r"[^ -~\n\t]")


def render(template: str, **values: Any) -> str:
    """Return a complete page.

    Args:
        template: The file name of the page's template.
        values: The values that the template refers to.
    """
    return legible(_ENVIRONMENT.get_template(template).render(values))


def legible(text: str) -> str:
    """Return text in which unprintable characters except newlines and tabs are replaced by ``�``."""
    return _UNPRINTABLE.sub(lambda found: printable(found[0]), text)


def escape_markdown(text: str) -> str:
    """Return text in which Markdown finds no tags, links or pictures, and no end of a cell."""
    return _MARKDOWN.sub(lambda special: f"\\{special[0]}", html.escape(text, quote=False))


def cut(text: str, most: int) -> str:
    """Return a text, cut after ``most`` characters with a note on how many were left out."""
    return text if len(text) <= most else f"{text[:most]} … ({count_of(len(text) - most, 'more character')})"


def number(value: float) -> str:
    """Return a number as people read it: a count as it is, any other number with four significant digits."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if 9999.5 <= abs(value) < 1e9 else f"{value:.4g}"


def sortable(text: str) -> str | int:
    """Return a text as a number if it is a whole number, so that a table sorts it by value."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def _load(name: str) -> tuple[Markup, str]:
    """Return the page's style or script, and the hash by which its content security policy knows it."""
    text = (_FOLDER / name).read_text(encoding="utf-8")
    return Markup(text), f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"  # noqa: S704


_ENVIRONMENT: Final = Environment(
    loader=FileSystemLoader(_FOLDER),
    autoescape=select_autoescape(["html"]),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {"count": count_of, "cut": cut, "read": number, "sortable": sortable, "setting": write_setting}
_ENVIRONMENT.globals |= {"style": _load("page.css"), "script": _load("page.js"), "generator": GENERATOR}
