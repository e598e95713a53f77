"""Skeletons, the form of candidate equations: straight-line elementwise arithmetic of variables and parameters.

A skeleton is a function ``equation`` of the variables and ``params``. It is extracted from a program. A function that
does more than such arithmetic is rejected with a message that names the line at fault. The skeleton is then written in
canonical form: loops are unrolled, parameters are numbered in order of appearance, and unused assignments are dropped.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
FUNCTIONS = {name: n for n, names in enumerate((_ONE, _TWO, "where clip"), start=1) for name in names.split()}
# Other names of these functions: Python's builtins, those in Python's math, and numpy's since version 2.
_ALIASES = {
    "min": "minimum",
    "max": "maximum",
    "pow": "power",
    "degrees": "rad2deg",
    "radians": "deg2rad",
    **{f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")},
}
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Mod, ast.BitAnd, ast.BitOr)


class SkeletonError(Exception):
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
    try:
        statements = _Reader(variables, others, most_params).read(function)
    except RecursionError:
        raise SkeletonError("nested too deeply") from None
    except ValueError:  # Python cannot write the number into a message
        raise SkeletonError("an integer with too many digits for Python to print") from None
    numbers: dict[str, int] = {}
    body = re.sub(
        rf"\b{PARAMS}\[(\d+)\]",
        lambda found: f"{PARAMS}[{numbers.setdefault(found[1], len(numbers))}]",
        "\n".join(f"    {ast.unparse(ast.fix_missing_locations(statement))}" for statement in statements),
    )
    canonical = f"def {NAME}({', '.join([*variables, PARAMS])}):\n{body}\n"
    if len(canonical) > MAX_CHARACTERS:  # `read_tree` would reject it
        raise SkeletonError(f"{len(canonical):,} characters with its loops unrolled, at most {MAX_CHARACTERS:,}")
    linear = _find_linear(statements, {int(number) for number in numbers})
    return Skeleton(canonical, len(numbers), tuple(sorted(numbers[str(at)] for at in linear)))


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
    except NOT_PYTHON as error:
        raise SkeletonError(name_fault(error)) from None


def name_fault(error: BaseException) -> str:
    """Return why text is not Python, given the exception that parsing it raised."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno or 1}: {error.msg}"
    return f"not Python ({type(error).__name__})"


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


def _read_arguments(function: ast.FunctionDef) -> list[str]:
    """Return the names of a function's arguments, and refuse a function that takes any number of them."""
    names = list_arguments(function)
    if function.args.vararg or function.args.kwarg:
        raise SkeletonError(f"line {function.lineno}: {function.name} takes any number of arguments")
    if len(set(names)) != len(names):
        raise SkeletonError(f"line {function.lineno}: two arguments with the same name")
    return names


