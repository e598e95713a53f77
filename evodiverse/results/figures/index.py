"""The page that lists all figures, and the runs that are missing for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evodiverse.results.figures.missing import Lack
from evodiverse.results.figures.reading import FigureKind, Picture
from evodiverse.text import printable

INDEX = "README.md"
_MARKUP = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>|#!"})


@dataclass(frozen=True, slots=True)
class Entry:
    """What the index page (``README.md``) and the terminal show about a figure.

    Attributes:
        kind: The kind of figure.
        pictures: The pictures of the figure that were drawn.
        lacks: The missing runs, one item per model or baseline.
        needs: A sentence about what must be installed for the figure; None if nothing is missing.
    """

    kind: FigureKind
    pictures: Sequence[Picture]
    lacks: Sequence[Lack]
    needs: str | None = None


def to_page(entries: Sequence[Entry], names: Mapping[str, str], facts: Sequence[str]) -> str:
    """Return the page (``README.md``) as Markdown.

    Args:
        entries: All figures, in the order of the page.
        names: For each `Picture.name`, the name of the picture's files without the suffix.
        facts: Sentences about the runs that were read.
    """
    lines = ["# Figures", "", *(f"- {_plain(fact)}" for fact in facts), ""]
    for title, chosen in _parts(entries):
        lines += [f"## {title}", ""]
        for entry in chosen:
            lines += [*_describe(entry, names), ""]
    return "\n".join(lines)


def _parts(entries: Sequence[Entry]) -> list[tuple[str, list[Entry]]]:
    return [
        ("The paper's figures", [entry for entry in entries if entry.kind.wanted is not None]),
        ("Ours", [entry for entry in entries if entry.kind.wanted is None]),
    ]


def _describe(entry: Entry, names: Mapping[str, str]) -> list[str]:
    label = f" (`{entry.kind.label}`)" if entry.kind.label else ""
    lines = [f"### {entry.kind.name}: {entry.kind.title}{label}", ""]
    if entry.needs:
        lines += [_plain(entry.needs), ""]
    for picture in entry.pictures:
        name = names[picture.name]
        lines += [f"![{name}]({name}.png)", "", f"[{name}.svg]({name}.svg). {_plain(picture.caption)}", ""]
    if not entry.pictures and not entry.needs:
        lines += ["There are no runs for this figure yet.", ""]
    for lack in entry.lacks:
        lines += [f"Missing for {_plain(lack.of)}: {_plain(lack.what)}", "", *_code(lack.commands), ""]
    if not entry.pictures and entry.kind.example:
        lines += ["For example, run", "", *_code([entry.kind.example]), ""]
    return lines[:-1]


def _code(commands: Sequence[str]) -> list[str]:
    return [f"    {printable(command)}" for command in commands]


def _plain(text: str) -> str:
    """Return a text with Markdown's special characters escaped, so that Markdown shows them literally."""
    return printable(text).translate(_MARKUP)


def to_lines(entries: Sequence[Entry]) -> list[str]:
    """Return lines for a terminal: for each figure, its state, its missing runs and the commands that start them."""
    lines = []
    for entry in entries:
        drawn = f"{len(entry.pictures)} drawn" if entry.pictures else entry.needs or "no runs for it yet"
        lines.append(printable(f"{entry.kind.name}: {drawn}"))
        for lack in entry.lacks:
            lines.append(printable(f"    missing for {lack.of}: {lack.what}"))
            lines += [printable(f"        {command}") for command in lack.commands]
        if not entry.pictures and entry.kind.example:
            lines.append(printable(f"        {entry.kind.example}"))
    return lines
