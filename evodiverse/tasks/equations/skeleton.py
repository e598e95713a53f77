"""Skeletons, the form of candidate equations: straight-line elementwise arithmetic of variables and parameters.

A skeleton is a function ``equation`` of the variables and ``params``. It is extracted from a program. A function that
does more than such arithmetic is rejected with a message that names the line at fault. The skeleton is then written in
canonical form: loops are unrolled, parameters are numbered in order of appearance, and unused assignments are dropped.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from evodiverse.kit.python import NOT_PYTHON, parse_quietly
from evodiverse.text import count_of

NAME = "equation"
PARAMS = "params"
MAX_PARAMS = 10
MAX_NODES = 2_000
MAX_TURNS = 20
# Limit on the total number of statements, loop iterations, arguments of inlined functions and parts of indices. What is
# inside a loop counts anew in each iteration.
MAX_STEPS = 20_000
MAX_DEPTH = 100
MAX_CHARACTERS = 20_000
# The elementwise functions of numpy, by their number of arguments.
_ONE = """sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp expm1 exp2 log log10 log2 log1p
sqrt cbrt abs absolute fabs sign square reciprocal negative positive floor ceil sinc ones_like zeros_like logical_not
deg2rad rad2deg"""
_TWO = """power float_power add subtract multiply divide true_divide maximum minimum arctan2 hypot heaviside mod fmod
full_like logical_and logical_or logical_xor greater greater_equal less less_equal equal not_equal"""
FUNCTIONS: Mapping[str, int] = {
    **dict.fromkeys(_ONE.split(), 1),
    **dict.fromkeys(_TWO.split(), 2),
    **dict.fromkeys(("where", "clip"), 3),
}
# Other names of these functions: Python's builtins, those in Python's math, and numpy's since version 2.
_ALIASES = {
    "min": "minimum",
    "max": "maximum",
    "pow": "power",
    "degrees": "rad2deg",
    "radians": "deg2rad",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "atan2": "arctan2",
}
_MODULES = ("np", "numpy", "math")
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Mod, ast.BitAnd, ast.BitOr)


class SkeletonError(ValueError):
    """A program is not a skeleton, a function with only elementwise arithmetic of variables and parameters.

    The message names the reason and, if one line is at fault, the line.
    """


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A candidate in the form in which it is evaluated.

    Attributes:
        source: The source code in canonical form.
        n_params: The number of parameters.
        linear: The numbers of the parameters in which the skeleton is jointly linear, that is, linear in all at once.
    """

    source: str
    n_params: int
    linear: tuple[int, ...]


def read_skeleton(source: str, variables: Sequence[str], most_params: int = MAX_PARAMS) -> Skeleton:
    """Return the skeleton of a program's function ``equation``, with calls to the program's other functions inlined.

    A skeleton is an equation with free parameters: a function that does no more than elementwise arithmetic of
    variables and parameters. It is returned in canonical form. If no function has this name, the last function of the
    program takes its place.

    Args:
        source: The source code of the program.
        variables: The names of the variables, in the order of the function's arguments.
        most_params: The largest number of parameters that the skeleton may have.

    Raises:
        SkeletonError: The program is not Python, is too long or has no function, or the function is not a skeleton.
    """
    tree = read_tree(source)
    function = find_function(tree, NAME)
    others = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef) and node is not function}
    return build_skeleton(function, variables, others, most_params)


def write_function(variables: Sequence[str], expression: str) -> str:
    """Return the source code of the equation that has an expression as its right-hand side."""
    return f"def {NAME}({', '.join([*variables, PARAMS])}):\n    return {expression}\n"


def read_tree(source: str) -> ast.Module:
    """Return the syntax tree of a program.

    Raises:
        SkeletonError: The program is not Python, or is too long.
    """
    if len(source) > MAX_CHARACTERS:
        raise SkeletonError(f"{len(source):,} characters, at most {MAX_CHARACTERS:,}")
    try:
        return parse_quietly(source)
    except SyntaxError as error:
        raise SkeletonError(f"line {error.lineno}: {error.msg}") from None
    except NOT_PYTHON as error:
        raise SkeletonError(f"not Python ({type(error).__name__})") from None


