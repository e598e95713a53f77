"""How a report shows an equation: in MathML with its constants, and by comparing its terms with those of a parent."""

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

from evodiverse.kit.markup import Markup, join, tag
from evodiverse.tasks.equations.operators.trees import NUMBER, PARAMETER, Node, TreeSizeError, read_tree
from evodiverse.tasks.equations.skeleton import PARAMS
from evodiverse.tasks.equations.terms import find_terms

_MOST_NODES: Final = 300
_SUM, _NEGATION, _PRODUCT, _POWER, _ATOM = range(5)
_FUNCTIONS: Final = {"absolute": "abs", "arctan2": "atan2"}
_SIGNS: Final = {"less": "<", "less_equal": "≤", "greater": ">", "greater_equal": "≥", "equal": "=", "not_equal": "≠"}


def portray(genotype: str, details: Mapping[str, Any]) -> Markup | None:
    """Return an equation in MathML with its fitted constants, or None if it is too large or not an equation.

    The constants have four significant digits. Since the log does not say how many the predictions need, the parameters
    follow with all their digits.

    Args:
        genotype: The skeleton of the equation.
        details: The candidate's row in the log, of which ``params`` is used. A constant missing there is shown as
            c with an index.
    """
    tree = _read(genotype)
    if tree is None or tree.size > _MOST_NODES:
        return None
    params = _read_params(details.get("params"))
    try:
        written, _ = _write(tree, params)
    except OverflowError:  # an integer too large for a float
        return None
    exact = tag("div", f"{PARAMS} = {params}", class_="genotype") if params else None
    return join([tag("math", written, display="block"), exact])


def tell_change(parents: Sequence[str], genotype: str) -> Markup | None:
    """Return the terms (see `find_terms`) that were added to the first parent, removed from it, or kept.

    None is returned if the first parent or the child (``genotype``) is too large or not an equation.
    """
    if _read(parents[0]) is None or _read(genotype) is None:
        return None
    before, after = find_terms(parents[0]), find_terms(genotype)
    changes = [("added", "+ ", after - before), ("removed", "− ", before - after), ("kept", "  ", after & before)]
    lines = [tag("span", f"{sign}{term}\n", class_=name) for name, sign, terms in changes for term in sorted(terms)]
    return tag("pre", *lines, class_="diff", tabindex=0)


def _read(genotype: str) -> Node | None:
    try:
        return read_tree(genotype)
    except (TreeSizeError, ValueError, SyntaxError, LookupError, RecursionError):
        return None


def _read_params(text: object) -> list[float]:
    """Return the fitted constants, or an empty list if the log has no list of finite numbers."""
    try:
        params = json.loads(text) if isinstance(text, str) else []
    except (ValueError, RecursionError):
        return []
    is_sound = isinstance(params, list) and all(isinstance(one, int | float) and isfinite(one) for one in params)
    return params if is_sound else []


def _write(node: Node, params: Sequence[float]) -> tuple[Markup, int]:
    """Return an expression in MathML, and how strongly it binds, from `_SUM` to `_ATOM`."""
    if node.operation == PARAMETER:
        index = int(node.value)
        if 0 <= index < len(params):
            return _write_number(params[index])
        return tag("msub", tag("mi", "c"), tag("mn", str(index))), _ATOM
    if node.operation == NUMBER:
        return _write_number(float(node.value))
    if not node.arguments:
        return tag("mi", str(node.value)), _ATOM
    parts = [_write(argument, params) for argument in node.arguments]
    if node.operation == "add" and (positive := _without_minus(node.arguments[1], params)) is not None:
        negated, binding = _write(positive, params)
        return tag("mrow", parts[0][0], tag("mo", "−"), _within((negated, binding), _PRODUCT)), _SUM
    return _write_operation(node.operation, parts)


def _without_minus(node: Node, params: Sequence[float]) -> Node | None:
    """Return an addend with its sign flipped, or None if it does not begin with a negative number."""
    if node.operation in {"multiply", "divide"}:
        first, second = node.arguments
        positive = _without_minus(first, params)
        return None if positive is None else Node(node.operation, (positive, second))
    if node.operation == PARAMETER and 0 <= int(node.value) < len(params):
        value: float = params[int(node.value)]
    elif node.operation == NUMBER:
        value = float(node.value)
    else:
        return None
    return Node(NUMBER, value=-value) if value < 0 else None


def _write_operation(operation: str, parts: Sequence[tuple[Markup, int]]) -> tuple[Markup, int]:
    (first, _), last = parts[0], parts[-1][0]
    if operation in {"add", "subtract"}:
        sign = "+" if operation == "add" else "−"
        second = _within(parts[1], _SUM if operation == "add" else _PRODUCT)
        return tag("mrow", first, tag("mo", sign), second), _SUM
    if operation == "negative":
        return tag("mrow", tag("mo", "−"), _within(parts[0], _PRODUCT)), _NEGATION
    if operation == "multiply":
        return tag("mrow", _within(parts[0], _NEGATION), tag("mo", "⋅"), _within(parts[1], _PRODUCT)), _PRODUCT
    if operation == "divide":
        return tag("mfrac", first, last), _PRODUCT
    if operation == "power":
        return tag("msup", _within(parts[0], _ATOM), last), _POWER
    if operation == "square":
        return tag("msup", _within(parts[0], _ATOM), tag("mn", "2")), _POWER
    if operation == "sqrt":
        return tag("msqrt", first), _ATOM
    if operation in _SIGNS:
        row = tag("mrow", _within(parts[0], _NEGATION), tag("mo", _SIGNS[operation]), _within(parts[1], _NEGATION))
        return _bracket(row), _ATOM
    name = _FUNCTIONS.get(operation, operation)
    inner: list[Markup] = []
    for at, (part, _) in enumerate(parts):
        inner += [tag("mo", ","), part] if at else [part]
    return tag("mrow", tag("mi", name), _bracket(tag("mrow", *inner))), _ATOM


def _write_number(value: float) -> tuple[Markup, int]:
    text = f"{abs(value):.4g}"
    digits, e, exponent = text.partition("e")
    written = tag("mn", digits)
    if e:
        power = tag("msup", tag("mn", "10"), tag("mn", str(int(exponent)).replace("-", "−")))
        written = tag("mrow", written, tag("mo", "×"), power)
    if value < 0:
        return tag("mrow", tag("mo", "−"), written), _NEGATION
    return written, _PRODUCT if e else _ATOM


def _within(part: tuple[Markup, int], least: int) -> Markup:
    """Return an expression, in parentheses if it binds less strongly than its place requires."""
    written, binding = part
    return written if binding >= least else _bracket(written)


def _bracket(inner: Markup) -> Markup:
    return tag("mrow", tag("mo", "("), inner, tag("mo", ")"))
