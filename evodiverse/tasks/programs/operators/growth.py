"""Mutations that let programs grow and shrink, by arithmetic on the names that are available.

Each mutation is an `Edit` of one function of the module. Types are not known, so names and expressions count as numbers
or arrays of numbers if the source suggests it (`evodiverse.tasks.programs.operators.numeric`). If that guess is wrong,
the child fails and scores 0.
"""

import ast
from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import Any, Final, NamedTuple

import numpy as np

from evodiverse.kit.choice import pick
from evodiverse.tasks.programs.operators.numeric import Place, numeric_parts, places_in
from evodiverse.tasks.programs.operators.syntax import (
    Edit,
    Function,
    Path,
    declares_scope,
    functions_of,
    nodes_of,
    number,
    replace,
)

NAME_RATE: Final = 0.75
"""The probability that a new operand is a name rather than a number, if any name is available."""

SECOND_RATE: Final = 0.5
"""The probability that a new term is an operation on two operands rather than a single operand."""

_BINARY: Final[dict[type[ast.operator], float]] = {ast.Add: 2.0, ast.Sub: 2.0, ast.Mult: 2.0, ast.Div: 2.0}
_EXTREMES: Final = ("min", "max")
_ARRAY_EXTREMES: Final = {"min": "minimum", "max": "maximum"}
_CURVES: Final = ("abs", "sqrt", "exp", "log")
_ON_TWO: Final = (("binary", 8.0), ("extreme", 1.0), ("choice", 0.5))
_KINDS: Final = (*_ON_TWO, ("curve", 1.0))


class Library(NamedTuple):
    """The names under which a module imports numpy and math; None for a library that it does not import."""

    numpy: str | None
    math: str | None


class Grown(NamedTuple):
    """The places of numbers in a function that is to be changed, and the libraries that the function can use."""

    places: Sequence[Place]
    library: Library


def growth(fixed: frozenset[str]) -> dict[str, Edit]:
    """Return the mutation functions by kind.

    They leave the functions named in ``fixed`` unchanged.
    """
    kinds = {"grow": grow, "term": add_term, "bind": bind_name, "operand": change_operand, "shrink": shrink}
    return {name: partial(edit, fixed=fixed) for name, edit in kinds.items()}


def grow(tree: ast.Module, rng: np.random.Generator, *, fixed: frozenset[str] = frozenset()) -> ast.Module | None:
    """Replace an expression with an operation on the expression and a new operand, or on the expression alone.

    Functions named in ``fixed`` are left out. The result is None if the drawn function has no numeric expression.
    """
    grown = _draw_function(tree, rng, fixed)
    place = None if grown is None else _draw(grown.places, rng)
    if grown is None or place is None:
        return None
    return replace(tree, place.path, _operation(place.node, _operand(place.names, rng), grown.library, rng))


def add_term(tree: ast.Module, rng: np.random.Generator, *, fixed: frozenset[str] = frozenset()) -> ast.Module | None:
    """Add a term to a returned value, or subtract it; the term is an operand or an operation on two operands.

    Functions named in ``fixed`` are left out. The result is None if the drawn function returns no number.
    """
    grown = _draw_function(tree, rng, fixed)
    place = None if grown is None else _draw([place for place in grown.places if place.is_returned], rng)
    if grown is None or place is None:
        return None
    sign = ast.Add() if rng.random() < 0.5 else ast.Sub()
    return replace(tree, place.path, ast.BinOp(place.node, sign, _term(place.names, grown.library, rng)))


def bind_name(tree: ast.Module, rng: np.random.Generator, *, fixed: frozenset[str] = frozenset()) -> ast.Module | None:
    """Bind a new name to an operation on two operands, and use it in an expression of the statement that follows.

    Functions named in ``fixed`` are left out. The drawn function must have a statement that contains a numeric
    expression, and a name that may be a number must be bound before this statement. Otherwise, the result is None.
    """
    grown = _draw_function(tree, rng, fixed)
    place = None if grown is None else _draw([place for place in grown.places if place.outer_names], rng)
    if grown is None or place is None:
        return None
    name = _new_name(tree)
    one, other = (_operand(place.outer_names, rng) for _ in range(2))
    value = _operation(one, other, grown.library, rng)
    binding = ast.Assign([ast.Name(name, ast.Store())], value, lineno=0)
    joined = _operation(place.node, ast.Name(name, ast.Load()), grown.library, rng, _ON_TWO)
    block, position = place.block
    statements: list[ast.stmt] = _at(replace(tree, place.path, joined), block)
    return replace(tree, block, [*statements[:position], binding, *statements[position:]])


def change_operand(
    tree: ast.Module, rng: np.random.Generator, *, fixed: frozenset[str] = frozenset()
) -> ast.Module | None:
    """Replace a name or a number with another operand.

    The function to change is drawn from those that ``fixed`` does not name. The result is None if the drawn function
    has no name or number to replace, or if the new operand is the same as the old one.
    """
    grown = _draw_function(tree, rng, fixed)
    leaves = [] if grown is None else [one for one in grown.places if isinstance(one.node, (ast.Name, ast.Constant))]
    place = _draw(leaves, rng)
    if place is None:
        return None
    new = _operand(place.names, rng)
    return None if ast.dump(new) == ast.dump(place.node) else replace(tree, place.path, new)


