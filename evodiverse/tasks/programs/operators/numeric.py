"""The expressions in a function that seem to be numeric, judging by its source, and the names available at each."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from evodiverse.tasks.programs.operators import syntax
from evodiverse.tasks.programs.operators.names import binds, parameters
from evodiverse.tasks.programs.operators.syntax import Part

Weighted: TypeAlias = tuple[tuple[str, float], ...]
"""Names, each with the weight with which it is drawn."""

# Functions from numbers to numbers. For those in _FIRST_ONLY, only the first argument is a number to compute with; the
# others are axes and the like.
_NAMES: Final = """abs min max minimum maximum sqrt exp expm1 log log1p log2 log10 sin cos tan tanh arctan atan arctan2
atan2 hypot floor ceil where sign square power fmin fmax float"""
_ELEMENTWISE: Final = frozenset(_NAMES.split())
_FIRST_ONLY: Final = frozenset(["sum", "mean", "prod", "std", "var", "median", "round", "clip", "cumsum"])
_SIZED: Final = frozenset(
    ["range", "zeros", "ones", "empty", "full", "arange", "linspace", "eye", "reshape", "repeat", "tile"]
)
"""Functions whose arguments are sizes or counts."""

_ARITHMETIC: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_ORDER: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_HOLDERS: Final = (ast.BinOp, ast.ListComp, ast.GeneratorExp, ast.IfExp, ast.Call, ast.List, ast.Tuple)
"""Types of arguments that may contain numbers, whatever function is called."""

_METHODS: Final = frozenset(["normal", "uniform", "integers", "random", "choice", "permutation", "append", "items"])
"""Methods of objects that are not numbers, such as random generators and lists."""

_WRITTEN: Final = (ast.Constant, ast.BinOp, ast.UnaryOp)
_VALUED: Final = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)
_LEAVES: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)

IN_ARITHMETIC, PARAMETER, OTHER, UNLIKELY = 3.0, 2.0, 1.0, 0.2
"""Weights of names, in this order: names used in arithmetic, parameters, other names, and names that are only iterated
over, indexed or accessed by attribute."""


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

    path: syntax.Path
    node: ast.expr
    names: Weighted
    outer_names: Weighted
    block: tuple[syntax.Path, int]
    is_returned: bool


def numeric_parts(node: ast.expr) -> list[Part[ast.expr]]:
    """Return the operands of a numeric expression that seem to be numbers too, except for the exponent of ``**``."""
    parts: list[Part[ast.expr]] = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
        is_power = isinstance(node.op, ast.Pow)  # a changed exponent may give a huge number
        parts = _fields(node, "left") if is_power else _fields(node, "left", "right")
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        parts = _fields(node, "operand")
    elif isinstance(node, ast.IfExp):
        parts = _fields(node, "body", "orelse")
    elif isinstance(node, ast.Call):
        name = syntax.called_name(node)
        last = len(node.args) if name in _ELEMENTWISE else 1 if name in _FIRST_ONLY else 0
        parts = _fields(node, "args")[1 if name == "where" else 0 : last]
    return [(step, part) for step, part in parts if is_numeric(part)]


def _fields(node: ast.AST, *names: str) -> list[Part[ast.expr]]:
    """Return the children of a node in the fields with these names."""
    return [(step, child) for step, child in syntax.children(node) if step[0] in names and isinstance(child, ast.expr)]


def is_numeric(node: ast.expr) -> bool:
    """Return whether an expression that is used in arithmetic may be a number or an array."""
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, _ARITHMETIC) and is_numeric(node.left) and is_numeric(node.right)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, (ast.USub, ast.UAdd)) and is_numeric(node.operand)
    return isinstance(node, (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.IfExp))


def places_in(function: syntax.Function, path: syntax.Path, tree: ast.Module) -> list[Place]:
    """Return the numeric expressions of a function, roughly in the order of the text.

    Expressions in ``while`` loops, nested functions and classes, loop bounds, and indices in square brackets are left
    out, and so are array sizes in calls to numpy functions such as ``zeros``.

    Args:
        function: The function to search, a part of ``tree``.
        path: The path of the function from the module.
        tree: The module.
    """
    finder = _Finder(function, tree)
    return list(finder.places(function.body, (*path, "body"), finder.parameters))


class _Finder:
    def __init__(self, function: syntax.Function, tree: ast.Module) -> None:
        self._counts: set[str] = set()  # the names in indices, sizes and loop bounds
        self._computed: set[str] = set()  # the names used in arithmetic, or compared by order
        self._odd: set[str] = set()  # the names iterated over, indexed or accessed by attribute: mostly arrays or lists
        texts = set[str]()  # the names bound to other values than numbers, such as lists, strings and functions
        called = set[str]()
        self._deleted: set[str] = set()
        for statement in function.body:
            for node in ast.walk(statement):
                self._note_uses(node)
                texts |= _non_numeric_names(node)
                if isinstance(node, ast.Call):
                    called |= _names_of(node.func)
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
                    self._deleted.add(node.id)
        self._texts = (texts - self._computed) | called
        given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        self.parameters = frozenset(argument.arg for argument in given)
        local = parameters(function).union(*(binds(statement) for statement in function.body))
        self._constants = _constants(tree) - local
        self._weighed: dict[frozenset[str], Weighted] = {}

    def _note_uses(self, node: ast.AST) -> None:
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Call)):
            self._computed |= _names_of(*(part for _, part in numeric_parts(node)))
        elif isinstance(node, ast.AugAssign) and is_numeric(node.value):
            self._computed |= _names_of(node.target)
        elif isinstance(node, ast.Compare) and all(isinstance(op, _ORDER) for op in node.ops):
            self._computed |= _names_of(node.left, *node.comparators)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            self._odd |= _names_of(node.iter)
        elif isinstance(node, (ast.Subscript, ast.Attribute)):
            self._odd |= _names_of(node.value)
        if isinstance(node, ast.Subscript):
            self._counts |= _names_of(*ast.walk(node.slice))
        elif isinstance(node, ast.Call) and syntax.called_name(node) in _SIZED:
            self._counts |= _names_of(*(part for one in node.args for part in ast.walk(one)))

    def places(self, block: Sequence[ast.stmt], path: syntax.Path, bound: frozenset[str]) -> Iterator[Place]:
        """Yield the numeric expressions in a block."""
        for position, statement in enumerate(block):
            yield from self._statement(statement, path, position, bound)
            bound |= _surely_bound(statement)

    def _statement(
        self, statement: ast.stmt, around: syntax.Path, position: int, bound: frozenset[str]
    ) -> Iterator[Place]:
        if isinstance(statement, (*syntax.SCOPES, ast.While)):
            return
        path, names = (*around, position), self._weigh(bound)
        field = "test" if isinstance(statement, ast.If) else "value" if isinstance(statement, _VALUED) else ""
        if not _assigned(statement) & self._counts:
            for step, node in _fields(statement, field):
                is_returned = isinstance(statement, ast.Return)
                root = Place(path + step, node, names, names, (around, position), is_returned)
                yield from self._expression(root, bound)
        for name in ("body", "orelse", "finalbody"):
            inner = bound | _assigned(statement) if name == "body" else bound
            yield from self.places(getattr(statement, name, []), (*path, name), inner)
        for index, handler in enumerate(getattr(statement, "handlers", [])):
            yield from self.places(handler.body, (*path, "handlers", index, "body"), bound)

    def _expression(self, place: Place, bound: frozenset[str], *, is_operand: bool = False) -> Iterator[Place]:
        """Yield the expression at a place, if it is a number, and the numeric expressions in it.

        Args:
            place: The place, whatever its expression is.
            bound: The names that are certainly bound at the expression.
            is_operand: Whether the expression is an operand.
        """
        node = place.node
        if self._is_place(node, is_operand=is_operand):
            yield place
        operands = numeric_parts(node)
        parts: list[Part[ast.expr]] = []
        if isinstance(node, ast.Compare) and all(isinstance(op, _ORDER) for op in node.ops):
            operands = _fields(node, "left", "comparators")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            parts = _fields(node, "operand")
        elif isinstance(node, (ast.Tuple, ast.List, ast.BoolOp, ast.IfExp, ast.ListComp, ast.GeneratorExp)):
            parts = _fields(node, "elts", "values", "test", "elt")
        elif isinstance(node, ast.Call) and syntax.called_name(node) not in _SIZED:
            parts = [part for part in _fields(node, "args") if part not in operands and isinstance(part[1], _HOLDERS)]
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            bound |= _targets(generator.target for generator in node.generators)
            place = place._replace(names=self._weigh(bound))
        is_item = place.is_returned and isinstance(node, (ast.Tuple, ast.List))
        for step, part in operands:
            operand = place._replace(path=place.path + step, node=part, is_returned=False)
            yield from self._expression(operand, bound, is_operand=True)
        for step, part in parts:
            yield from self._expression(place._replace(path=place.path + step, node=part, is_returned=is_item), bound)

    def _is_place(self, node: ast.expr, *, is_operand: bool) -> bool:
        """Return whether an expression counts as a number.

        Items such as ``x[0]``, attributes, and calls to unknown functions count only if they are operands.
        """
        is_known_call = isinstance(node, ast.Call) and syntax.called_name(node) in _ELEMENTWISE | _FIRST_ONLY
        is_unsure = isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)) and not (is_operand or is_known_call)
        return is_numeric(node) and not is_unsure and not (isinstance(node, ast.Name) and node.id in self._texts)

    def _weigh(self, bound: frozenset[str]) -> Weighted:
        if bound not in self._weighed:
            found = sorted((self._constants | bound) - self._texts - self._deleted)
            self._weighed[bound] = tuple((name, self._weight(name)) for name in found)
        return self._weighed[bound]

    def _weight(self, name: str) -> float:
        if name in self._computed:
            return IN_ARITHMETIC
        if name in self._odd:
            return UNLIKELY
        return PARAMETER if name in self.parameters else OTHER


def _surely_bound(statement: ast.stmt) -> frozenset[str]:
    """Return the names that a statement has certainly bound when the next statement starts."""
    if isinstance(statement, ast.If):
        blocks = [one for one in (statement.body, statement.orelse) if not (one and isinstance(one[-1], _LEAVES))]
        ends = [frozenset[str]().union(*map(_surely_bound, block)) for block in blocks]
        return frozenset.intersection(*ends) if ends else frozenset()
    is_unsure = isinstance(statement, (ast.For, ast.AsyncFor)) or getattr(statement, "value", statement) is None
    return frozenset() if is_unsure else _assigned(statement)


def _assigned(statement: ast.stmt) -> frozenset[str]:
    """Return the names that an assignment, or the head of a loop or ``with``, binds; items and attributes bind none."""
    if isinstance(statement, (ast.AugAssign, ast.AnnAssign, ast.For, ast.AsyncFor)):
        return _targets([statement.target])
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return _targets(item.optional_vars for item in statement.items if item.optional_vars is not None)
    return _targets(statement.targets) if isinstance(statement, ast.Assign) else frozenset()


def _targets(targets: Iterable[ast.expr]) -> frozenset[str]:
    nodes = (node for target in targets for node in ast.walk(target))
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))


def _names_of(*nodes: ast.AST) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _non_numeric_names(node: ast.AST) -> set[str]:
    """Return the names that a node binds to a value other than a number, or uses in the manner of one."""
    if isinstance(node, ast.Assign) and not is_numeric(node.value):
        return _names_of(*node.targets)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
        return _names_of(node.func.value)
    return {node.name} if isinstance(node, syntax.FUNCTIONS) else set()


def _constants(tree: ast.Module) -> frozenset[str]:
    """Return the names that a module binds to numbers."""
    values = (one for one in tree.body if isinstance(one, ast.Assign) and isinstance(one.value, _WRITTEN))
    return frozenset().union(*(_targets(one.targets) for one in values if is_numeric(one.value)))
