"""The view of equations: in MathML with their constants, with their terms compared, and those chosen at the end."""

import csv
import io
import itertools
import json
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from evodiverse.kit.files import read_file, read_json
from evodiverse.ports import Highlight
from evodiverse.tasks.equations.operators.trees import COMPARISONS, Node, read_tree
from evodiverse.tasks.equations.parsing import find_terms
from evodiverse.tasks.equations.skeleton import PARAMS

_MOST_NODES: Final = 300
_MOST_BYTES: Final = 1 << 20
_MOST_LINES: Final = 50
_MOST_CHARACTERS: Final = 500
_SPLITS: Final = {"train": "in training", "held": "on held-back rows", "id": "on test rows", "ood": "out of domain"}
_FRONT: Final = {
    "complexity": ">complexity",
    **{f"nmse_{name}": f">error {title}" for name, title in _SPLITS.items()},
    "call": ">call",
    "equation": "equation",
}
"""The columns of ``hall_of_fame.csv`` that a report shows, with their headings."""

_SUM, _NEGATION, _PRODUCT, _POWER, _ATOM = range(5)
_FORMS: Final[Mapping[str, tuple[str, tuple[int, ...], int]]] = {
    "add": ("<mrow>{}<mo>+</mo>{}</mrow>", (_SUM, _SUM), _SUM),
    "subtract": ("<mrow>{}<mo>−</mo>{}</mrow>", (_SUM, _PRODUCT), _SUM),
    "negative": ("<mrow><mo>−</mo>{}</mrow>", (_PRODUCT,), _NEGATION),
    "multiply": ("<mrow>{}<mo>⋅</mo>{}</mrow>", (_NEGATION, _PRODUCT), _PRODUCT),
    "divide": ("<mfrac>{}{}</mfrac>", (_SUM, _SUM), _PRODUCT),
    "power": ("<msup>{}{}</msup>", (_ATOM, _SUM), _POWER),
    "square": ("<msup>{}<mn>2</mn></msup>", (_ATOM,), _POWER),
    "sqrt": ("<msqrt>{}</msqrt>", (_SUM,), _ATOM),
    **{
        name: (f"<mrow><mo>(</mo>{{}}<mo>{sign}</mo>{{}}<mo>)</mo></mrow>", (_NEGATION, _NEGATION), _ATOM)
        for name, sign in zip(COMPARISONS, ("&lt;", "≤", "&gt;", "≥", "≠", "="), strict=True)
    },
}
"""The MathML of an operation, how strongly its operands must bind to need no parentheses, and how strongly it binds."""

_NO_EQUATION: Final = (ValueError, SyntaxError, LookupError, RecursionError)
_BRACKETS: Final = Markup("<mrow><mo>(</mo>{}<mo>)</mo></mrow>")
_LINE: Final = Markup('<span class="{}">{}\n</span>')


def report_columns(settings: Mapping[str, Any], logged: Mapping[str, type]) -> dict[str, type]:  # noqa: ARG001
    """Return the columns that a report shows: the constants of an equation, and its error on the held-back rows."""
    return {"params": str, "nmse_held": float}


def portray(genotype: str, details: Mapping[str, Any]) -> Markup | None:
    """Return an equation in MathML with its fitted constants, or None if it is too large or not an equation.

    The constants have four significant digits. Since the log does not say how many the predictions need, the parameters
    follow with all their digits.

    Args:
        genotype: The skeleton of the equation.
        details: The candidate's row in the log, of which ``params`` is used. A constant missing there is shown as
            c with an index.
    """
    try:
        tree, params = read_tree(genotype), json.loads(details.get("params") or "[]")
        if tree.size > _MOST_NODES:
            return None
        written, _ = _write(tree.replace_parameters(lambda leaf: _fill(leaf, params)))
    except (*_NO_EQUATION, OverflowError, TypeError):  # OverflowError: an integer too large for a float
        return None
    exact = Markup('<div class="genotype">{} = {}</div>').format(PARAMS, params) if params else ""
    return Markup('<math display="block">{}</math>{}').format(written, exact)


def tell_change(parents: Sequence[str], genotype: str) -> Markup | None:
    """Return the terms (see `find_terms`) that were added to the first parent, removed from it, or kept.

    None is returned if the first parent or the child (``genotype``) is too large or not an equation.
    """
    try:
        for source in (parents[0], genotype):
            read_tree(source)
    except _NO_EQUATION:
        return None
    before, after = find_terms(parents[0]), find_terms(genotype)
    changes = [("added", "+ ", after - before), ("removed", "− ", before - after), ("kept", "  ", after & before)]
    lines = [_LINE.format(name, sign + term) for name, sign, terms in changes for term in sorted(terms)]
    return Markup('<pre class="diff" tabindex="0">{}</pre>').format(Markup().join(lines))


