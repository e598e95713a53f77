"""PySR: genetic programming in Julia with many populations, one per island (Cranmer 2023)."""

from collections.abc import Mapping
from typing import Final

from evodiverse.tasks.equations.baselines import ENGINES, Front, Model, Order, add_constant
from evodiverse.tasks.equations.operators.trees import Node, call, number, read_tree, variable
from evodiverse.tasks.equations.skeleton import read_skeleton, write_function

settings: Final = ENGINES["pysr"].settings


def find_models(order: Order) -> Front:
    """Return PySR's hall of fame: the equations that fit better than all simpler ones, one per complexity at most."""
    from pysr import PySRRegressor  # imported here because it is optional and starts Julia

    regressor = PySRRegressor(
        **settings,
        random_state=order.seed % 2**32,
        niterations=10**9,
        timeout_in_seconds=order.seconds,
        max_evals=order.evaluations,
        progress=False,
        verbosity=0,
        temp_equation_file=True,
    )
    regressor.fit(order.inputs, order.target)
    names = {f"x{at}": name for at, name in enumerate(order.variables)}  # our names could mean something to sympy
    return Front(
        models=[read_infix(text, names) for text in regressor.equations_["equation"]],
        selected=list(regressor.equations_.index).index(regressor.get_best().name),
        evaluations=None,
    )


def read_infix(text: str, names: Mapping[str, str]) -> Model:
    """Return the model that PySR wrote as text.

    ``^`` is a power. Numbers become constants of the model, except whole numbers in exponents.

    Args:
        text: The equation as PySR wrote it.
        names: The variables. Each key is a variable's name in the text, and the value is its name in the data.

    Raises:
        SkeletonError: The text is not arithmetic of these names; the message names the part at fault.
    """
    right = text.replace("^", "**").replace("safe_", "")
    source = read_skeleton(write_function(list(names), f"({right})"), list(names), most_params=0).source
    constants: list[float] = []

    def convert(node: Node, *, is_exponent: bool = False) -> Node:
        is_negated = node.operation == "negative" and node.arguments[0].operation == "number"
        if is_negated or node.operation == "number":
            value = -float(node.arguments[0].value) if is_negated else float(node.value)
            return number(value) if is_exponent and value.is_integer() else add_constant(constants, value)
        if node.operation == "variable":
            return variable(names[str(node.value)])
        is_power = node.operation == "power"
        inner = [convert(one, is_exponent=is_power and at == 1) for at, one in enumerate(node.arguments)]
        return call(node.operation, *inner)

    return Model(convert(read_tree(source)), constants)
