"""Skeletons (equations with free parameters) as expression trees.

The classical operator, which needs no language model, takes these trees apart and recombines them.
"""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache, partial, reduce
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from evodiverse.kit.python import parse
from evodiverse.tasks.equations.skeleton import PARAMS, write_function

FloatArray = NDArray[np.float64]
T = TypeVar("T")

MAX_SIZE: Final = 2_000
"""The largest number of nodes; the tree of a skeleton that uses its locals again and again could fill the memory."""

_OPERATORS: Final = """Add add +, Sub subtract -, Mult multiply *, Div divide /, Pow power **, BitAnd logical_and &,
BitOr logical_or |, Lt less <, LtE less_equal <=, Gt greater >, GtE greater_equal >=, Eq equal ==, NotEq not_equal !=,
Mod mod, USub negative, Invert logical_not"""
"""The operators in `ast`, their operations, and the signs of those that are not written as functions."""

_ROWS: Final = [row.split() for row in _OPERATORS.split(",")]
_NAMES: Final = {getattr(ast, kind): name for kind, name, *_ in _ROWS}
_SIGNS: Final = {name: sign for _, name, *signs in _ROWS for sign in signs}
COMPARISONS: Final = ("less", "less_equal", "greater", "greater_equal", "not_equal", "equal")
CONJUNCTIONS: Final = ("logical_and", "logical_or", "logical_xor", "logical_not")


class NoEditError(Exception):
    """An edit does not apply to a tree, for example because there is no part to choose."""


class Kind(StrEnum):
    """The kind of expression that a place in a tree may hold."""

    REAL = "real"
    EXPONENT = "exponent"
    CONDITION = "condition"


Path = tuple[int, ...]
"""The way from the root of a tree down to a node: at each step, the index of the argument to take."""

SUMS: Final[Mapping[str, tuple[int, ...]]] = {"add": (1, 1), "subtract": (1, -1)}
PRODUCTS: Final[Mapping[str, tuple[int, ...]]] = {"multiply": (1, 1), "divide": (1, -1)}
SIGNED_SUMS: Final[Mapping[str, tuple[int, ...]]] = {**SUMS, "negative": (-1,)}
"""Operations that `flatten` goes through, with the sign of each argument."""


