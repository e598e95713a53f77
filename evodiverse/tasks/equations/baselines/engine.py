"""What a baseline is asked and what it answers, whichever engine it is."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from evodiverse.tasks.equations.operators.trees import (
    PARAMETER,
    Node,
    leaves,
    parameter,
    write_tree,
)
from evodiverse.tasks.equations.problems.problem import FloatArray
from evodiverse.tasks.equations.skeleton import read_skeleton
from evodiverse.vocabulary import Hypothesis


@dataclass(frozen=True, slots=True)
class Order:
    """What an engine is asked: equations of these data, within one of the two budgets.

    Attributes:
        inputs: ``(n, variables)``, of the training data alone.
        target: ``(n,)``.
        variables: Names of the columns of ``inputs``.
        seed: Seed of whatever the engine draws.
        seconds: Wall time, None for no limit.
        evaluations: What the engine counts as evaluations, None for no limit.
    """

    inputs: FloatArray
    target: FloatArray
    variables: tuple[str, ...]
    seed: int
    seconds: int | None
    evaluations: int | None


class Model(NamedTuple):
    """An equation: its tree, in which a parameter's value is its place among the constants that the engine fitted."""

    tree: Node
    constants: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Front:
    """What an engine answers.

    Attributes:
        models: The final front, in the engine's own order.
        selected: The place of the model that the engine itself would choose.
        evaluations: How many it made, None where it does not say.
        is_finished: Whether it ended by itself, within its budget.
    """

    models: Sequence[Model]
    selected: int
    evaluations: int | None
    is_finished: bool = False


class Engine(Protocol):
    """What the module of an engine offers. It imports the engine's library when it is asked for equations."""

    @property
    def libraries(self) -> Mapping[str, str]:
        """The modules that it needs, each with the package that brings it."""

    @property
    def remedy(self) -> str:
        """What to do where one is missing."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the engine is set to, as ``run.json`` records it."""

    def find_models(self, order: Order) -> Front:
        """Return the engine's final front."""


class Constants:
    """Collects the constants of a model; each becomes a parameter of its tree."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def add(self, value: float) -> Node:
        """Return the parameter that stands for a constant."""
        self.values.append(float(value))
        return parameter(len(self.values) - 1)


def write_model(model: Model, variables: tuple[str, ...]) -> tuple[Hypothesis, FloatArray]:
    """Return a model as a skeleton in its one form, and the values of its parameters as they are numbered there.

    Two models of one skeleton with different constants are different hypotheses: nothing fits them again. So the key
    is of both.

    Raises:
        SkeletonError: It is larger than a skeleton can be.
    """
    places = list(dict.fromkeys(int(leaf.value) for leaf in leaves(model.tree, PARAMETER)))
    params = np.array([model.constants[place] for place in places], dtype=np.float64)
    source = read_skeleton(write_tree(model.tree, variables), variables, len(params)).source
    key = hashlib.sha256(f"{source}{json.dumps(params.tolist())}".encode()).hexdigest()
    return Hypothesis(source, key), params
