"""A static estimate of a program's running time; the operator uses it to limit the work of the programs it makes."""

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from operator import add, floordiv, mod, mul, sub
from typing import Final, TypeAlias

from evodiverse.tasks.programs.operators import syntax
from evodiverse.tasks.programs.operators.names import parameters

Integers: TypeAlias = Mapping[str, int | None]
"""The largest integer that each name holds, found in the source; None if one of the name's values is not known."""

UNKNOWN_TRIPS: Final = 32
ENDLESS: Final = 1e15
HUGE: Final = 10**12

# The microseconds of one evaluation of a node, for numbers and small arrays, on one core of a 2.5 GHz Xeon. Nodes of
# other types take _OTHERS.
_COSTS: Final[dict[type[ast.AST], float]] = {
    ast.Call: 1.5,
    ast.BinOp: 0.8,
    ast.UnaryOp: 0.3,
    ast.Compare: 0.4,
    ast.Subscript: 0.4,
    ast.AugAssign: 0.8,
}
_OTHERS: Final = 0.03
_CALLS: Final = {"minimize": 8_000.0, "linprog": 2_000.0}
"""The microseconds that one call to each of these functions takes, for problems such as packing about 30 circles."""

_COMBINATIONS: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.Pow: pow,
    ast.FloorDiv: floordiv,
    ast.Mod: mod,
}

RECURSIVE_CALL: Final = 100.0
MAX_CALLS: Final = 50
"""The longest chain of calls that is followed; any further call counts as `RECURSIVE_CALL`, as does a recursive one."""


def estimate_work(tree: ast.Module, entry_point: str) -> float:
    """Return a rough upper estimate of the running time of a program, in microseconds.

    Trip counts of loops are known if they are computed from numbers and from names that hold numbers; any other loop
    counts as `UNKNOWN_TRIPS` trips. Both branches of an ``if`` count, and a function counts wherever its name is read.
    The depth of a recursion is unknown: a recursive call counts as `RECURSIVE_CALL`.
    """
    estimate = _Estimate(tree)
    outside = [statement for statement in tree.body if not isinstance(statement, syntax.SCOPES)]
    called = estimate.call(entry_point) if entry_point in estimate.functions else 0.0
    return sum(estimate.statement(statement, estimate.integers) for statement in outside) + called


def statement_works(tree: ast.Module) -> dict[int, float]:
    """Return the estimated microseconds that each statement of a function takes in one call to the function.

    The result covers the statements directly in the body of each function of the module. The time of such a statement
    includes the statements nested in it. The keys are the `id` of each statement's node.
    """
    estimate = _Estimate(tree)
    return {
        id(statement): estimate.statement(statement, integers)
        for function in tree.body
        if isinstance(function, syntax.FUNCTIONS)
        for integers in [estimate.integers_in(function)]
        for statement in function.body
    }


class _Estimate:
    def __init__(self, tree: ast.Module) -> None:
        self.functions: dict[str, syntax.Function] = {}
        for statement in tree.body:
            methods = statement.body if isinstance(statement, ast.ClassDef) else [statement]
            self.functions |= {one.name: one for one in methods if isinstance(one, syntax.FUNCTIONS)}
        for _, statement in syntax.statements_of(tree):
            self.functions |= {one.name: one for one in syntax.nodes_of(statement) if isinstance(one, syntax.FUNCTIONS)}
        self.integers = _integers_of(tree.body, {})
        self._works: dict[str, float] = {}
        self._n_open = 0

    def call(self, name: str) -> float:
        """Return the work of a function in microseconds; a recursive call counts as `RECURSIVE_CALL`."""
        if name not in self._works:
            if self._n_open == MAX_CALLS:
                return RECURSIVE_CALL
            self._n_open += 1
            self._works[name] = RECURSIVE_CALL
            function = self.functions[name]
            integers = self.integers_in(function)
            self._works[name] = min(sum(self.statement(one, integers) for one in function.body), ENDLESS)
            self._n_open -= 1
        return self._works[name]

    def integers_in(self, function: syntax.Function) -> Integers:
        """Return the largest integer that each name in a function's body holds, as far as it is known."""
        return _integers_of(function.body, {**self.integers, **dict.fromkeys(parameters(function))})

    def statement(self, statement: ast.stmt, integers: Integers) -> float:
        known = tuple((name, integers[name]) for name in _bounding_names(statement) if name in integers)
        own, names = _work_of(statement, known)
        calls = sum(names[name] * self.call(name) for name in self.functions if name in names)
        return min(own + calls, ENDLESS)


@lru_cache(maxsize=4096)
def _bounding_names(statement: ast.stmt) -> tuple[str, ...]:
    """Return the names in the iterables of a statement's loops, each once."""
    loops = (one for one in syntax.nodes_of(statement) if isinstance(one, (ast.For, ast.AsyncFor, ast.comprehension)))
    return tuple(sorted({node.id for one in loops for node in ast.walk(one.iter) if isinstance(node, ast.Name)}))


@lru_cache(maxsize=4096)
def _work_of(statement: ast.stmt, integers: tuple[tuple[str, int | None], ...]) -> tuple[float, Mapping[str, float]]:
    """Return the work of a statement without that of the program's functions, and how often each name occurs in it.

    The work is in microseconds. Names of functions, attributes and targets of assignments count too, as often as the
    statement evaluates them.
    """
    names: dict[str, float] = {}
    return _add_work(statement, 1.0, dict(integers), names), names