class Node:
    """An immutable expression: either an operation with its arguments, or a leaf with a value.

    The name of an operation is that of the numpy function. The value of a variable or a constant (pi or e) is its name;
    the value of a parameter is any number that identifies it. ``text`` identifies the expression, ``size`` is the
    number of its nodes, and ``is_constant`` is True if it has no variable.

    Raises:
        RecursionError: The expression has more than `MAX_SIZE` nodes.
    """

    __slots__ = ("arguments", "is_constant", "operation", "size", "text", "value")

    def __init__(self, operation: str, arguments: tuple["Node", ...] = (), value: str | float = 0) -> None:
        self.operation = operation
        self.arguments = arguments
        self.value = value
        self.is_constant: bool = operation != "variable" and all(argument.is_constant for argument in arguments)
        self.size: int = 1 + sum([argument.size for argument in arguments])
        if self.size > MAX_SIZE:
            raise RecursionError(f"a tree of {self.size:,} nodes, at most {MAX_SIZE:,}")
        self.text: str = (
            f"{operation}({','.join([part.text for part in arguments])})" if arguments else f"{operation} {value}"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text

    def leaves(self, operation: str) -> "Iterator[Node]":
        """Yield the leaves of the kind ``operation``, such as ``variable``, each as often as it occurs."""
        if self.operation == operation:
            yield self
        for argument in self.arguments:
            yield from argument.leaves(operation)

    def places(self, kind: Kind = Kind.REAL, path: Path = ()) -> "Iterator[tuple[Path, Node, Kind]]":
        """Yield every node of a tree, the root first, with the path to it and the kind of its place.

        The kind says which expressions may stand in this place of the tree, for instance only conditions (see `Kind`).

        Args:
            kind: The kind of the root's place.
            path: The path to the root, if the tree is part of a larger one.
        """
        yield path, self, kind
        for at, argument in enumerate(self.arguments):
            yield from argument.places(_kind(self.operation, at), (*path, at))

    def flatten(self, operations: Mapping[str, tuple[int, ...]]) -> "Iterator[tuple[int, Node]]":
        """Yield the parts of nested operations from left to right, each with the product of the signs above it.

        For instance, the parts of a sum (`SUMS`) are its addends, each with its sign. The parts of a product
        (`PRODUCTS`) are its factors, each with 1 above the fraction bar and -1 below it.
        """
        waiting = [(1, self)]
        while waiting:
            sign, part = waiting.pop()
            if part.operation in operations:
                pairs = zip(operations[part.operation], part.arguments, strict=True)
                waiting += reversed([(sign * own, argument) for own, argument in pairs])
            else:
                yield sign, part

    def terms(self) -> "list[Node]":
        """Return the addends of a sum, or the expression itself if it is not a sum."""
        if self.operation not in SUMS:
            return [self]
        left, right = (argument.terms() for argument in self.arguments)
        return left + (right if self.operation == "add" else [call("negative", term) for term in right])

    def factors(self) -> "list[tuple[int, Node]]":
        """Return the factors of a product, each paired with 1 above the fraction bar and -1 below it."""
        return list(self.flatten(PRODUCTS))

    def put(self, path: Path, new: "Node") -> "Node":
        """Return a tree with the node at a path replaced."""
        if not path:
            return new
        arguments = list(self.arguments)
        arguments[path[0]] = arguments[path[0]].put(path[1:], new)
        return Node(self.operation, tuple(arguments), self.value)

    def replace_parameters(self, replace: "Callable[[Node], Node]") -> "Node":
        """Return a tree with each parameter replaced by what ``replace`` returns for it."""
        if self.operation == "parameter":
            return replace(self)
        arguments = tuple(argument.replace_parameters(replace) for argument in self.arguments)
        return Node(self.operation, arguments, self.value)

    def shift_parameters(self, by: int) -> "Node":
        """Return a tree with the numbers of its parameters increased by ``by``."""
        return self.replace_parameters(lambda leaf: parameter(int(leaf.value) + by))

    def next_parameter(self) -> int:
        """Return the smallest number above those of all parameters in a tree."""
        return max((int(leaf.value) for leaf in self.leaves("parameter")), default=-1) + 1

    def n_parameters(self) -> int:
        """Return the number of different parameters in a tree."""
        return len({leaf.value for leaf in self.leaves("parameter")})

    def evaluate(self, columns: Mapping[str, FloatArray], params: Sequence[float]) -> FloatArray:
        """Return the ``(n,)`` values of an expression, or a single value if it has no variable; some may not be finite.

        Its functions must be functions of numpy, under their names in numpy.

        Args:
            columns: The ``(n,)`` values of each variable, by name.
            params: The values of the parameters, indexed by their numbers.
        """
        with np.errstate(all="ignore"):
            return np.asarray(self._evaluate(columns, params), dtype=np.float64)

    def _evaluate(self, columns: Mapping[str, FloatArray], params: Sequence[float]) -> Any:
        if self.operation == "parameter":
            return np.float64(params[int(self.value)])
        if self.operation == "number":
            return np.float64(self.value)
        if self.operation == "variable":
            return columns[str(self.value)]
        if self.operation == "constant":
            return getattr(np, str(self.value))
        return getattr(np, self.operation)(*(argument._evaluate(columns, params) for argument in self.arguments))


def _kind(operation: str, at: int) -> Kind:
    if operation in CONJUNCTIONS or (operation == "where" and at == 0):
        return Kind.CONDITION
    return Kind.EXPONENT if operation == "power" and at == 1 else Kind.REAL


def variable(name: str) -> Node:
    """Return a variable."""
    return Node("variable", value=name)


def parameter(number: int) -> Node:
    """Return a parameter."""
    return Node("parameter", value=number)


def number(value: float) -> Node:
    """Return a number, as an integer if it is whole."""
    return Node("number", value=int(value) if float(value).is_integer() else value)


def call(operation: str, *arguments: Node) -> Node:
    """Return an operation with its arguments."""
    return Node(operation, arguments)


def draw(choices: Sequence[T], rng: np.random.Generator) -> T:
    """Draw one of several values, all with the same probability.

    Raises:
        NoEditError: There is none.
    """
    if not choices:
        raise NoEditError
    return choices[int(rng.integers(len(choices)))]


def draw_inner_place(node: Node, rng: np.random.Generator) -> tuple[Path, Node, Kind]:
    """Draw a place below the root of a tree, or the root if there is none."""
    root, *inner = node.places()
    return draw(inner or [root], rng)


def build_total(terms: Sequence[Node]) -> Node:
    """Return the sum of at least one term."""
    return reduce(partial(call, "add"), terms)


def draw_factor_place(factors: Sequence[tuple[int, Node]], rng: np.random.Generator) -> int:
    """Draw the index of a factor that contains a variable.

    Raises:
        NoEditError: There is no such factor.
    """
    return draw([place for place, (_, factor) in enumerate(factors) if not factor.is_constant], rng)


def build_product(factors: Sequence[tuple[int, Node]]) -> Node:
    """Return the product of at least one factor, each paired with 1 above the fraction bar and -1 below it."""
    (sign, first), *others = sorted(factors, key=lambda pair: -pair[0])
    product = first if sign > 0 else call("divide", number(1), first)
    for sign, factor in others:
        product = call("multiply" if sign > 0 else "divide", product, factor)
    return product


@lru_cache(maxsize=4096)
def read_tree(source: str) -> Node:
    """Return the tree of the expression that a skeleton returns, with each local name replaced by its expression.

    A skeleton is an equation, given as the source of a Python function of the variables and the array ``params``. It
    must be in canonical form (see the module `evodiverse.tasks.equations.skeleton`).

    Raises:
        RecursionError: The tree would have more than `MAX_SIZE` nodes.
        SyntaxError: The source is not Python.
        ValueError: The source is not a skeleton in canonical form.
    """
    function = parse(source).body[0]
    scope: dict[str, Node] = {}
    for statement in function.body if isinstance(function, ast.FunctionDef) else []:
        match statement:
            case ast.Assign([ast.Name(name)], value):
                scope[name] = _read(value, scope)
            case ast.Return(ast.expr() as value):
                return _read(value, scope)
    raise ValueError(f"expected a skeleton in canonical form, got {source[:80]!r}")


def _read(node: ast.expr, scope: Mapping[str, Node]) -> Node:
    match node:
        case ast.Constant(int() | float() as value):
            return Node("number", value=value)
        case ast.Name(name):
            return scope.get(name, variable(name))
        case ast.Attribute(_, name):
            return Node("constant", value=name)
        case ast.Subscript(_, ast.Constant(int() as at)):
            return parameter(at)
        case ast.BinOp(left, operator, right) | ast.Compare(left, [operator], [right]):
            return call(_NAMES[type(operator)], _read(left, scope), _read(right, scope))
        case ast.UnaryOp(operator, operand):
            inner = _read(operand, scope)
            return inner if isinstance(operator, ast.UAdd) else call(_NAMES[type(operator)], inner)
        case ast.Call(ast.Attribute(_, name), arguments):
            return call(name, *(_read(argument, scope) for argument in arguments))
    raise ValueError(f"expected a part of a skeleton, got {ast.unparse(node)[:80]}")


def write_tree(node: Node, variables: tuple[str, ...]) -> str:
    """Return a tree as the source code of a Python function, with its parameters numbered in order of appearance."""
    numbers: dict[str | float, int] = {}

    def write_leaf(leaf: Node) -> str:
        if leaf.operation == "parameter":
            return f"{PARAMS}[{numbers.setdefault(leaf.value, len(numbers))}]"
        return f"({leaf.value!r})" if leaf.operation == "number" else str(leaf.value)

    return write_function(variables, _write(node, write_leaf))


def write_infix(node: Node, params: Sequence[float]) -> str:
    """Return an expression as a person reads it; its numbers have all digits that tell them from other floats.

    If the expression is nested too deeply, one of the exceptions in `NOT_PYTHON` is raised.
    """

    def write_leaf(leaf: Node) -> str:
        if leaf.operation not in ("parameter", "number"):
            return str(leaf.value)
        value = float(params[int(leaf.value)] if leaf.operation == "parameter" else leaf.value)
        is_third = leaf.operation == "number" and abs(value) < 1e6 and round(value) != value == round(3 * value) / 3
        return f"({round(3 * value)}/3)" if is_third else f"({repr(value).removesuffix('.0')})"

    text = ast.unparse(parse(_write(node, write_leaf)))  # which leaves out needless parentheses
    return text.replace("np.", "").replace(" ** ", "**").replace(" + -", " - ")


def _write(node: Node, write_leaf: Callable[[Node], str]) -> str:
    """Return an expression in Python, in parentheses if it has an operator, given a function that writes its leaves."""
    if not node.arguments:
        return f"np.{node.value}" if node.operation == "constant" else write_leaf(node)
    parts = [_write(argument, write_leaf) for argument in node.arguments]
    if node.operation in _SIGNS:
        return f"({parts[0]} {_SIGNS[node.operation]} {parts[1]})"
    return f"(-{parts[0]})" if node.operation == "negative" else f"np.{node.operation}({', '.join(parts)})"
