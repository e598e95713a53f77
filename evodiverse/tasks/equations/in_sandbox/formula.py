"""Equations in LaTeX and in sympy's notation. This module runs in the sandbox.

It imports only the standard library and sympy. Some expressions keep sympy busy forever or fill the memory; the limits
of the sandbox stop them.
"""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import sympy
from sympy.core.alphabets import greeks

Tree = list[Any]


def _power(base: Any, exponent: Any) -> Any:
    """Return a power, in floating point if the base and the exponent are numbers and the exponent is large.

    Otherwise sympy would compute an exact number, which may take forever if powers are nested.
    """
    if base.is_number and exponent.is_number and abs(exponent) > 20:
        return sympy.Float(math.pow(base, exponent))
    return base**exponent


def _look_up(module: ModuleType, names: str) -> dict[str, Callable[..., Any]]:
    """Return functions of a module under their names in numpy, given as ``numpy=module`` where they differ."""
    pairs = [name.partition("=") for name in names.split()]
    return {numpy: getattr(module, other or numpy) for numpy, _, other in pairs}


_SYMPY = """sin cos tan sinh cosh tanh exp log sqrt sign floor ceil=ceiling abs=Abs absolute=Abs fabs=Abs mod=Mod
arcsin=asin arccos=acos arctan=atan arcsinh=asinh arccosh=acosh arctanh=atanh arctan2=atan2 maximum=Max minimum=Min
heaviside=Heaviside logical_and=And logical_or=Or logical_not=Not less=Lt less_equal=Le greater=Gt greater_equal=Ge
equal=Eq not_equal=Ne"""
_PYTHON = "add subtract=sub multiply=mul divide=truediv true_divide=truediv negative=neg positive=pos"
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **_look_up(sympy, _SYMPY),
    **_look_up(operator, _PYTHON),
    **dict.fromkeys(("power", "float_power"), _power),
    "square": lambda one: one**2,
    "reciprocal": lambda one: 1 / one,
    "expm1": lambda one: sympy.exp(one) - 1,
    "log1p": lambda one: sympy.log(1 + one),
    "log2": lambda one: sympy.log(one, 2),
    "log10": lambda one: sympy.log(one, 10),
    "cbrt": lambda one: sympy.sign(one) * sympy.Abs(one) ** sympy.Rational(1, 3),
    "hypot": lambda one, other: sympy.sqrt(one**2 + other**2),
    "clip": lambda one, low, high: sympy.Min(sympy.Max(one, low), high),
    "ones_like": lambda _: sympy.Integer(1),
    "zeros_like": lambda _: sympy.Integer(0),
    "where": lambda condition, one, other: sympy.Piecewise((one, condition), (other, True)),
}


def drive(function: object, target: str, trees: Sequence[Tree]) -> list[list[str] | None]:  # noqa: ARG001
    """Return each equation in LaTeX and in sympy's notation.

    In the list, None stands for an equation that sympy cannot write.

    Args:
        function: Unused; the sandbox passes the function of a program to every driver.
        target: The name of the left-hand side.
        trees: The right-hand side of each equation; see `translate`.
    """
    return [_write(target, tree) for tree in trees]


def _write(target: str, tree: Tree) -> list[str] | None:
    try:
        digits = max([1, *(_count_digits(repr(float(number))) for number in _find_numbers(tree))])
        # A number computed from constants gets up to three digits more than the longest of them. Any others are too
        # small to matter, or are rounding errors, such as those of 0.1 * 3.
        expression = shorten_numbers(translate(tree), 3 + digits)
    except (ValueError, ArithmeticError, TypeError):  # TypeError: a number is not real
        return None
    names = {symbol: _write_name(symbol.name) for symbol in expression.free_symbols}
    # Without a sign between them, names of several letters would run together.
    sign = r" \cdot " if any("mathrm" in name for name in names.values()) else None
    latex = sympy.latex(expression, symbol_names=names, ln_notation=True, mul_symbol=sign)
    return [f"{_write_name(target)} = {latex}", str(expression)]


def translate(tree: Tree) -> Any:
    """Return an equation as an expression of sympy.

    Args:
        tree: A list of the name of an operation and its arguments, or of the kind of a leaf and its value.

    Raises:
        ValueError: A part of the equation has no counterpart in sympy.
        ArithmeticError, TypeError: A number in the equation is too large, undefined or not real.
    """
    match tree:
        case ["number", value]:
            return _number(value)
        case ["variable", name]:
            return sympy.Symbol(name, real=True)
        case ["constant", name]:
            return sympy.pi if name == "pi" else sympy.E
        case [operation, *arguments] if operation in _FUNCTIONS:
            return _FUNCTIONS[operation](*map(translate, arguments))
    raise ValueError(f"np.{tree[0]} has no counterpart in sympy")


def _find_numbers(tree: Tree) -> Iterator[float]:
    match tree:
        case ["number", value]:
            yield value
        case [_, *arguments]:
            yield from (number for one in arguments if isinstance(one, list) for number in _find_numbers(one))


def _number(value: float) -> Any:
    is_third = abs(value) < 1e9 and value == round(3 * value) / 3  # as a whole number is, too
    return sympy.Rational(round(3 * value), 3) if is_third else sympy.Float(value)


def shorten_numbers(expression: Any, digits: int) -> Any:
    """Return an expression with its floats rounded; those that are then whole and below 1e6 become integers."""
    return expression.xreplace({number: _shorten(float(number), digits) for number in expression.atoms(sympy.Float)})


def _shorten(value: float, digits: int) -> Any:
    text = f"{value:.{digits}g}" if digits < 16 else repr(value)
    is_whole = float(text).is_integer() and abs(value) < 1e6
    return sympy.Integer(int(float(text))) if is_whole else sympy.Float(text, _count_digits(text))


def _count_digits(text: str) -> int:
    return len(text.partition("e")[0].replace(".", "").strip("-0")) or 1


def _write_name(name: str) -> str:
    """Return a variable's name in LaTeX; parts after an underscore, and digits at the end, become subscripts."""
    head, *rest = [part for part in re.split(r"_+|(?<=[^\W\d_])(?=\d+$)", name) if part] or [r"\_"]
    return f"{_letter(head)}_{{{','.join(map(_letter, rest))}}}" if rest else _letter(head)


def _letter(text: str) -> str:
    if text in greeks and text != "omicron":  # LaTeX has no command for it
        return rf"\{text}"
    escaped = re.sub(r"([%&#${}])", r"\\\1", re.sub(r"[\\^~]", "", text))
    return escaped if escaped.isascii() and (len(text) == 1 or text.isdigit()) else rf"\mathrm{{{escaped}}}"
