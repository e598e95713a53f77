"""The frame of every report page. A page loads no other files, and runs no script except its own."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evodiverse.kit.markup import Content, Markup, join, tag, void
from evodiverse.text import count_of
from evodiverse.version import VERSION

_FOLDER: Final = Path(__file__).parent
_STYLE: Final = (_FOLDER / "page.css").read_text(encoding="utf-8")
_SCRIPT: Final = (_FOLDER / "page.js").read_text(encoding="utf-8")
GENERATOR: Final = f"evodiverse-report {VERSION}"


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page. Links to the section use its name."""

    name: str
    title: str
    contents: Sequence[Content]


def build_page(title: str, lead: Content, sections: Sequence[Section]) -> str:
    """Return a complete HTML page.

    Args:
        title: The heading of the page.
        lead: The content below the heading.
        sections: The sections of the page; those without contents are left out.
    """
    shown = [section for section in sections if any(section.contents)]
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_hash(_STYLE)}'",
            f"script-src '{_hash(_SCRIPT)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    head = tag(
        "head",
        void("meta", charset="utf-8"),
        void("meta", http_equiv="Content-Security-Policy", content=policy),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        void("meta", name="generator", content=GENERATOR),
        void("link", rel="icon", href="data:,"),
        tag("title", f"{title} · EvoDiverse"),
        tag("style", Markup(_STYLE)),
    )
    contents = tag(
        "nav", *(tag("a", section.title, href=f"#{section.name}") for section in shown), aria_label="Sections"
    )
    body = tag(
        "body",
        tag("header", tag("h1", title), lead, contents if len(shown) > 1 else None),
        tag("main", *map(_section, shown)),
        tag("script", Markup(_SCRIPT)),
    )
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def facts(pairs: Sequence[tuple[str, Content]]) -> Markup:
    """Return a description list of names and contents."""
    return tag("dl", *(join([tag("dt", name), tag("dd", value)]) for name, value in pairs))


def table(
    names: Sequence[str], lines: Sequence[Sequence[Content | float | int]], label: str, *, searchable: bool = False
) -> Markup:
    """Return a table that can be sorted by any column, by click or keyboard.

    Args:
        names: The headings of the columns.
        lines: The cells of each row; numbers are right-aligned and sorted by value.
        label: The name of the table for screen readers.
        searchable: Whether to add a field that filters the rows and a button that copies them.
    """
    numeric = [any(isinstance(line[at], int | float) for line in lines) for at in range(len(names))]
    heads = (
        tag("th", tag("button", name, type="button"), scope="col", class_="number" if is_numeric else None)
        for name, is_numeric in zip(names, numeric, strict=True)
    )
    head = tag("tr", *heads)
    rows = [tag("tr", *map(_cell, line)) for line in lines]
    drawn = tag("table", tag("thead", head), tag("tbody", *rows), aria_label=label)
    tools = tag(
        "div",
        tag("label", "Filter ", void("input", type="search", class_="filter", placeholder="text in any column")),
        tag("button", "Copy rows", type="button", class_="copy"),
        tag("output", count_of(len(lines), "row"), class_="count"),
        class_="tools",
    )
    inner = tag("div", drawn, class_="scroll", tabindex=0, role="group", aria_label=label)
    return tag("div", tools if searchable else None, inner, class_="tabled")


def cut(text: str, most: int) -> str:
    """Return a text, cut after ``most`` characters with a note on how many were left out."""
    return text if len(text) <= most else f"{text[:most]} … ({count_of(len(text) - most, 'more character')})"


def number(value: float) -> str:
    """Return a number as tables show it."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def _cell(value: Content | float) -> Markup:
    if isinstance(value, int | float):
        return tag("td", number(value), class_="number", data_value=repr(value))
    return tag("td", value or "–")


def _section(section: Section) -> Markup:
    heading = f"{section.name}-title"
    return tag(
        "section", tag("h2", section.title, id=heading), *section.contents, id=section.name, aria_labelledby=heading
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
