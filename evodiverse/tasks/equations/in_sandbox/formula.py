"""Equations in LaTeX and in sympy's notation. This module runs in the sandbox.

It imports only the standard library and sympy. Some expressions keep sympy busy forever or fill the memory; the limits
of the sandbox stop them.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy
from sympy.core.alphabets import greeks

# A number that sympy has computed from constants has up to this many digits more than the longest of them. Any others
# are too small to matter, or are rounding errors, such as those of 0.1 * 3.
MORE_DIGITS = 3
_GREEK = frozenset(greeks) - {"omicron"}  # LaTeX has no command for it
_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: sympy.Mod,
    ast.BitAnd: sympy.And,
    ast.BitOr: sympy.Or,
    ast.Invert: sympy.Not,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Lt: sympy.Lt,
    ast.LtE: sympy.Le,
    ast.Gt: sympy.Gt,
    ast.GtE: sympy.Ge,
    ast.Eq: sympy.Eq,
    ast.NotEq: sympy.Ne,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(sympy, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt")},
    **{f"arc{name}": getattr(sympy, f"a{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **dict.fromkeys(("abs", "absolute", "fabs"), sympy.Abs),
    **dict.fromkeys(("divide", "true_divide"), operator.truediv),
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "negative": operator.neg,
    "positive": operator.pos,
    "square": lambda one: one**2,
    "reciprocal": lambda one: 1 / one,
    "expm1": lambda one: sympy.exp(one) - 1,
    "log1p": lambda one: sympy.log(1 + one),
    "log2": lambda one: sympy.log(one, 2),
    "log10": lambda one: sympy.log(one, 10),
    "cbrt": lambda one: sympy.sign(one) * sympy.Abs(one) ** sympy.Rational(1, 3),
    "hypot": lambda one, other: sympy.sqrt(one**2 + other**2),
    "arctan2": sympy.atan2,
    "sign": sympy.sign,
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
    "mod": sympy.Mod,
    "maximum": sympy.Max,
    "minimum": sympy.Min,
    "clip": lambda one, low, high: sympy.Min(sympy.Max(one, low), high),
    "heaviside": sympy.Heaviside,
    "ones_like": lambda _: sympy.Integer(1),
    "zeros_like": lambda _: sympy.Integer(0),
    "where": lambda condition, one, other: sympy.Piecewise((one, condition), (other, True)),
    "logical_and": sympy.And,
    "logical_or": sympy.Or,
    "logical_not": sympy.Not,
    "less": sympy.Lt,
    "less_equal": sympy.Le,
    "greater": sympy.Gt,
    "greater_equal": sympy.Ge,
}


def drive(
    function: object,  # noqa: ARG001
    target: str,
    equations: Sequence[tuple[str, Sequence[float]]],
) -> list[list[str] | None]:
    """Return each equation in LaTeX and in sympy's notation.

    In the list, None stands for an equation that sympy cannot write.

    Args:
        function: Unused; the sandbox passes the function of a program to every driver.
        target: The name of the left-hand side.
        equations: The skeleton of each equation in canonical form, and the values of its parameters.
    """
    written: list[list[str] | None] = []
    for source, params in equations:
        try:
            expression = shorten_numbers(translate(source, params), MORE_DIGITS + _most_digits(source, params))
        except (ValueError, ArithmeticError, TypeError):  # TypeError: a number is not real
            written.append(None)
        else:
            written.append([_set(target, expression), str(expression)])
    return written


def _set(target: str, expression: Any) -> str:
    names = {symbol: _write_name(symbol.name) for symbol in expression.free_symbols}
    # Without a sign between them, names of several letters would run together.
    sign = r" \cdot " if any("mathrm" in name for name in names.values()) else None
    latex = sympy.latex(expression, symbol_names=names, ln_notation=True, mul_symbol=sign)
    return f"{_write_name(target)} = {latex}"


def translate(source: str, params: Sequence[float]) -> Any:
    """Return the right-hand side of a skeleton, an equation with parameters, as an expression of sympy.

    The parameters are replaced by their values, ``params``.

    Raises:
        ValueError: A part of the skeleton has no counterpart in sympy.
        ArithmeticError, TypeError: A number in the equation is too large, undefined or not real.
    """
    function = ast.parse(source).body[0]
    if not isinstance(function, ast.FunctionDef):
        raise TypeError("a skeleton is a function")
    scope: dict[str, Any] = {argument.arg: sympy.Symbol(argument.arg, real=True) for argument in function.args.args}
    for statement in function.body:
        match statement:
            case ast.Assign([ast.Name(name)], value):
                scope[name] = _translate(value, scope, params)
            case ast.Return(ast.expr() as value):
                return _translate(value, scope, params)
    raise ValueError("it returns nothing")


def _translate(node: ast.expr, scope: Mapping[str, Any], params: Sequence[float]) -> Any:
    match node:
        case ast.Constant(int() | float() as value):
            return _number(value)
        case ast.Name(name):
            return scope[name]
        case ast.Attribute(_, name):
            return sympy.pi if name == "pi" else sympy.E
        case ast.Subscript(_, ast.Constant(int() as place)):
            return _number(params[place])
        case ast.BinOp(base, ast.Pow(), exponent):
            return _power(_translate(base, scope, params), _translate(exponent, scope, params))
        case ast.BinOp(left, sign, right) | ast.Compare(left, [sign], [right]):
            return _OPERATORS[type(sign)](_translate(left, scope, params), _translate(right, scope, params))
        case ast.UnaryOp(sign, operand):
            return _OPERATORS[type(sign)](_translate(operand, scope, params))
        case ast.Call(ast.Attribute(_, "power" | "float_power"), [base, exponent]):
            return _power(_translate(base, scope, params), _translate(exponent, scope, params))
        case ast.Call(ast.Attribute(_, name), arguments) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_translate(argument, scope, params) for argument in arguments))
    raise ValueError(f"{ast.unparse(node)[:60]} has no counterpart in sympy")


def _number(value: float) -> Any:
    is_third = abs(value) < 1e9 and value == round(3 * value) / 3  # as a whole number is, too
    return sympy.Rational(round(3 * value), 3) if is_third else sympy.Float(value)


def _power(base: Any, exponent: Any) -> Any:
    """Return a power, in floating point if the base and the exponent are numbers and the exponent is large.

    Otherwise sympy would compute an exact number, which may take forever if powers are nested.
    """
    if base.is_number and exponent.is_number and abs(exponent) > 20:
        return sympy.Float(math.pow(base, exponent))
    return base**exponent


def shorten_numbers(expression: Any, digits: int) -> Any:
    """Return an expression with its floats rounded; those that are then whole and below 1e6 become integers."""
    return expression.xreplace({number: _shorten(float(number), digits) for number in expression.atoms(sympy.Float)})


def _shorten(value: float, digits: int) -> Any:
    text = f"{value:.{digits}g}" if digits < 16 else repr(value)
    is_whole = float(text).is_integer() and abs(value) < 1e6
    return sympy.Integer(int(float(text))) if is_whole else sympy.Float(text, _count_digits(text))


def _most_digits(source: str, params: Sequence[float]) -> int:
    """Return the number of significant digits of the constant that has the most."""
    constants = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    numbers = [value for value in constants if isinstance(value, int | float)]
    return max(_count_digits(repr(float(number))) for number in [1, *numbers, *params])


def _count_digits(text: str) -> int:
    return len(text.partition("e")[0].replace(".", "").strip("-0")) or 1


def _write_name(name: str) -> str:
    """Return a variable's name in LaTeX; parts after an underscore, and digits at the end, become subscripts."""
    head, *rest = [part for part in re.split(r"_+|(?<=[^\W\d_])(?=\d+$)", name) if part] or [r"\_"]
    return f"{_letter(head)}_{{{','.join(map(_letter, rest))}}}" if rest else _letter(head)


def _letter(text: str) -> str:
    if text in _GREEK:
        return rf"\{text}"
    escaped = re.sub(r"([%&#${}])", r"\\\1", re.sub(r"[\\^~]", "", text))
    return escaped if escaped.isascii() and (len(text) == 1 or text.isdigit()) else rf"\mathrm{{{escaped}}}"