class _Reader:
    """Turns a function's statements into assignments and one return."""

    def __init__(self, variables: Sequence[str], others: Mapping[str, ast.FunctionDef], most_params: int) -> None:
        self._variables = tuple(variables)
        self._others = others
        self._most_params = most_params
        self._taken = {*variables, PARAMS, NAME, "np"}
        self._last_names: dict[str, str] = {}
        # What each name stands for: an expression, or for params and slices of it, the index at which the slice starts.
        self._names: dict[str, ast.expr | int] = {}
        self._owns: dict[str, str] = {}  # the name of each local in canonical form
        self._inlined: tuple[str, ...] = ()
        self._statements: list[ast.stmt] = []
        self._n_nodes = self._n_steps = self._depth = self._line = 0

    def read(self, function: ast.FunctionDef) -> list[ast.stmt]:
        given, known = _read_arguments(function), [*self._variables, PARAMS]
        if len(given) != len(known):
            raise SkeletonError(f"line {function.lineno}: the arguments must be {', '.join(known)}")
        # Arguments with the expected names may come in another order.
        *names, params = known if set(given) == set(known) else given
        own = [ast.Name(variable, ast.Load()) for variable in self._variables]
        self._names = {**dict(zip(names, own, strict=True)), params: 0}
        returned = ast.Return(self._body(function))  # which adds to the statements
        return _without_dead([*self._statements, returned])

    def _body(self, function: ast.FunctionDef) -> ast.expr:
        """Read a function's statements up to its first return, and return the value of the function.

        Loops are unrolled, and calls of other functions are inlined.
        """
        start = len(self._statements)
        self._block(function.body)
        for at, statement in enumerate(self._statements[start:], start):
            if isinstance(statement, ast.Return) and statement.value is not None:
                del self._statements[at:]
                return statement.value
        raise SkeletonError(f"{function.name} returns nothing")

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._line = statement.lineno
            self._step()
            match statement:
                case ast.Expr(ast.Constant(str())) | ast.Pass() | ast.Import(names=[ast.alias("numpy", "np")]):
                    pass
                case ast.Assign([target], value) | ast.AnnAssign(ast.Name() as target, _, ast.expr() as value):
                    self._assign(target, value)
                case ast.AugAssign(ast.Name(name) as target, operator, value):
                    old = ast.Name(name, ast.Load(), lineno=statement.lineno)
                    self._assign(target, ast.BinOp(old, operator, value))
                case ast.For(ast.Name(name), ast.Call(ast.Name("range"), bounds, []), inner, []):
                    self._loop(name, bounds, inner)
                case ast.Return(ast.expr() as value):
                    self._statements.append(ast.Return(self._expression(value)))
                    return
                case _:
                    raise self._refused(f"a statement of the kind {type(statement).__name__}")

    def _step(self) -> None:
        self._n_steps += 1
        if self._n_steps > MAX_STEPS:
            raise self._refused(f"more than {MAX_STEPS:,} statements and loop iterations")

    def _loop(self, name: str, bounds: Sequence[ast.expr], inner: Sequence[ast.stmt]) -> None:
        try:
            turns = range(*[self._integer(bound) for bound in bounds])
            n_turns = len(turns)
        except (TypeError, ValueError, OverflowError, SkeletonError) as error:
            raise self._refused(f"range: {error}") from None
        if n_turns > MAX_TURNS:
            raise self._refused(f"a loop of {n_turns} iterations, at most {MAX_TURNS}")
        for turn in turns:
            self._step()
            self._names[name] = ast.Constant(turn)
            self._block(inner)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        known = self._known(value)
        if isinstance(target, ast.Name) and isinstance(known, int):
            self._names[target.id] = known
            return
        pairs = list(self._pairs(target, value))
        expressions = [self._expression(one) for _, one in pairs]  # all are read before any name is bound
        used = {node.id for one in expressions for node in ast.walk(one) if isinstance(node, ast.Name)}
        for (name, _), expression in zip(pairs, expressions, strict=True):
            own = self._owns.get(name)
            if own is None or (len(pairs) > 1 and own in used):
                own = self._free_name(name)
            self._owns[name] = own
            self._names[name] = self._keep(own, expression)

    def _keep(self, own: str, value: ast.expr) -> ast.expr:
        """Assign a value to a local with this name in canonical form, and return the name."""
        self._statements.append(ast.Assign([ast.Name(own, ast.Store())], value))
        return ast.Name(own, ast.Load())

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
            case ast.Subscript(ast.Name(name), index) if isinstance(start := self._names.get(name), int):
                return self._parameter(start + self._integer(index))
            case ast.BinOp(left, operator, right) if isinstance(operator, _OPERATORS):
                return ast.BinOp(self._expression(left), operator, self._expression(right))
            case ast.UnaryOp((ast.USub() | ast.UAdd() | ast.Invert()) as operator, operand):
                return ast.UnaryOp(operator, self._expression(operand))
            case ast.Compare(left, [operator], [right]) if isinstance(operator, _COMPARISONS):
                return ast.Compare(self._expression(left), [operator], [self._expression(right)])
            case ast.Call(function, arguments, []):
                return self._call(function, arguments)
            case _:
                raise self._refused(ast.unparse(node)[:60])

    def _call(self, function: ast.expr, arguments: Sequence[ast.expr]) -> ast.expr:
        match function:
            case ast.Name(name) if name in self._others:
                return self._inline(self._others[name], arguments)
            case ast.Attribute(ast.Name("np" | "numpy" | "math"), name):
                pass
            case ast.Name(name) if name in FUNCTIONS or name in _ALIASES:
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
        names, defaults = _read_arguments(function), function.args.defaults
        missing = len(names) - len(arguments)
        if not 0 <= missing <= len(defaults):
            raise self._refused(f"{function.name} takes {count_of(len(names), 'argument')}, got {len(arguments)}")
        left_out = defaults[len(defaults) - missing :]
        if not all(isinstance(default, ast.Constant) for default in left_out):
            raise self._refused(f"{function.name} has a default that is not a number")
        inner: dict[str, ast.expr | int] = {}
        for name, argument in zip(names, [*arguments, *left_out], strict=True):
            self._step()
            value: ast.expr | int | None = self._known(argument)
            if value is None:
                value = self._expression(argument)
                if not isinstance(value, ast.Name | ast.Constant):
                    value = self._keep(self._free_name(name), value)
            inner[name] = value
        outer = self._names, self._owns, self._inlined, self._line
        self._names, self._owns, self._inlined = inner, {}, (*self._inlined, function.name)
        returned = self._body(function)
        self._names, self._owns, self._inlined, self._line = outer
        return returned

    def _name(self, name: str) -> ast.expr:
        meant = self._names.get(name)
        if isinstance(meant, int):
            raise self._refused("params without an index")
        if meant is None:
            raise self._refused(f"{name}, which is not a variable")
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

    def _known(self, node: ast.expr) -> ast.Constant | int | None:
        """Return the number that a loop counter or argument stands for, or the index at which a slice of params starts.

        The slice may be ``params`` itself, which starts at 0. The result is None for other nodes.
        """
        match node:
            case ast.Name(name) if isinstance(meant := self._names.get(name), ast.Constant | int):
                return meant
            case ast.Subscript(ast.Name(name), ast.Slice(lower, _, None)):
                start = self._names.get(name)
                return start + (0 if lower is None else self._integer(lower)) if isinstance(start, int) else None
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
            case ast.Name() if isinstance(known := self._known(node), ast.Constant):
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
        names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        bound, used = ({name.id for name in names if isinstance(name.ctx, ctx)} for ctx in (ast.Store, ast.Load))
        if bound <= needed:  # which is so for the return, since it binds no name
            needed = (needed - bound) | used
            kept.append(statement)
    return kept[::-1]


def _find_linear(statements: Sequence[ast.stmt], linear: set[int]) -> set[int]:
    """Return those of the parameters ``linear`` in which a skeleton (an equation with parameters) is jointly linear.

    They are found by a greedy search, so there may be a larger set of such parameters: some that keep the skeleton from
    being jointly linear are left out, until none does.
    """
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
    return _find_linear(statements, linear - nonlinear) if nonlinear else linear
