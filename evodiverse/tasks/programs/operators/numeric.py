"""The expressions in a function that seem to be numeric, judging by its source, and the names available at each."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from evodiverse.tasks.programs.operators.names import binds, parameters
from evodiverse.tasks.programs.operators.syntax import (
    COMPREHENSIONS,
    FUNCTIONS,
    SCOPES,
    Function,
    Path,
    called_name,
)

Weighted: TypeAlias = tuple[tuple[str, float], ...]
"""Names, each with the weight with which it is drawn."""

# Functions from numbers to numbers. For those in _FIRST_ONLY, only the first argument is a number to compute with; the
# others are axes and the like.
_ELEMENTWISE: Final = frozenset(
    {
        *("abs", "min", "max", "minimum", "maximum", "sqrt", "exp", "expm1"),
        *("log", "log1p", "log2", "log10", "sin", "cos", "tan", "tanh"),
        *("arctan", "atan", "arctan2", "atan2", "hypot", "floor", "ceil", "where"),
        *("sign", "square", "power", "fmin", "fmax", "float"),
    }
)
_FIRST_ONLY: Final = frozenset(["sum", "mean", "prod", "std", "var", "median", "round", "clip", "cumsum"])
_SIZED: Final = frozenset(
    ["range", "zeros", "ones", "empty", "full", "arange", "linspace", "eye", "reshape", "repeat", "tile"]
)
"""Functions whose arguments are sizes or counts."""

_ARITHMETIC: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_ORDER: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_NON_NUMERIC: Final = (
    *COMPREHENSIONS,
    ast.List,
    ast.Tuple,
    ast.Set,
    ast.Dict,
    ast.JoinedStr,
    ast.Lambda,
    ast.Compare,
    ast.BoolOp,
)
_HOLDERS: Final = (ast.BinOp, ast.ListComp, ast.GeneratorExp, ast.IfExp, ast.Call, ast.List, ast.Tuple)
"""Types of arguments that may contain numbers, whatever function is called."""

_METHODS: Final = frozenset(["normal", "uniform", "integers", "random", "choice", "permutation", "append", "items"])
"""Methods of objects that are not numbers, such as random generators and lists."""

_WRITTEN: Final = (ast.Constant, ast.BinOp, ast.UnaryOp)
_LEAVES: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)

IN_ARITHMETIC, PARAMETER, CONSTANT, OTHER, UNLIKELY = 3.0, 2.0, 1.0, 1.0, 0.2
"""Weights of names, in this order: names used in arithmetic, parameters, constants of the module, other names, and
names that are only iterated over, indexed or accessed by attribute."""


class Place(NamedTuple):
    """An expression that is a number or an array of numbers.

    Attributes:
        path: The path of the expression from the module.
        node: The syntax tree of the expression.
        names: The names that are certainly bound at the expression and may be numbers.
        outer_names: Those of ``names`` that are bound before the statement that holds the expression. This leaves out
            names that only a comprehension in the statement binds.
        block: The path of the innermost block of statements around the expression, and the position of its statement
            in that block.
        is_returned: Whether the expression is a returned value or an item of one.
    """

    path: Path
    node: ast.expr
    names: Weighted
    outer_names: Weighted
    block: tuple[Path, int]
    is_returned: bool


class Part(NamedTuple):
    """An operand and its path from the expression that it is part of."""

    path: Path
    node: ast.expr


def numeric_parts(node: ast.expr) -> list[Part]:
    """Return the operands of a numeric expression that seem to be numbers too, except for the exponent of ``**``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
        right = (
            [] if isinstance(node.op, ast.Pow) else [Part(("right",), node.right)]
        )  # a changed exponent may give a huge number
        parts = [Part(("left",), node.left), *right]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        parts = [Part(("operand",), node.operand)]
    elif isinstance(node, ast.IfExp):
        parts = [Part(("body",), node.body), Part(("orelse",), node.orelse)]
    elif isinstance(node, ast.Call):
        name = called_name(node)
        last = len(node.args) if name in _ELEMENTWISE else 1 if name in _FIRST_ONLY else 0
        first = 1 if name == "where" else 0
        parts = [Part(("args", index), node.args[index]) for index in range(first, min(last, len(node.args)))]
    else:
        parts = []
    return [part for part in parts if is_numeric(part.node)]


def is_numeric(node: ast.expr) -> bool:
    """Return whether an expression that is used in arithmetic may be a number or an array."""
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, _ARITHMETIC) and is_numeric(node.left) and is_numeric(node.right)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, (ast.USub, ast.UAdd)) and is_numeric(node.operand)
    return not isinstance(node, (*_NON_NUMERIC, ast.Starred, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom))


