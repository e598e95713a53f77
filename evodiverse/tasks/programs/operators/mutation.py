"""Mutations of syntax trees that apply to any program.

Each mutation is an `Edit` of the statements in a module and in its functions. The seeds of random generators may change
anywhere. All other mutations leave the following as they are:

* the contents of ``while`` loops, which might then never end;
* strings, imports, and the headers of the module's functions;
* the constants and functions that a task declares fixed;
* a function's last ``return``, which they do not move or delete;
* names, except for functions with a counterpart: ``min``, for example, may become ``max``.
"""

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np

from evodiverse.kit.choice import pick
from evodiverse.kit.python import is_docstring
from evodiverse.tasks.programs.operators import syntax
from evodiverse.tasks.programs.operators.cost_model import loop_bounds, statement_works
from evodiverse.tasks.programs.operators.names import binds
from evodiverse.tasks.programs.operators.reseeding import reseed

MAX_INTEGER: Final = 1_000
"""`perturb_integer` lets no integer grow beyond this, because the integer may be the size of an array. An integer that
is already larger does not grow at all."""

MAX_TRIPS: Final = 1_000_000
"""Integers above this in the bounds of a loop are not changed."""

SCALES: Final = (0.01, 0.05, 0.2, 0.6)

_OPPOSITES: Final[tuple[tuple[type[Any], type[Any]], ...]] = (
    *((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.FloorDiv, ast.Mod)),
    *((ast.Eq, ast.NotEq), (ast.And, ast.Or)),
)
_SIBLINGS: Final[dict[type[Any], tuple[type[Any], ...]]] = {
    **{one: (other,) for pair in _OPPOSITES for one, other in (pair, pair[::-1])},
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
}
_PAIRS: Final = (("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("sin", "cos"), ("floor", "ceil"))
_NAMESAKES: Final = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}


Numbers: TypeAlias = Sequence[tuple[tuple[syntax.Path, Any], float]]
"""Numbers in a program that can be perturbed, each with its path and the relative probability of drawing it. This is
low if the number seems to belong to the program's logic rather than to be a parameter."""


def perturb_constant(tree: ast.Module, rng: np.random.Generator, fixed: frozenset[str] = frozenset()) -> ast.Module:
    """Change one of the numbers that `constants_of` returns, by `perturb_float` or `perturb_integer`.

    Numbers in top-level functions named in ``fixed`` are left out, and so are all numbers in module-level assignments
    to a name in ``fixed``, alone or together with other names, as in ``N, M = 26, 3``. No child is made if there is no
    number to change, or if the draw leaves the number as it is.

    Named constants of the module are drawn three times as often as other numbers. Integers up to 2 and exponents are
    drawn a tenth as often as other numbers. Indices in square brackets, axes given by keyword, and loop bounds are
    never drawn.
    """
    path, value = pick(syntax.some(constants_of(tree, fixed)), rng)
    new = perturb_integer(value, rng) if type(value) is int else perturb_float(value, rng)
    if new == value:
        raise syntax.NoChildError
    return syntax.replace(tree, path, syntax.number(new))


def constants_of(tree: ast.Module, fixed: frozenset[str]) -> Numbers:
    """Return the numbers that can be perturbed.

    Numbers in the definitions of the names in ``fixed`` are left out.
    """
    numbers: list[tuple[tuple[syntax.Path, Any], float]] = []
    for path, statement in syntax.statements_of(tree, fixed):
        is_constant = isinstance(statement, (ast.Assign, ast.AnnAssign)) and not binds(statement) & fixed
        times = 1 if len(path) > 2 else 3 if is_constant else 0
        if times:
            numbers += [((path + step, value), times * weight) for (step, value), weight in _numbers_of(statement)]
    return numbers


@lru_cache(maxsize=4096)
def _numbers_of(statement: ast.stmt) -> Numbers:
    return tuple(_numbers_in((), statement))


def _numbers_in(path: syntax.Path, node: ast.AST) -> Iterator[tuple[tuple[syntax.Path, Any], float]]:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        logical = type(node.value) is int and node.value <= 2
        yield (path, node.value), 0.1 if logical else 1.0
    if isinstance(node, ast.While):
        return
    bounds = loop_bounds(node) if isinstance(node, ast.Call) else []
    for step, child in syntax.children(node):
        if child not in bounds and not _is_structural(node, step[0], child):
            rare = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and step == ("right",)
            for place, weight in _numbers_in(path + step, child):
                yield place, 0.1 * weight if rare else weight


def _is_structural(node: ast.AST, field: str | int, child: ast.AST) -> bool:
    """Return whether a child is an index, a type annotation, a ``match`` pattern or an argument such as ``axis``.

    Args:
        node: The node that holds the child.
        field: The name of the field of ``node`` that holds the child.
        child: The child.
    """
    if isinstance(child, ast.keyword):
        return child.arg in ("axis", "ndmin", "ord")
    return (isinstance(node, ast.Subscript) and field == "slice") or field in ("annotation", "returns", "pattern")


def perturb_float(value: float, rng: np.random.Generator) -> float:
    """Return a number near another one, rounded to six significant digits.

    With probability 0.6 the value is multiplied by a log-normal factor; if it is 0, a normal term is added instead.
    With probability 0.3 a normal term is added. Otherwise the value is rounded or negated. The standard deviation of
    the noise is drawn from `SCALES`. For an added term, the standard deviation is in units of ``|value|`` half of the
    time, and in units of 1 the other half; if the value is 0, it is always in units of 1.
    """
    noise = SCALES[rng.integers(len(SCALES))] * rng.normal()
    kind = rng.random()
    if kind < 0.6 and value:
        new = value * math.exp(noise)
    elif kind < 0.9:
        new = value + noise * (abs(value) if value and kind < 0.75 else 1.0)
    else:
        new = -value if kind < 0.92 else round(value, int(rng.integers(1, 3)))
    new = float(f"{new:.6g}")
    return new if math.isfinite(new) else value


def perturb_integer(value: int, rng: np.random.Generator) -> int:
    """Return the integer plus or minus 1, doubled or halved, or unchanged if it would grow beyond `MAX_INTEGER`."""
    choices = (value - 1, value + 1, value - 1, value + 1, 2 * value, value // 2)
    new = choices[rng.integers(len(choices))]
    return new if abs(new) <= max(abs(value), MAX_INTEGER) else value


def change_loop(tree: ast.Module, rng: np.random.Generator, fixed: frozenset[str] = frozenset()) -> ast.Module:
    """Change an integer in the bounds of a loop by one, or by a factor from 1/2 to 6.

    Functions named in ``fixed`` are left out. No child is made if the new integer is the old one or is negative.
    """
    sites = [
        (path + step, value)
        for path, statement in syntax.statements_of(tree, fixed)
        for step, value in _bounding_integers(statement)
    ]
    path, value = syntax.draw(sites, rng)
    if value <= 3 or rng.random() < 0.2:
        new = value + (1 if rng.random() < 0.5 else -1)
    else:
        new = round(value * math.exp(rng.uniform(-math.log(2), math.log(6))))
    if new == value or new < 0:
        raise syntax.NoChildError
    return syntax.replace(tree, path, ast.Constant(new))


@lru_cache(maxsize=4096)
def _bounding_integers(statement: ast.stmt) -> tuple[tuple[syntax.Path, int], ...]:
    """Return the integers in the bounds of a statement's loops, each with its path in the syntax tree.

    The path consists of the names of fields and the indices in lists that lead from the statement to the integer.
    """
    parts = syntax.parts_of(statement)
    bounds = [bound for _, node in parts if isinstance(node, ast.Call) for bound in loop_bounds(node)]
    inside = {id(node) for bound in bounds for node in ast.walk(bound)}
    constants = [(path, node.value) for path, node in parts if isinstance(node, ast.Constant) and id(node) in inside]
    return tuple((path, value) for path, value in constants if type(value) is int and value <= MAX_TRIPS)


def change_operator(tree: ast.Module, rng: np.random.Generator, fixed: frozenset[str] = frozenset()) -> ast.Module:
    """Replace an arithmetic, comparison or logical operator, or a function such as ``min``, with a related one.

    This changes the bodies of functions, except those named in ``fixed``.
    """
    sites = [
        (path + step, node)
        for path, statement in syntax.statements_of(tree, fixed)
        if len(path) > 2
        for step, node in syntax.parts_of(statement)
        if type(_operator(node)) in _SIBLINGS or (isinstance(node, ast.Call) and syntax.called_name(node) in _NAMESAKES)
    ]
    path, node = syntax.draw(sites, rng)
    if isinstance(node, ast.Call):
        field = "id" if isinstance(node.func, ast.Name) else "attr"
        return syntax.replace(tree, (*path, "func", field), _NAMESAKES[syntax.called_name(node)])
    siblings = _SIBLINGS[type(_operator(node))]
    where: syntax.Path = ("ops", 0) if isinstance(node, ast.Compare) else ("op",)
    return syntax.replace(tree, path + where, siblings[rng.integers(len(siblings))]())


def _operator(node: ast.AST) -> ast.AST | None:
    return node.ops[0] if isinstance(node, ast.Compare) else getattr(node, "op", None)


def delete_statement(tree: ast.Module, rng: np.random.Generator, fixed: frozenset[str] = frozenset()) -> ast.Module:
    """Delete one statement of a function; the only statement of a block becomes ``pass``.

    Functions named in ``fixed`` are left out.
    """
    path, block, (position, *_) = _draw_statements(tree, 1, rng, fixed)
    return _without(tree, path, block, position)


def _without(tree: ast.Module, path: syntax.Path, block: list[ast.stmt], position: int) -> ast.Module:
    return syntax.replace(tree, path, [*block[:position], *block[position + 1 :]] or [ast.Pass()])


def duplicate_statement(tree: ast.Module, rng: np.random.Generator, fixed: frozenset[str] = frozenset()) -> ast.Module:
    """Insert a copy of a statement directly after the statement itself or after a later one of the same block.

    Functions named in ``fixed`` are left out.
    """
    path, block, (position, *_) = _draw_statements(tree, 1, rng, fixed)
    last = max([position, *movable(block)])
    place = int(rng.integers(position, last + 1)) + 1
    return syntax.insert(tree, path, place, [block[position]])


def swap_statements(tree: ast.Module, rng: np.random.Generator, fixed: frozenset[str] = frozenset()) -> ast.Module:
    """Exchange two statements of the same block in a function.

    Functions named in ``fixed`` are left out.
    """
    path, block, (one, other, *_) = _draw_statements(tree, 2, rng, fixed)
    swapped = list(block)
    swapped[one], swapped[other] = block[other], block[one]
    return syntax.replace(tree, path, swapped)


def trim(tree: ast.Module, rng: np.random.Generator, fixed: frozenset[str], *, by_work: bool) -> ast.Module:
    """Delete one statement of a function's body, drawn in proportion to its work or to its length.

    The operator calls this for a child that takes too much work or is too long.

    Args:
        tree: The module of the program.
        rng: The generator that draws the statement.
        fixed: The names of functions that are not changed.
        by_work: Whether the statement is drawn in proportion to its work rather than to its length.
    """
    works = statement_works(tree)
    sites = [
        (path, block, at) for path, block in syntax.blocks_of(tree, fixed) if len(path) == 3 for at in movable(block)
    ]
    statements = [block[position] for _, block, position in sites]
    weights = [works[id(one)] if by_work else len(syntax.statement_text(one)) for one in statements]
    return _without(tree, *pick(syntax.some(list(zip(sites, weights, strict=True))), rng))


def movable(block: list[ast.stmt]) -> list[int]:
    """Return the positions of the statements in a block that can be moved, copied or deleted.

    These are all except definitions, imports, docstrings, ``pass``, and a ``return`` at the end of the block.
    """
    return [
        position
        for position, statement in enumerate(block)
        if not isinstance(statement, (*syntax.SCOPES, ast.Pass, ast.Import, ast.ImportFrom))
        and not is_docstring(statement)
        and not (isinstance(statement, ast.Return) and position == len(block) - 1)
    ]


def _draw_statements(
    tree: ast.Module, n_statements: int, rng: np.random.Generator, fixed: frozenset[str]
) -> tuple[syntax.Path, list[ast.stmt], list[int]]:
    """Draw a movable statement uniformly from those in blocks with at least ``n_statements`` movable statements.

    A statement is movable if a mutation may move, copy or delete it (see `movable`).

    Returns:
        The path of the statement's block, the block, and the positions of all movable statements of the block in
        random order, of which the first is the drawn one.
    """
    choices = [(path, block, movable(block)) for path, block in syntax.blocks_of(tree, fixed)]
    weighed = [(choice, len(choice[2])) for choice in choices if len(choice[2]) >= n_statements]
    path, block, positions = pick(syntax.some(weighed), rng)
    return path, block, rng.permutation(positions).tolist()


MUTATIONS: Final[Mapping[str, tuple[syntax.Edit, float]]] = {
    "constant": (perturb_constant, 2.0),
    "loop": (change_loop, 1.5),
    "seed": (reseed, 2.0),
    "delete": (delete_statement, 0.8),
    "duplicate": (duplicate_statement, 0.2),
    "swap": (swap_statements, 0.2),
    "operator": (change_operator, 0.2),
}
"""The mutations by kind, each with its relative frequency."""
