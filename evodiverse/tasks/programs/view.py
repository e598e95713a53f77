"""The view of programs: pictures of their results, and their line-by-line differences from their parents."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup

from evodiverse.kit.pictures import Axes
from evodiverse.ports import Sheet
from evodiverse.tasks.programs.circle_packing import view
from evodiverse.tasks.programs.feedback import FEEDBACK, OUTPUT, SECONDS, STAGE
from evodiverse.text import count_of

_MOST_LINES: Final = 400
_CLASSES: Final = {"+": "added", "-": "removed", "@": "place"}
_LINE: Final = Markup('<span class="{}">{}\n</span>')


def report_columns(settings: Mapping[str, Any], logged: Mapping[str, type]) -> dict[str, type]:  # noqa: ARG001
    """Return the numbers of programs in the log, the texts about them, and the packing that a report draws."""
    texts = ("packing", FEEDBACK, OUTPUT, STAGE)
    return {name: kind for name, kind in logged.items() if kind is float or name in texts}


def portray(genotype: str, details: Mapping[str, Any]) -> Markup | None:  # noqa: ARG001 (the report shows the source itself)
    """Return a picture of the packing in the logged columns ``details``; None if they hold none that can be drawn."""
    return view.write_svg(str(details.get("packing")))


def annotate(details: Mapping[str, Any]) -> dict[str, str]:
    """Return the feedback on a program and the end of its output, as far as the log has them."""
    texts = {name: details.get(name) for name in (FEEDBACK, OUTPUT)}
    return {name: text for name, text in texts.items() if text and isinstance(text, str)}


def tabulate(evaluated: Sequence[Mapping[str, Any]]) -> Sheet | None:
    """Return how many programs ran and failed in each stage, and how long that took; None without stages."""
    lines: list[Sequence[str | float | None]] = []
    for stage in [name.removeprefix(SECONDS) for name in evaluated[0] if name.startswith(SECONDS)] if evaluated else []:
        seconds = [row[f"{SECONDS}{stage}"] for row in evaluated if row[f"{SECONDS}{stage}"] is not None]
        n_failed = sum(row.get(STAGE) == stage and not row["valid"] for row in evaluated)
        lines.append((stage, len(seconds), n_failed, sum(seconds)))
    return Sheet("stages", ("stage", ">programs", ">failed", ">seconds"), lines) if lines else None


def draw(axes: Axes, genotype: str, details: Mapping[str, Any]) -> None:  # noqa: ARG001 (the result is drawn)
    """Draw the packing in the logged columns ``details`` on axes.

    Raises:
        ValueError: There is no packing that can be drawn.
    """
    view.draw(axes, view.read_packing(str(details.get("packing"))))


def tell_change(parents: Sequence[str], genotype: str) -> Markup | None:
    """Return the line-by-line difference of a child from its first parent; None if either is a very long program."""
    before, after = parents[0].splitlines(), genotype.splitlines()
    if max(len(before), len(after)) > 10 * _MOST_LINES:
        return None
    lines = list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]
    left_out = len(lines) - _MOST_LINES
    shown = [_LINE.format(_CLASSES.get(line[:1], "same"), line) for line in lines[:_MOST_LINES]]
    if left_out > 0:
        shown.append(_LINE.format("place", f"… {count_of(left_out, 'more line')}"))
    return Markup('<pre class="diff" tabindex="0">{}</pre>').format(Markup().join(shown) or "no line differs")
