"""Other engines for symbolic regression, which serve as baselines: their interface, and one module for each.

A module has the function ``find_models``, which returns the front of an order. The engine's library is imported only in
this function, which `find_apart` calls in a process of its own: a signal stops it at once, whatever the library does.
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from evodiverse.errors import ServiceError
from evodiverse.kit.apart import Failure, call_each
from evodiverse.kit.files import read_shipped
from evodiverse.tasks.equations.operators.trees import Node, parameter, write_tree
from evodiverse.tasks.equations.problems import FloatArray
from evodiverse.tasks.equations.skeleton import read_skeleton
from evodiverse.vocabulary import Hypothesis


class Order(NamedTuple):
    """A request to an engine for equations that explain these data, within a limit on time or on evaluations.

    Attributes:
        inputs: ``(n, variables)`` inputs of the training data only.
        target: ``(n,)`` target of the training data.
        variables: The names of the columns of ``inputs``.
        seed: The seed of all random draws of the engine.
        seconds: The limit on the wall time, or None for no limit.
        evaluations: The limit on the number of evaluations, as the engine itself counts them; None for no limit.
    """

    inputs: FloatArray
    target: FloatArray
    variables: tuple[str, ...]
    seed: int
    seconds: int | None
    evaluations: int | None


class Model(NamedTuple):
    """An equation that an engine found.

    Attributes:
        tree: The expression. A parameter node with the value i stands for ``constants[i]``.
        constants: The constants that the engine fitted.
    """

    tree: Node
    constants: Sequence[float]


class Front(NamedTuple):
    """The result of an engine.

    Attributes:
        models: The final front, in the engine's own order.
        selected: The index of the model that the engine itself would choose.
        evaluations: The number of evaluations, or None if the engine does not report it.
        is_finished: Whether the engine ended by itself, within its budget.
        seconds: The wall time that the engine took, as `find_apart` measures it.
    """

    models: Sequence[Model]
    selected: int
    evaluations: int | None
    is_finished: bool = False
    seconds: float = 0.0


class Engine(NamedTuple):
    """What ``engines.yaml`` says of an engine.

    Attributes:
        libraries: The packages that the engine needs, by the names of the modules that they provide.
        remedy: The advice that the user gets if one of these packages is missing.
        settings: The engine's own settings, as ``run.json`` records them.
    """

    libraries: Mapping[str, str]
    remedy: str
    settings: Mapping[str, Any]


ENGINES: Final = {name: Engine(**one) for name, one in read_shipped(Path(__file__).with_name("engines.yaml")).items()}


def add_constant(constants: list[float], value: float) -> Node:
    """Add to the constants of a model, and return the parameter that stands for the new one in the model's tree."""
    constants.append(float(value))
    return parameter(len(constants) - 1)


def write_model(model: Model, variables: tuple[str, ...]) -> tuple[Hypothesis, FloatArray]:
    """Return a model as a skeleton in canonical form, and the values of its parameters in the order of their numbers.

    Two models with the same skeleton and different constants are different hypotheses, since the constants are not
    fitted again. The key of the hypothesis is therefore a hash of both the skeleton and the constants.

    Raises:
        SkeletonError: The model is too large for a skeleton.
    """
    places = list(dict.fromkeys(int(leaf.value) for leaf in model.tree.leaves("parameter")))
    params = np.array([model.constants[place] for place in places], dtype=np.float64)
    source = read_skeleton(write_tree(model.tree, variables), variables, len(params)).source
    key = hashlib.sha256(f"{source}{json.dumps(params.tolist())}".encode()).hexdigest()
    return Hypothesis(source, key), params


def find_apart(engine: str, order: Order) -> Front:
    """Run an engine in a separate process, with numerical libraries limited to one thread, and return its front.

    Raises:
        ServiceError: The engine failed; the message gives the reason.
    """
    with closing(call_each(partial(_find, engine), [order], 1)) as calls:
        ((_, front),) = calls
    if isinstance(front, Failure):
        raise ServiceError(f"{engine} failed ({front.reason}); run the same command again to start over")
    return front


def _find(engine: str, order: Order) -> Front:
    from threadpoolctl import threadpool_limits  # of the extra

    with threadpool_limits(1):
        began = time.perf_counter()
        front: Front = import_module(f"{__package__}.{engine}").find_models(order)
        return front._replace(seconds=time.perf_counter() - began)