def places_in(function: Function, path: Path, tree: ast.Module) -> list[Place]:
    """Return the numeric expressions of a function, roughly in the order of the text.

    Expressions in ``while`` loops, nested functions and classes, loop bounds, and indices in square brackets are left
    out, and so are array sizes in calls to numpy functions such as ``zeros``.

    Args:
        function: The function to search, a part of ``tree``.
        path: The path of the function from the module.
        tree: The module.
    """
    return list(_Finder(function, tree).places(function.body, (*path, "body")))


class _Finder:
    def __init__(self, function: Function, tree: ast.Module) -> None:
        nodes = [node for statement in function.body for node in ast.walk(statement)]
        self._counts = set(_names_in(_structural(nodes)))
        self._computed = set(_names_in(_operands(nodes)))
        self._odd = {name for name in _names_in(_other_uses(nodes)) if name not in self._computed}
        self._texts = set(_non_numeric_names(nodes)) - self._computed
        self._called = {
            node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        self._deleted = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)}
        given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        self._parameters = {argument.arg for argument in given}
        local = parameters(function).union(*(binds(statement) for statement in function.body))
        self._constants = frozenset(_constants(tree)) - local
        self._weighed: dict[frozenset[str], Weighted] = {}

    def places(self, block: Sequence[ast.stmt], path: Path) -> Iterator[Place]:
        """Yield the numeric expressions in ``block``, the function's body, whose path from the module is ``path``."""
        yield from self._block(block, path, frozenset(self._parameters))

    def _block(self, block: Sequence[ast.stmt], path: Path, bound: frozenset[str]) -> Iterator[Place]:
        for position, statement in enumerate(block):
            if statement is not None:
                yield from self._statement(statement, path, position, bound)
                bound |= _surely_bound(statement)

    def _statement(self, statement: ast.stmt, around: Path, position: int, bound: frozenset[str]) -> Iterator[Place]:
        if isinstance(statement, (*SCOPES, ast.While)):
            return
        inner, path = bound, (*around, position)
        for step, node in self._roots(statement):
            is_returned = isinstance(statement, ast.Return)
            yield from self._expression(node, path + step, bound, bound, (around, position), is_returned=is_returned)
        if isinstance(statement, (ast.For, ast.AsyncFor)):
            inner |= _targets([statement.target])
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            inner |= _targets([item.optional_vars for item in statement.items if item.optional_vars is not None])
        for name in ("body", "orelse", "finalbody"):
            block = getattr(statement, name, None)
            if isinstance(block, list):
                yield from self._block(block, (*path, name), inner if name == "body" else bound)
        for index, handler in enumerate(getattr(statement, "handlers", [])):
            yield from self._block(handler.body, (*path, "handlers", index, "body"), bound)

    def _roots(self, statement: ast.stmt) -> Iterator[tuple[Path, ast.expr]]:
        """Yield the expressions of a statement that may contain numbers, each with its path from the statement."""
        if isinstance(statement, ast.Assign):
            if not _targets(statement.targets) & self._counts:
                yield ("value",), statement.value
        elif isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
            if statement.value is not None and not _targets([statement.target]) & self._counts:
                yield ("value",), statement.value
        elif isinstance(statement, (ast.Return, ast.Expr)) and statement.value is not None:
            yield ("value",), statement.value
        elif isinstance(statement, ast.If):
            yield ("test",), statement.test

    def _expression(
        self,
        node: ast.expr,
        path: Path,
        bound: frozenset[str],
        outer: frozenset[str],
        block: tuple[Path, int],
        *,
        is_returned: bool = False,
        is_operand: bool = False,
    ) -> Iterator[Place]:
        """Yield the expression, if it is a number, and the numeric expressions in it.

        Args:
            node: The syntax tree of the expression.
            path: The path of the expression from the module.
            bound: The names that are certainly bound at the expression.
            outer: The names that are certainly bound before the statement that holds the expression.
            block: The path of the innermost block around the expression, and the position of the statement in it.
            is_returned: Whether the expression is a returned value or an item of one.
            is_operand: Whether the expression is an operand.
        """
        if self._is_place(node, is_operand=is_operand):
            yield Place(path, node, self._weigh(bound), self._weigh(outer), block, is_returned)
        operands = numeric_parts(node)
        parts: list[Part] = []
        if isinstance(node, (ast.Tuple, ast.List)):
            parts = [Part(("elts", index), item) for index, item in enumerate(node.elts)]
        elif isinstance(node, ast.Compare) and all(isinstance(op, _ORDER) for op in node.ops):
            compared = [Part(("comparators", index), item) for index, item in enumerate(node.comparators)]
            operands = [Part(("left",), node.left), *compared]
        elif isinstance(node, ast.BoolOp):
            parts = [Part(("values", index), item) for index, item in enumerate(node.values)]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            parts = [Part(("operand",), node.operand)]
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            bound |= _targets(generator.target for generator in node.generators)
            parts = [Part(("elt",), node.elt)]
        elif isinstance(node, ast.IfExp):
            parts = [Part(("test",), node.test)]
        elif isinstance(node, ast.Call) and called_name(node) not in _SIZED:
            known = {operand.path for operand in operands}
            others = [Part(("args", index), item) for index, item in enumerate(node.args)]
            parts = [one for one in others if one.path not in known and isinstance(one.node, _HOLDERS)]
        is_item = is_returned and isinstance(node, (ast.Tuple, ast.List))
        for step, part in operands:
            yield from self._expression(part, path + step, bound, outer, block, is_operand=True)
        for step, part in parts:
            yield from self._expression(part, path + step, bound, outer, block, is_returned=is_item)

    def _is_place(self, node: ast.expr, *, is_operand: bool) -> bool:
        """Return whether an expression counts as a number.

        Items such as ``x[0]``, attributes, and calls to unknown functions count only if they are operands.
        """
        if not is_numeric(node):
            return False
        if isinstance(node, ast.Call):
            return is_operand or called_name(node) in _ELEMENTWISE | _FIRST_ONLY
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            return is_operand
        return not (isinstance(node, ast.Name) and node.id in self._texts | self._called)

    def _weigh(self, bound: frozenset[str]) -> Weighted:
        if bound not in self._weighed:
            found = sorted((self._constants | bound) - self._texts - self._called - self._deleted)
            self._weighed[bound] = tuple((name, self._weight(name)) for name in found)
        return self._weighed[bound]

    def _weight(self, name: str) -> float:
        if name in self._computed:
            return IN_ARITHMETIC
        if name in self._odd:
            return UNLIKELY
        return PARAMETER if name in self._parameters else CONSTANT if name in self._constants else OTHER


