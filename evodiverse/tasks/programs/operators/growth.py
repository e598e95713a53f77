"""Mutations that let programs grow and shrink, by arithmetic on the names that are available.

Each mutation is an `Edit` of one function of the module. Types are not known, so names and expressions count as numbers
or arrays of numbers if the source suggests it (`evodiverse.tasks.programs.operators.numeric`). If that guess is wrong,
the child fails and scores 0.
"""

import ast
from collections.abc import Callable, Mapping
from itertools import count
from typing import Final, TypeAlias

import numpy as np

from evodiverse.kit.choice import pick
from evodiverse.tasks.programs.operators import syntax
from evodiverse.tasks.programs.operators.numeric import Place, Weighted, numeric_parts, places_in

NAME_RATE: Final = 0.75
"""The probability that a new operand is a name rather than a number, if any name is available."""

SECOND_RATE: Final = 0.5
"""The probability that a new term is an operation on two operands rather than a single operand."""

_BINARY: Final[dict[type[ast.operator], float]] = {ast.Add: 2.0, ast.Sub: 2.0, ast.Mult: 2.0, ast.Div: 2.0}
_EXTREMES: Final = (("min", "minimum"), ("max", "maximum"))
"""The functions of two numbers that are built in, each with its counterpart in numpy."""
_CURVES: Final = ("abs", "sqrt", "exp", "log1p")
_ON_TWO: Final = (("binary", 8.0), ("extreme", 1.0), ("choice", 0.5))
_KINDS: Final = (*_ON_TWO, ("curve", 1.0))


Library: TypeAlias = Mapping[str, str]
"""The names under which a program imports modules, by the name of the module."""


def grow(tree: ast.Module, rng: np.random.Generator, fixed: frozenset[str] = frozenset()) -> ast.Module:
    """Replace an expression with an operation on the expression and a new operand, or on the expression alone.

    Functions named in ``fixed`` are left out.
    """
    place, library = _draw_place(tree, rng, fixed)
    return syntax.replace(tree, place.path, _operation(place.node, _operand(place.names, rng), library, rng))


def add_term(tree: ast.Module, rng: np.random.Generator, fixed: frozenset[str] = frozenset()) -> ast.Module:
    """Add a term to a returned value, or subtract it; the term is an operand or an operation on two operands.

    Functions named in ``fixed`` are left out.
    """
    place, library = _draw_place(tree, rng, fixed, lambda place: place.is_returned)
    sign = ast.Add() if rng.random() < 0.5 else ast.Sub()
    term = _operand(place.names, rng)
    if rng.random() < SECOND_RATE:
        term = _operation(term, _operand(place.names, rng), library, rng)
    return syntax.replace(tree, place.path, ast.BinOp(place.node, sign, term))


def bind_name(tree: ast.Module, rng: np.random.Generator, fixed: frozenset[str] = frozenset()) -> ast.Module:
    """Bind a new name to an operation on two operands, and use it in an expression of the statement that follows.

    Functions named in ``fixed`` are left out. A name that may be a number must be bound before the statement.
    """
    place, library = _draw_place(tree, rng, fixed, lambda place: bool(place.outer_names))
    name = _new_name(tree)
    one, other = (_operand(place.outer_names, rng) for _ in range(2))
    value = _operation(one, other, library, rng)
    binding = ast.Assign([ast.Name(name, ast.Store())], value, lineno=0)
    joined = _operation(place.node, ast.Name(name, ast.Load()), library, rng, _ON_TWO)
    return syntax.insert(syntax.replace(tree, place.path, joined), *place.block, [binding])


def change_operand(tree: ast.Module, rng: np.random.Generator, fixed: frozenset[str] = frozenset()) -> ast.Module:
    """Replace a name or a number with another operand.

    Functions named in ``fixed`` are left out. No child is made if the new operand is the same as the old one.
    """
    place, _ = _draw_place(tree, rng, fixed, lambda place: isinstance(place.node, (ast.Name, ast.Constant)))
    new = _operand(place.names, rng)
    if ast.dump(new) == ast.dump(place.node):
        raise syntax.NoChildError
    return syntax.replace(tree, place.path, new)


def shrink(tree: ast.Module, rng: np.random.Generator, fixed: frozenset[str] = frozenset()) -> ast.Module:
    """Replace an expression with one of its operands.

    Functions named in ``fixed`` are left out.
    """
    place, _ = _draw_place(tree, rng, fixed, lambda place: bool(numeric_parts(place.node)))
    _, operand = syntax.draw(numeric_parts(place.node), rng)
    return syntax.replace(tree, place.path, operand)