def _add_work(node: ast.AST, times: float, integers: Integers, names: dict[str, float]) -> float:
    """Return the work of evaluating a node ``times`` times, in microseconds, and count the evaluations of names.

    The counts are added to those in ``names``. The work does not include that of the program's
    functions that the node calls.
    """
    if isinstance(node, syntax.SCOPES):
        return _OTHERS
    if isinstance(node, (ast.Name, ast.Attribute)):
        name = node.id if isinstance(node, ast.Name) else node.attr
        names[name] = names.get(name, 0.0) + times
    called = syntax.called_name(node) if isinstance(node, ast.Call) else ""
    work = times * _CALLS.get(called, _COSTS.get(type(node), _OTHERS))
    for child, rounds in _rounds(node, integers):
        work += _add_work(child, min(times * rounds, ENDLESS), integers, names)
    return work


def _rounds(node: ast.AST, integers: Integers) -> Iterator[tuple[ast.AST, float]]:
    """Yield the parts of a node, and how often each is evaluated per evaluation of the node."""
    if isinstance(node, (ast.For, ast.AsyncFor)):
        rounds = trips(node.iter, integers)
        yield node.iter, 1
        yield from ((one, rounds) for one in (node.target, *node.body))
        yield from ((one, 1) for one in node.orelse)
    elif isinstance(node, syntax.COMPREHENSIONS):
        rounds = 1.0
        for generator in node.generators:
            yield generator.iter, rounds
            rounds *= trips(generator.iter, integers)
            yield from ((one, rounds) for one in (generator.target, *generator.ifs))
        results = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        yield from ((one, rounds) for one in results)
    else:
        rounds = UNKNOWN_TRIPS if isinstance(node, ast.While) else 1
        yield from ((child, rounds) for _, child in syntax.children(node))


def trips(iterable: ast.expr, integers: Integers) -> float:
    """Return the number of items that a loop takes from an iterable; `UNKNOWN_TRIPS` if it is unknown."""
    if isinstance(iterable, (ast.Tuple, ast.List, ast.Set)):
        return len(iterable.elts)
    if not isinstance(iterable, ast.Call) or not iterable.args:
        return UNKNOWN_TRIPS
    name = syntax.called_name(iterable)
    bounds = [largest(argument, integers) for argument in loop_bounds(iterable)]
    if bounds:
        start, stop = (0, bounds[0]) if len(bounds) == 1 else (bounds[0] or 0, bounds[1])
        step = (bounds[2] if len(bounds) > 2 else 1) or 1
        return UNKNOWN_TRIPS if stop is None else max(math.ceil((stop - start) / step), 0)
    if name in ("enumerate", "reversed", "sorted", "list", "tuple", "permutation"):
        return trips(iterable.args[0], integers)
    return min(trips(argument, integers) for argument in iterable.args) if name == "zip" else UNKNOWN_TRIPS


def loop_bounds(call: ast.Call) -> list[ast.expr]:
    """Return the arguments of a call that set the number of items in its result.

    These are all arguments of ``range`` and ``arange``, and the third of ``linspace``. The result is empty for a call
    to any other function.
    """
    name = syntax.called_name(call)
    return call.args if name in ("range", "arange") else call.args[2:3] if name == "linspace" else []


def largest(expression: ast.expr, integers: Integers) -> int | None:
    """Return the value of an integer expression, or None if the value is unknown.

    For each name in the expression, the largest integer that the name holds is used, as listed in ``integers``.
    """
    if isinstance(expression, ast.Constant):
        return _clip(expression.value) if type(expression.value) is int else None
    if isinstance(expression, ast.Name):
        return integers.get(expression.id)
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub):
        value = largest(expression.operand, integers)
        return None if value is None else -value
    if not isinstance(expression, ast.BinOp):
        return None
    left, right = largest(expression.left, integers), largest(expression.right, integers)
    combine = _COMBINATIONS.get(type(expression.op))
    is_undefined = (combine is pow and not 0 <= (right or 0) <= 12) or (combine in (floordiv, mod) and not right)
    if left is None or right is None or combine is None or is_undefined:
        return None
    return _clip(combine(left, right))


def _clip(value: int) -> int:
    return max(min(value, HUGE), -HUGE)


def _integers_of(block: list[ast.stmt], outside: Integers) -> Integers:
    """Return the largest integer that each name in a scope holds, as far as it is known.

    Args:
        block: The statements of the scope.
        outside: The same for the names outside of the scope.
    """
    integers = dict(outside)
    bound: set[str] = set()
    for statement in block:
        for name, value in _assignments(statement):
            new = None if value is None else largest(value, integers)
            known = integers[name] if name in bound else new
            integers[name] = None if new is None or known is None else max(new, known)
            bound.add(name)
    return integers


@lru_cache(maxsize=4096)
def _assignments(statement: ast.stmt) -> tuple[tuple[str, ast.expr | None], ...]:
    """Return the variables that a statement binds, each with its new value.

    The value is known only from an assignment to a single variable, such as ``a = 1``; otherwise it is None.
    """
    if isinstance(statement, syntax.SCOPES):
        return ()
    nodes = syntax.nodes_of(statement)
    single = {id(one.targets[0]): one.value for one in nodes if isinstance(one, ast.Assign) and len(one.targets) == 1}
    stored = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return tuple((name.id, single.get(id(name))) for name in stored)
