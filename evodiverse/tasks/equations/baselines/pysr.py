"""PySR: genetic programming in Julia with many populations, one per island (Cranmer 2023)."""

from collections.abc import Mapping
from typing import Any, Final

from evodiverse.tasks.equations.baselines.engine import Front, Order
from evodiverse.tasks.equations.baselines.infix import read_infix

libraries: Final[Mapping[str, str]] = {"pysr": "pysr"}
remedy: Final = "run pip install pysr; it fetches Julia when it first runs"
# All other settings have PySR's defaults.
settings: Final[Mapping[str, Any]] = {
    "binary_operators": ["+", "-", "*", "/", "^"],
    "unary_operators": ["sin", "cos", "tanh", "exp", "log", "sqrt"],
    "maxsize": 50,
    "model_selection": "best",
    "precision": 64,
    "parallelism": "serial",
    "deterministic": True,
}
_ENDLESS: Final = 10**9


def find_models(order: Order) -> Front:
    """Return PySR's hall of fame: the equations that fit better than all simpler ones, one per complexity at most."""
    from pysr import PySRRegressor  # imported here because it is optional and starts Julia

    regressor = PySRRegressor(
        **settings,
        random_state=order.seed % 2**32,
        niterations=_ENDLESS,
        timeout_in_seconds=order.seconds,
        max_evals=order.evaluations,
        progress=False,
        verbosity=0,
        temp_equation_file=True,
    )
    regressor.fit(order.inputs, order.target)
    names = {f"x{at}": name for at, name in enumerate(order.variables)}  # our names could mean something to sympy
    equations = regressor.equations_
    return Front(
        models=[read_infix(text, names) for text in equations["equation"]],
        selected=list(equations.index).index(regressor.get_best().name),
        evaluations=None,
    )