GROWTH: Final[Mapping[str, tuple[syntax.Edit, float]]] = {
    "grow": (grow, 0.5),
    "term": (add_term, 0.2),
    "bind": (bind_name, 0.2),
    "operand": (change_operand, 0.4),
    "shrink": (shrink, 0.4),
}
"""The mutations by kind, each with its relative frequency among all mutations."""


def _draw_place(
    tree: ast.Module, rng: np.random.Generator, fixed: frozenset[str], is_fit: Callable[[Place], bool] = bool
) -> tuple[Place, Library]:
    """Draw a function, and a numeric expression in it; return its place, and the libraries that it can use.

    The probability of each function is proportional to its size. Functions named in ``fixed``, or with a ``global`` or
    ``nonlocal`` statement, are left out, and so are places that are not ``is_fit``.
    """
    last = syntax.functions_of(tree)
    functions = [
        ((index, function), float(sum(len(syntax.nodes_of(statement)) for statement in function.body)))
        for index, function in enumerate(tree.body)
        if isinstance(function, syntax.FUNCTIONS)
        and last[function.name] is function
        and function.name not in fixed
        and not syntax.declares_scope(function)
    ]
    index, function = pick(syntax.some(functions), rng)
    places = places_in(function, ("body", index), tree)
    return syntax.draw([place for place in places if is_fit(place)], rng), _library(tree)


def _operand(names: Weighted, rng: np.random.Generator) -> ast.expr:
    """Return a name, drawn by weight, or a number between 0.01 and 100."""
    if names and rng.random() < NAME_RATE:
        return ast.Name(pick(names, rng), ast.Load())
    if rng.random() < 0.5:
        return syntax.number(int(rng.integers(1, 11)))
    return syntax.number(float(f"{10 ** rng.uniform(-2, 2):.2g}"))


def _operation(
    one: ast.expr, other: ast.expr, library: Library, rng: np.random.Generator, kinds: Weighted = _KINDS
) -> ast.expr:
    """Return an operation on two operands, or a function of only the first one, such as its square root."""
    kind = pick(_ON_TWO if isinstance(one, ast.Constant) else kinds, rng)
    if kind == "curve":
        return _curve(_CURVES[rng.integers(len(_CURVES))], one, library)
    left, right = (one, other) if rng.random() < 0.5 else (other, one)
    if kind == "binary":
        return ast.BinOp(left, pick(_BINARY.items(), rng)(), right)
    if kind == "extreme":
        built_in, in_numpy = _EXTREMES[rng.integers(len(_EXTREMES))]
        return _call(library.get("numpy"), in_numpy if "numpy" in library else built_in, left, right)
    test = ast.Compare(left, [ast.Lt()], [right])
    branches = (one, ast.BinOp(one, pick(_BINARY.items(), rng)(), other))
    yes, no = branches if rng.random() < 0.5 else branches[::-1]
    return ast.IfExp(test, yes, no) if "numpy" not in library else _call(library.get("numpy"), "where", test, yes, no)


def _curve(name: str, value: ast.expr, library: Library) -> ast.expr:
    """Return a call to a function that is defined for all numbers.

    Args:
        name: The function: ``abs`` for ``|x|``, ``sqrt`` for ``sqrt(|x|)``, ``exp`` for ``exp(-|x|)``, or ``log1p`` for
            ``log(1 + |x|)``.
        value: The argument.
        library: The libraries that the module imports. If it imports neither numpy nor math, the result
            is ``abs(value) ** 0.5`` for all functions except ``abs``.
    """
    size = _call(library.get("numpy"), "abs", value)
    module = library.get("numpy") or library.get("math")
    if name == "abs":
        return size
    if module is None:
        return ast.BinOp(size, ast.Pow(), syntax.number(0.5))
    return _call(module, name, ast.UnaryOp(ast.USub(), size) if name == "exp" else size)


def _call(module: str | None, name: str, *arguments: ast.expr) -> ast.expr:
    """Return a call to a module's function, or to a built-in function if the module is None."""
    owner = module and ast.Name(module, ast.Load())
    function = ast.Attribute(owner, name, ast.Load()) if owner else ast.Name(name, ast.Load())
    return ast.Call(function, list(arguments), [])


def _library(tree: ast.Module) -> Library:
    imports = [statement for statement in tree.body if isinstance(statement, ast.Import)]
    return {alias.name: alias.asname or alias.name for statement in imports for alias in statement.names}


def _new_name(tree: ast.Module) -> str:
    """Return a name that occurs nowhere in a module."""
    taken = {getattr(node, field, None) for node in ast.walk(tree) for field in ("id", "arg", "name", "asname")}
    return next(name for name in map("value_{}".format, count(1)) if name not in taken)