def _surely_bound(statement: ast.stmt) -> frozenset[str]:
    """Return the names that a statement has certainly bound when the next statement starts."""
    if isinstance(statement, ast.Assign):
        return _targets(statement.targets)
    if isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
        return _targets([statement.target]) if statement.value is not None else frozenset()
    if isinstance(statement, ast.If):
        ends = [_bound_after(block) for block in (statement.body, statement.orelse)]
        reached = [end for end in ends if end is not None]
        return frozenset.intersection(*reached) if reached else frozenset()
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return _targets([item.optional_vars for item in statement.items if item.optional_vars is not None])
    return frozenset()


def _bound_after(block: Sequence[ast.stmt]) -> frozenset[str] | None:
    """Return the names that a block has certainly bound at its end, or None if it never reaches its end."""
    if block and isinstance(block[-1], _LEAVES):
        return None
    return frozenset().union(*(_surely_bound(statement) for statement in block))


def _targets(targets: Iterable[ast.expr]) -> frozenset[str]:
    """Return the names that assignment targets bind; items and attributes bind none."""
    return frozenset(
        node.id
        for target in targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


def _names_in(nodes: Iterable[ast.expr]) -> Iterator[str]:
    return (node.id for node in nodes if isinstance(node, ast.Name))


def _structural(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """Yield the expressions in indices and in the arguments of functions such as ``range`` and ``zeros``.

    These arguments are mostly loop bounds and array sizes.
    """
    for node in nodes:
        if isinstance(node, ast.Subscript):
            yield from (part for part in ast.walk(node.slice) if isinstance(part, ast.expr))
        elif isinstance(node, ast.Call) and called_name(node) in _SIZED:
            yield from (part for one in node.args for part in ast.walk(one) if isinstance(part, ast.expr))


def _operands(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """Yield the expressions that are used in arithmetic or compared by order."""
    for node in nodes:
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Call)):
            yield from (part.node for part in numeric_parts(node))
        elif isinstance(node, ast.AugAssign) and is_numeric(node.value):
            yield node.target
        elif isinstance(node, ast.Compare) and all(isinstance(op, _ORDER) for op in node.ops):
            yield from (node.left, *node.comparators)


def _other_uses(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """Yield the expressions that are iterated over or indexed, or whose attributes are used: mostly arrays or lists."""
    for node in nodes:
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            yield node.iter
        elif isinstance(node, (ast.Subscript, ast.Attribute)):
            yield node.value


def _non_numeric_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that are bound to values other than numbers, such as lists, strings and functions."""
    for node in nodes:
        if isinstance(node, ast.Assign) and not is_numeric(node.value):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            yield from _names_in([node.func.value])
        elif isinstance(node, FUNCTIONS):
            yield node.name


def _constants(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module binds to numbers."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, _WRITTEN) and is_numeric(statement.value):
            yield from _targets(statement.targets)