def find_function(tree: ast.Module, name: str) -> ast.FunctionDef:
    """Return the last function with this name or, if no function has it, the last function of the program.

    A function inside another function or a class is returned only if no other one qualifies.

    Raises:
        SkeletonError: The program has no function.
    """
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    if not functions:
        raise SkeletonError("the text defines no function")
    outer = set(tree.body)
    return max(reversed(functions), key=lambda function: (function.name == name, function in outer))


def list_arguments(function: ast.FunctionDef) -> list[str]:
    """Return the names of a function's arguments, without ``*args`` and ``**kwargs``."""
    arguments = function.args
    return [argument.arg for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]


def build_skeleton(
    function: ast.FunctionDef,
    variables: Sequence[str],
    others: Mapping[str, ast.FunctionDef],
    most_params: int = MAX_PARAMS,
) -> Skeleton:
    """Return the skeleton of a function: elementwise arithmetic of variables and parameters, in canonical form.

    In this form, loops are unrolled, calls to ``others`` are inlined, and parameters are numbered in order of
    appearance.

    Args:
        function: The syntax tree of the function.
        variables: The names of the variables, in the order of the function's arguments.
        others: The functions that it may call, by name.
        most_params: The largest number of parameters that the skeleton may have.

    Raises:
        SkeletonError: The function is not a skeleton.
    """
    try:
        statements = _Reader(variables, others, most_params).read(function)
    except SkeletonError:
        raise
    except RecursionError:
        raise SkeletonError("nested too deeply") from None
    except ValueError:  # Python cannot write the number into a message
        raise SkeletonError("an integer with too many digits for Python to print") from None
    numbers = _Numbers()
    statements = [numbers.visit(statement) for statement in statements]
    n_params = len(numbers.new)
    arguments = ", ".join([*variables, PARAMS])
    body = "\n".join(f"    {ast.unparse(ast.fix_missing_locations(statement))}" for statement in statements)
    source = f"def {NAME}({arguments}):\n{body}\n"
    if len(source) > MAX_CHARACTERS:  # `read_tree` would reject it
        raise SkeletonError(f"{len(source):,} characters with its loops unrolled, at most {MAX_CHARACTERS:,}")
    return Skeleton(source, n_params, find_linear(statements, n_params))


class _Scope(NamedTuple):
    """The meaning of the names in a function's body.

    Attributes:
        names: The names of variables, locals and loop counters, each with the expression that it stands for.
        views: The names for ``params`` or a slice of it, each with the index at which the slice starts.
        owns: The names of locals, each with its name in canonical form.
    """

    names: dict[str, ast.expr]
    views: dict[str, int]
    owns: dict[str, str]

    def bind(self, name: str, value: ast.expr) -> None:
        """Give a name a value, replacing any earlier meaning."""
        self.views.pop(name, None)
        self.names[name] = value


