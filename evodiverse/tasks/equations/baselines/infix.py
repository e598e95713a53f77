"""The parser of equations that an engine wrote as text: arithmetic of names and numbers, and nothing else."""

import ast
from collections.abc import Mapping
from typing import Final

from evodiverse.kit.python import NOT_PYTHON, parse_quietly
from evodiverse.tasks.equations.baselines.engine import Constants, Model
from evodiverse.tasks.equations.operators.trees import Node, call, number, variable

_SIGNS: Final = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "power"}
_FUNCTIONS: Final = {
    **{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "abs", "square")},
    "neg": "negative",
}


def read_infix(text: str, names: Mapping[str, str]) -> Model:
    """Return the model that an engine, which is a program for symbolic regression, wrote as text.

    ``^`` is a power. Numbers become constants of the model, except whole numbers in exponents.

    Args:
        text: The equation as the engine wrote it.
        names: The variables. Each key is a variable's name in the text, and the value is its name in the data.

    Raises:
        ValueError: The text is not arithmetic of these names; the message names the part at fault.
    """
    try:
        tree = parse_quietly(text.replace("^", "**")).body
    except NOT_PYTHON as error:
        raise ValueError(f"expected an equation, got {text[:80]!r}") from error
    match tree:
        case [ast.Expr(expression)]:
            constants = Constants()
            return Model(_read(expression, names, constants), tuple(constants.values))
    raise ValueError(f"expected an equation, got {text[:80]!r}")


def _read(node: ast.expr, names: Mapping[str, str], constants: Constants) -> Node:
    match node:
        case ast.Constant(int() | float() as value) if not isinstance(value, bool):
            return constants.add(value)
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)) if not isinstance(value, bool):
            return constants.add(-value)
        case ast.UnaryOp(ast.USub(), operand):
            return call("negative", _read(operand, names, constants))
        case ast.Name(name) if name in names:
            return variable(names[name])
        case ast.BinOp(base, ast.Pow(), exponent) if (power := _whole_number(exponent)) is not None:
            return call("power", _read(base, names, constants), number(power))
        case ast.BinOp(left, sign, right) if type(sign) in _SIGNS:
            return call(_SIGNS[type(sign)], _read(left, names, constants), _read(right, names, constants))
        case ast.Call(ast.Name("inv"), [argument], []):
            return call("divide", number(1), _read(argument, names, constants))
        case ast.Call(ast.Name(name), [argument], []) if name.removeprefix("safe_") in _FUNCTIONS:
            return call(_FUNCTIONS[name.removeprefix("safe_")], _read(argument, names, constants))
    raise ValueError(f"{ast.unparse(node)[:60]} has no counterpart in a skeleton")


def _whole_number(node: ast.expr) -> float | None:
    """Return the value of an expression that is a whole number, or None for any other expression."""
    match node:
        case ast.UnaryOp(ast.USub(), operand) if (value := _whole_number(operand)) is not None:
            return -value
        case ast.Constant(int() | float() as value) if not isinstance(value, bool) and float(value).is_integer():
            return value
    return None