def shrink(tree: ast.Module, rng: np.random.Generator, *, fixed: frozenset[str] = frozenset()) -> ast.Module | None:
    """Replace an expression with one of its operands.

    Functions named in ``fixed`` are left out. The result is None if the drawn function has no numeric expression with
    operands.
    """
    grown = _draw_function(tree, rng, fixed)
    compound = [] if grown is None else [place for place in grown.places if numeric_parts(place.node)]
    place = _draw(compound, rng)
    if place is None:
        return None
    parts = numeric_parts(place.node)
    return replace(tree, place.path, parts[rng.integers(len(parts))].node)


def _draw_function(tree: ast.Module, rng: np.random.Generator, fixed: frozenset[str]) -> Grown | None:
    """Draw a function that is not in ``fixed``, and find the numeric expressions in it.

    The probability of each function is proportional to its size. Functions with a ``global`` or ``nonlocal``
    statement are left out. The result is None if there is no function to draw from, or if the drawn one has no numeric
    expression.
    """
    last = functions_of(tree)
    functions = [
        (index, function)
        for index, function in enumerate(tree.body)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        and last[function.name] is function
        and function.name not in fixed
        and not declares_scope(function)
    ]
    if not functions:
        return None
    index, function = pick([(one, _size(one[1])) for one in functions], rng)
    places = places_in(function, ("body", index), tree)
    return Grown(places, _library(tree)) if places else None


def _size(function: Function) -> float:
    return float(sum(len(nodes_of(statement)) for statement in function.body))


def _draw(places: Sequence[Place], rng: np.random.Generator) -> Place | None:
    return places[int(rng.integers(len(places)))] if places else None


def _operand(names: Sequence[tuple[str, float]], rng: np.random.Generator) -> ast.expr:
    """Return a name, drawn by weight, or a number between 0.01 and 100."""
    if names and rng.random() < NAME_RATE:
        return ast.Name(pick(names, rng), ast.Load())
    if rng.random() < 0.5:
        return number(int(rng.integers(1, 11)))
    return number(float(f"{10 ** rng.uniform(-2, 2):.2g}"))


def _term(names: Sequence[tuple[str, float]], library: Library, rng: np.random.Generator) -> ast.expr:
    operand = _operand(names, rng)
    return _operation(operand, _operand(names, rng), library, rng) if rng.random() < SECOND_RATE else operand


def _operation(
    one: ast.expr,
    other: ast.expr,
    library: Library,
    rng: np.random.Generator,
    kinds: Sequence[tuple[str, float]] = _KINDS,
) -> ast.expr:
    """Return an operation on two operands, or a function of only the first one, such as its square root."""
    kind = pick(_ON_TWO if isinstance(one, ast.Constant) else kinds, rng)
    if kind == "curve":
        return _curve(_CURVES[rng.integers(len(_CURVES))], one, library)
    left, right = (one, other) if rng.random() < 0.5 else (other, one)
    if kind == "binary":
        return ast.BinOp(left, pick(_BINARY.items(), rng)(), right)
    if kind == "extreme":
        name = _EXTREMES[rng.integers(len(_EXTREMES))]
        return _call(library.numpy, _ARRAY_EXTREMES[name] if library.numpy else name, left, right)
    test = ast.Compare(left, [ast.Lt()], [right])
    branches = (one, ast.BinOp(one, pick(_BINARY.items(), rng)(), other))
    yes, no = branches if rng.random() < 0.5 else branches[::-1]
    return ast.IfExp(test, yes, no) if library.numpy is None else _call(library.numpy, "where", test, yes, no)


def _curve(name: str, value: ast.expr, library: Library) -> ast.expr:
    """Return a call to a function that is defined for all numbers.

    Args:
        name: The function: ``abs`` for ``|x|``, ``sqrt`` for ``sqrt(|x|)``, ``exp`` for ``exp(-|x|)``, or ``log`` for
            ``log(1 + |x|)``.
        value: The argument.
        library: The libraries that the module imports. If it imports neither numpy nor math, the result
            is ``abs(value) ** 0.5`` for all functions except ``abs``.
    """
    size = _call(library.numpy, "abs", value)
    module = library.numpy or library.math
    if name == "abs":
        return size
    if name == "sqrt" or module is None:
        return _call(module, "sqrt", size) if module else ast.BinOp(size, ast.Pow(), number(0.5))
    return _call(module, "log1p", size) if name == "log" else _call(module, "exp", ast.UnaryOp(ast.USub(), size))


def _call(module: str | None, name: str, *arguments: ast.expr) -> ast.expr:
    """Return a call to a module's function, or to a built-in function if the module is None."""
    if module is None:
        return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])
    return ast.Call(ast.Attribute(ast.Name(module, ast.Load()), name, ast.Load()), list(arguments), [])


def _library(tree: ast.Module) -> Library:
    modules: dict[str, str] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            modules |= {alias.name: alias.asname or alias.name for alias in statement.names}
    return Library(modules.get("numpy"), modules.get("math"))


def _new_name(tree: ast.Module) -> str:
    """Return a name that occurs nowhere in a module."""
    taken = {word for statement in tree.body for word in _words(statement)}
    return next(name for name in map("value_{}".format, count(1)) if name not in taken)


def _words(statement: ast.stmt) -> set[str]:
    """Return the names and parameters in a statement."""
    fields = ("id", "arg", "name", "asname")
    return {getattr(node, field, None) or "" for node in ast.walk(statement) for field in fields}


def _at(part: Any, path: Path) -> Any:
    """Return the part of a node at a path."""
    for step in path:
        part = part[step] if isinstance(step, int) else getattr(part, step)
    return part