class _Reader:
    """Turns a function's statements into assignments and one return."""

    def __init__(self, variables: Sequence[str], others: Mapping[str, ast.FunctionDef], most_params: int) -> None:
        self._variables = tuple(variables)
        self._others = others
        self._most_params = most_params
        self._taken = {*variables, PARAMS, NAME, "np"}
        self._last_names: dict[str, str] = {}
        self._scope = _Scope({}, {}, {})
        self._inlined: list[str] = []
        self._before: list[ast.stmt] = []
        self._n_nodes = 0
        self._n_steps = 0
        self._depth = 0
        self._line = 0

    def read(self, function: ast.FunctionDef) -> list[ast.stmt]:
        given = self._arguments(function)
        if len(given) != len(self._variables) + 1:
            raise self._refused(f"the arguments must be {', '.join([*self._variables, PARAMS])}")
        known = [*self._variables, PARAMS]
        *names, params = (
            known if set(given) == set(known) else given
        )  # arguments with the expected names may come in another order
        variables: dict[str, ast.expr] = {
            name: ast.Name(own, ast.Load()) for name, own in zip(names, self._variables, strict=True)
        }
        self._scope = _Scope(variables, {params: 0}, {})
        return _without_dead(self._body(function))

    def _arguments(self, function: ast.FunctionDef) -> list[str]:
        """Return the names of a function's arguments."""
        self._line = function.lineno
        arguments = function.args
        given = list_arguments(function)
        if arguments.vararg or arguments.kwarg:
            raise self._refused(f"{function.name} takes any number of arguments")
        if len(set(given)) != len(given):
            raise self._refused("two arguments with the same name")
        return given

    def _body(self, function: ast.FunctionDef) -> list[ast.stmt]:
        """Return a function's statements up to its first return, with loops unrolled and helper functions inlined."""
        statements = list(self._block(function.body))
        ends = [isinstance(statement, ast.Return) for statement in statements]
        if not any(ends):
            raise SkeletonError(f"{function.name} returns nothing")
        return statements[: ends.index(True) + 1]

    def _block(self, body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
        for statement in body:
            self._line = statement.lineno
            self._step()
            match statement:
                case ast.Expr(ast.Constant(str())) | ast.Pass():
                    pass
                case ast.Import(names=[ast.alias("numpy", "np")]):
                    pass
                case ast.Assign([target], value):
                    yield from self._assign(target, value)
                case ast.AnnAssign(ast.Name() as target, _, ast.expr() as value):
                    yield from self._assign(target, value)
                case ast.AugAssign(ast.Name(name) as target, operator, value):
                    old = ast.Name(name, ast.Load(), lineno=statement.lineno)
                    yield from self._assign(target, ast.BinOp(old, operator, value))
                case ast.For(ast.Name(name), ast.Call(ast.Name("range"), bounds, []), inner, []):
                    yield from self._loop(name, bounds, inner)
                case ast.Return(ast.expr() as value):
                    returned = ast.Return(self._expression(value))
                    yield from self._take_before()
                    yield returned
                    return
                case _:
                    raise self._refused(f"a statement of the kind {type(statement).__name__}")

    def _step(self) -> None:
        self._n_steps += 1
        if self._n_steps > MAX_STEPS:
            raise self._refused(f"more than {MAX_STEPS:,} statements and loop iterations")

    def _take_before(self) -> list[ast.stmt]:
        """Return and clear the statements of inlined functions that must precede the expression read last."""
        taken, self._before = self._before, []
        return taken

    def _loop(self, name: str, bounds: Sequence[ast.expr], inner: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
        try:
            turns = range(*[self._integer(bound) for bound in bounds])
            n_turns = len(turns)
        except (TypeError, ValueError, OverflowError) as error:
            raise self._refused(f"range: {error}") from None
        if n_turns > MAX_TURNS:
            raise self._refused(f"a loop of {n_turns} iterations, at most {MAX_TURNS}")
        for turn in turns:
            self._step()
            self._scope.bind(name, ast.Constant(turn))
            yield from self._block(inner)

    def _assign(self, target: ast.expr, value: ast.expr) -> Iterator[ast.stmt]:
        view = self._view(value)
        if isinstance(target, ast.Name) and view is not None:
            self._scope.views[target.id] = view
            return
        pairs = list(self._pairs(target, value))
        expressions = [self._expression(one) for _, one in pairs]  # all are read before any name is bound
        yield from self._take_before()
        used = {node.id for one in expressions for node in ast.walk(one) if isinstance(node, ast.Name)}
        for (name, _), expression in zip(pairs, expressions, strict=True):
            own = self._scope.owns.get(name)
            if own is None or (len(pairs) > 1 and own in used):
                own = self._free_name(name)
            self._scope.owns[name] = own
            self._scope.bind(name, ast.Name(own, ast.Load()))
            yield ast.Assign([ast.Name(own, ast.Store())], expression)

    def _pairs(self, target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
        """Yield the names that an assignment binds, each with its value."""
        self._step()
        match target, value:
            case ast.Name(name), _:
                yield name, value
            case ast.Tuple(targets), ast.Tuple(values) if len(targets) == len(values):
                for one, other in zip(targets, values, strict=True):
                    yield from self._pairs(one, other)
            case ast.Tuple(targets), ast.Subscript(whole, ast.Slice(lower, upper, None)):
                first = 0 if lower is None else self._integer(lower)
                last = first + len(targets) if upper is None else self._integer(upper)
                if last - first != len(targets):
                    raise self._refused(f"{last - first} values for {len(targets)} names")
                for at, one in enumerate(targets, start=first):
                    yield from self._pairs(one, ast.Subscript(whole, ast.Constant(at), ast.Load()))
            case ast.Tuple(targets), ast.Name():
                for at, one in enumerate(targets):
                    yield from self._pairs(one, ast.Subscript(value, ast.Constant(at), ast.Load()))
            case _:
                raise self._refused(f"an assignment to {ast.unparse(target)[:40]}")

    def _free_name(self, name: str) -> str:
        """Return an unused name for a local."""
        free = self._last_names.get(name, name)
        while free in self._taken:
            free += "_"
        self._taken.add(free)
        self._last_names[name] = free  # all shorter variants are taken
        return free

    def _expression(self, node: ast.expr) -> ast.expr:
        self._n_nodes += 1
        self._depth += 1
        if self._n_nodes > MAX_NODES:
            raise SkeletonError(f"more than {MAX_NODES:,} operations")
        if self._depth > MAX_DEPTH:
            raise self._refused(f"nested more than {MAX_DEPTH} levels deep")
        read = self._read_expression(node)
        self._depth -= 1
        return read

    def _read_expression(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.Constant(bool()):
                raise self._refused(str(node.value))
            case ast.Constant(int() | float() as number):
                return self._number(number)
            case ast.Name(name):
                return self._name(name)
            case ast.Attribute(ast.Name("np" | "numpy" | "math"), ("pi" | "e") as name):
                return ast.Attribute(ast.Name("np", ast.Load()), name, ast.Load())
            case ast.Subscript(ast.Name(name), index) if name in self._scope.views:
                return self._parameter(self._scope.views[name] + self._integer(index))
            case ast.BinOp(left, operator, right) if isinstance(operator, _OPERATORS):
                return ast.BinOp(self._expression(left), operator, self._expression(right))
            case ast.UnaryOp((ast.USub() | ast.UAdd() | ast.Invert()) as operator, operand):
                return ast.UnaryOp(operator, self._expression(operand))
            case ast.Compare(left, [operator], [right]) if not isinstance(
                operator, ast.In | ast.NotIn | ast.Is | ast.IsNot
            ):
                return ast.Compare(self._expression(left), [operator], [self._expression(right)])
            case ast.Call(function, arguments, []):
                return self._call(function, arguments)
            case _:
                raise self._refused(ast.unparse(node)[:60])

    def _call(self, function: ast.expr, arguments: Sequence[ast.expr]) -> ast.expr:
        match function:
            case ast.Name(name) if name in self._others:
                return self._inline(self._others[name], arguments)
            case ast.Name(name) if name in FUNCTIONS or name in _ALIASES:
                pass
            case ast.Attribute(ast.Name(module), name) if module in _MODULES:
                pass
            case _:
                raise self._refused(f"a call of {ast.unparse(function)[:40]}")
        name = _ALIASES.get(name, name)
        if FUNCTIONS.get(name) != len(arguments):
            if name in FUNCTIONS:
                raise self._refused(f"np.{name} takes {count_of(FUNCTIONS[name], 'argument')}, got {len(arguments)}")
            raise self._refused(f"np.{name} is not a function that works element by element")
        if name == "full_like":  # full_like would reject a parameter of another shape
            ones = self._expression(_numpy("ones_like", [arguments[0]]))
            return ast.BinOp(self._expression(arguments[1]), ast.Mult(), ones)
        return _numpy(name, [self._expression(argument) for argument in arguments])

    def _inline(self, function: ast.FunctionDef, arguments: Sequence[ast.expr]) -> ast.expr:
        """Return the value of a call to another function, whose assignments are put before the current statement."""
        if function.name in self._inlined:
            raise self._refused(f"{function.name} calls itself")
        inner, line = _Scope({}, {}, {}), self._line
        names, defaults = self._arguments(function), function.args.defaults
        missing = len(names) - len(arguments)
        self._line = line
        if not 0 <= missing <= len(defaults):
            raise self._refused(f"{function.name} takes {count_of(len(names), 'argument')}, got {len(arguments)}")
        left_out = defaults[len(defaults) - missing :]
        if not all(isinstance(default, ast.Constant) for default in left_out):
            raise self._refused(f"{function.name} has a default that is not a number")
        given = [*arguments, *left_out]
        for name, argument in zip(names, given, strict=True):
            self._step()
            view, known = self._view(argument), self._known_number(argument)
            if view is not None:
                inner.views[name] = view
                continue
            if known is not None:
                inner.names[name] = known
                continue
            value = self._expression(argument)
            if not isinstance(value, ast.Name | ast.Constant):
                own = self._free_name(name)
                self._before.append(ast.Assign([ast.Name(own, ast.Store())], value))
                value = ast.Name(own, ast.Load())
            inner.names[name] = value
        outer, self._scope = self._scope, inner
        before, self._before = self._before, []
        self._inlined.append(function.name)
        *statements, returned = self._body(function)
        self._inlined.pop()
        self._before = [*before, *statements]
        self._scope, self._line = outer, line
        if not (isinstance(returned, ast.Return) and returned.value is not None):
            raise TypeError("the body of a function must end with a return of a value")
        return returned.value

    def _name(self, name: str) -> ast.expr:
        if name in self._scope.views:
            raise self._refused("params without an index")
        if name not in self._scope.names:
            raise self._refused(f"{name}, which is not a variable")
        meant = self._scope.names[name]
        return self._number(meant.value) if isinstance(meant, ast.Constant) else meant

    def _number(self, number: Any) -> ast.expr:
        """Return the syntax tree of a number, in the form in which Python parses it.

        A negative number, such as the value of a loop counter, becomes a unary minus with a positive operand.
        """
        if not abs(number) < 1e300:
            raise self._refused(f"the number {str(number)[:20]}")
        if number < 0:
            return ast.UnaryOp(ast.USub(), self._expression(ast.Constant(-number)))
        return ast.Constant(number)

    def _known_number(self, node: ast.expr) -> ast.Constant | None:
        """Return the number that a loop counter or an argument of an inlined function stands for, otherwise None."""
        meant = self._scope.names.get(node.id) if isinstance(node, ast.Name) else None
        return meant if isinstance(meant, ast.Constant) else None

    def _view(self, node: ast.expr) -> int | None:
        """Return the index at which a slice of ``params`` starts, 0 for ``params`` itself, or None for other nodes."""
        match node:
            case ast.Name(name):
                return self._scope.views.get(name)
            case ast.Subscript(ast.Name(name), ast.Slice(lower, _, None)) if name in self._scope.views:
                return self._scope.views[name] + (0 if lower is None else self._integer(lower))
            case _:
                return None

    def _parameter(self, index: int) -> ast.expr:
        if not 0 <= index < self._most_params:
            raise self._refused(f"params[{index}], but at most {count_of(self._most_params, 'parameter')} may be used")
        return ast.Subscript(ast.Name(PARAMS, ast.Load()), ast.Constant(index), ast.Load())

    def _integer(self, node: ast.expr) -> int:
        """Return the value of an index or a bound: a constant, a loop counter, or integer arithmetic of these."""
        self._step()
        match node:
            case ast.Constant(int() as number) if not isinstance(number, bool) and abs(number) < 1_000:
                return number
            case ast.Name() if (known := self._known_number(node)) is not None:
                return self._integer(known)
            case ast.BinOp(left, (ast.Add() | ast.Sub() | ast.Mult()) as operator, right):
                one, other = self._integer(left), self._integer(right)
                if isinstance(operator, ast.Mult):
                    return one * other
                return one + other if isinstance(operator, ast.Add) else one - other
            case _:
                raise self._refused(f"{ast.unparse(node)[:40]} where an integer is expected")

    def _refused(self, what: str) -> SkeletonError:
        return SkeletonError(f"line {self._line}: {what}")


def _numpy(name: str, arguments: list[ast.expr]) -> ast.expr:
    return ast.Call(ast.Attribute(ast.Name("np", ast.Load()), name, ast.Load()), arguments, [])


def _without_dead(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the statements, except for assignments whose value is never used."""
    needed: set[str] = set()
    kept: list[ast.stmt] = []
    for statement in reversed(statements):
        match statement:
            case ast.Assign([ast.Name(name)]) if name not in needed:
                continue
            case ast.Assign([ast.Name(name)]):
                needed.discard(name)
        needed |= {
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        kept.append(statement)
    return kept[::-1]


class _Numbers(ast.NodeTransformer):
    """Renumbers the parameters in order of appearance."""

    def __init__(self) -> None:
        self.new: dict[int, int] = {}

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        index: Any = node.slice
        number = self.new.setdefault(index.value, len(self.new))
        return ast.Subscript(ast.Name(PARAMS, ast.Load()), ast.Constant(number), ast.Load())


def find_linear(statements: Sequence[ast.stmt], n_params: int) -> tuple[int, ...]:
    """Return the sorted indices of parameters in which a skeleton (an equation with parameters) is jointly linear.

    They are found by a greedy search, so there may be a larger set of such parameters.
    """
    linear = set(range(n_params))
    while True:
        nonlinear = _find_nonlinear(statements, linear)
        if not nonlinear:
            return tuple(sorted(linear))
        linear -= nonlinear


def _find_nonlinear(statements: Sequence[ast.stmt], linear: set[int]) -> set[int]:
    """Return some parameters that keep a skeleton from being jointly linear in ``linear``, or none if it is linear."""
    scope: dict[str, set[int]] = {}
    nonlinear: set[int] = set()

    def walk(node: ast.AST) -> set[int]:
        """Return the numbers of the parameters in which an expression may be linear; add others to ``nonlinear``.

        The expression is jointly linear in those returned parameters that are not in ``nonlinear`` afterward. If both
        factors of a product have such parameters, those of the factor with fewer are added to ``nonlinear``.
        """
        match node:
            case ast.Subscript(_, ast.Constant(int() as number)):
                return {number} & linear
            case ast.Name(name):
                return scope.get(name, set())
            case ast.BinOp(left, ast.Add() | ast.Sub(), right):
                return walk(left) | walk(right)
            case ast.UnaryOp(ast.USub() | ast.UAdd(), operand):
                return walk(operand)
            case ast.BinOp(left, ast.Mult(), right):
                first, second = walk(left), walk(right)
                if first and second:
                    nonlinear.update(second if len(second) < len(first) else first)
                return first | second
            case ast.BinOp(left, ast.Div(), right):
                nonlinear.update(walk(right))
                return walk(left)
            case ast.Call(ast.Attribute(_, "where"), [condition, first, second]):
                nonlinear.update(walk(condition))
                return walk(first) | walk(second)
        for child in ast.iter_child_nodes(node):
            nonlinear.update(walk(child))
        return set()

    for statement in statements:
        match statement:
            case ast.Assign([ast.Name(name)], value):
                scope[name] = walk(value)
            case ast.Return(ast.expr() as value):
                walk(value)
    return nonlinear
