"""Operon: genetic programming in C++ that fits constants by Levenberg-Marquardt steps (Burlacu 2020)."""

import time
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np

from evodiverse.tasks.equations.baselines import ENGINES, Front, Model, Order, add_constant
from evodiverse.tasks.equations.operators.trees import Node, call, number, variable

settings: Final = ENGINES["operon"].settings
_ENDLESS: Final = 10**9
_FOLDED: Final = {"Add": "add", "Sub": "subtract", "Mul": "multiply", "Div": "divide", "Pow": "power"}


def find_models(order: Order) -> Front:
    """Return Operon's Pareto front of error and length. The model of minimum description length is selected.

    The description length depends on the standard deviation of the noise in the target, which is not known. As in
    SRBench, the root mean squared error of a random forest on the training data takes its place.
    """
    from pyoperon.sklearn import SymbolicRegressor  # imported here because it is optional
    from sklearn.ensemble import RandomForestRegressor

    began = time.perf_counter()
    forest = RandomForestRegressor(random_state=order.seed % 2**32).fit(order.inputs, order.target)
    noise = float(np.sqrt(np.mean((forest.predict(order.inputs) - order.target) ** 2)))
    left = None if order.seconds is None else max(1, round(order.seconds - (time.perf_counter() - began)))
    regressor = SymbolicRegressor(
        **settings,
        uncertainty=[noise],
        random_state=order.seed,
        max_time=left,
        max_evaluations=order.evaluations or _ENDLESS,
        generations=_ENDLESS,
    )
    regressor.fit(order.inputs, order.target)
    names = dict(zip(regressor.variables_, order.variables, strict=True))
    front = regressor.pareto_front_
    return Front(
        models=[read_model(found["tree"].Nodes, names) for found in front],
        selected=min(range(len(front)), key=lambda at: front[at][settings["model_selection_criterion"]]),
        evaluations=regressor.stats_["residual_evaluations"] + regressor.stats_["jacobian_evaluations"],
    )


def read_model(nodes: Sequence[Any], names: Mapping[int, str]) -> Model:
    """Return the model that Operon's nodes represent.

    Args:
        nodes: The nodes in postfix order: the arguments of a node precede it, in reverse order. The ``Value`` of a
            constant is the constant itself. Any other node is multiplied by its ``Value``.
        names: The names of the variables, by the hashes that Operon uses for them.

    Raises:
        ValueError: A node is of a kind that this module does not translate.
    """
    constants, stack = list[float](), list[Node]()
    for node in nodes:
        kind = node.Type.name
        if kind == "Constant":
            stack.append(add_constant(constants, node.Value))
            continue
        arguments = [stack.pop() for _ in range(node.Arity)]
        read = variable(names[node.HashValue]) if kind == "Variable" else _read(kind, arguments)
        stack.append(read if node.Value == 1 else call("multiply", add_constant(constants, node.Value), read))
    (tree,) = stack
    return Model(tree, constants)


def _read(kind: str, arguments: Sequence[Node]) -> Node:
    match kind, arguments:
        case "Sub", [one]:
            return call("negative", one)
        case "Div", [one]:
            return call("divide", number(1), one)
        case (("Cos" | "Exp" | "Log" | "Sin" | "Sqrt" | "Tanh"), _):
            return call(kind.lower(), *arguments)
    if kind in _FOLDED:
        return reduce(lambda one, other: call(_FOLDED[kind], one, other), arguments)
    raise ValueError(f"Operon's node {kind} has no counterpart in a skeleton")