def highlight(ranked: Sequence[Mapping[str, Any]], folder: Path) -> Highlight | None:
    """Return the equation that the task chose, with its errors, and the front of error against complexity.

    They are in ``equation.json`` and ``hall_of_fame.csv``. None is returned if one of these files is absent or damaged.
    """
    try:
        about = read_json(folder / "equation.json", _MOST_BYTES)
        text = io.StringIO(read_file(folder / "hall_of_fame.csv", _MOST_BYTES).decode())
        lines = list(itertools.islice(csv.DictReader(text), _MOST_LINES))
    except (OSError, ValueError, csv.Error):
        return None
    marks = {"1": "chosen"}
    front = [[*(_read_cell(line.get(name)) for name in _FRONT), marks.get(line.get("chosen", ""))] for line in lines]
    calls = [row["call"] for row in ranked if row["call"] == about.get("call")]
    known = {title: about.get(f"nmse_{name}") for name, title in _SPLITS.items()}
    errors = [f"{value:.4g} {title}" for title, value in known.items() if isinstance(value, float)]
    note = f"The error (NMSE) of the chosen equation is {', '.join(errors)}." if calls and errors else ""
    reasons = about.get("no_error")
    for name, why in reasons.items() if isinstance(reasons, dict) and note else ():
        note += f" It has none {_SPLITS.get(name, name)}: {str(why)[:_MOST_CHARACTERS]}."
    caption = "Front of error against complexity"
    return Highlight("Chosen equation", note, calls, caption, [*_FRONT.values(), ""], front) if calls else None


def _read_cell(text: str | None) -> str | float | None:
    """Return a cell of a file as a finite number or the start of a text; None for any other value."""
    try:
        value = float(text or "")
    except (TypeError, ValueError):
        return str(text or "")[:_MOST_CHARACTERS] or None
    return value if isfinite(value) else None


def _fill(leaf: Node, params: Sequence[float]) -> Node:
    """Return the fitted constant in place of a parameter, or the parameter itself if it has none."""
    return Node("number", value=params[int(leaf.value)]) if int(leaf.value) < len(params) else leaf


def _write(node: Node) -> tuple[Markup, int]:
    """Return an expression in MathML, and how strongly it binds, from `_SUM` to `_ATOM`."""
    operation, arguments = node.operation, node.arguments
    if operation == "number":
        return _write_number(float(node.value))
    if operation == "parameter":
        return Markup("<msub><mi>c</mi><mn>{}</mn></msub>").format(node.value), _ATOM
    if not arguments:
        return Markup("<mi>{}</mi>").format(node.value), _ATOM
    if operation == "add" and (positive := _without_minus(arguments[1])) is not None:
        operation, arguments = "subtract", (arguments[0], positive)
    parts = [_write(argument) for argument in arguments]
    if operation in _FORMS:
        form, least, binding = _FORMS[operation]
        return Markup(form).format(*map(_within, parts, least)), binding  # noqa: S704 (of `_FORMS`)
    inner = Markup("<mrow>{}</mrow>").format(Markup("<mo>,</mo>").join(part for part, _ in parts))
    name = {"absolute": "abs", "arctan2": "atan2"}.get(operation, operation)
    return Markup("<mrow><mi>{}</mi>{}</mrow>").format(name, _BRACKETS.format(inner)), _ATOM


def _without_minus(node: Node) -> Node | None:
    """Return an addend with its sign flipped, or None if it does not begin with a negative number."""
    if node.operation in {"multiply", "divide"}:
        first, second = node.arguments
        positive = _without_minus(first)
        return positive and Node(node.operation, (positive, second))
    is_negative = node.operation == "number" and float(node.value) < 0
    return Node("number", value=-float(node.value)) if is_negative else None


def _write_number(value: float) -> tuple[Markup, int]:
    digits, e, exponent = f"{abs(value):.4g}".partition("e")
    written = Markup("<mn>{}</mn>").format(digits)
    if e:
        power = Markup("<mrow>{}<mo>×</mo><msup><mn>10</mn><mn>{}</mn></msup></mrow>")
        written = power.format(written, str(int(exponent)).replace("-", "−"))
    if value < 0:
        return Markup("<mrow><mo>−</mo>{}</mrow>").format(written), _NEGATION
    return written, _PRODUCT if e else _ATOM


def _within(part: tuple[Markup, int], least: int) -> Markup:
    """Return an expression, in parentheses if it binds less strongly than its place requires."""
    written, binding = part
    return written if binding >= least else _BRACKETS.format(written)
