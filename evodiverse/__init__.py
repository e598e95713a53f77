"""Diverse scientific hypothesis search: parallel-tempered evolution with classical and language-model operators.

From Python: `evodiverse.run` executes a run, `evodiverse.load` reads one, and `evodiverse.EquationRegressor` is an
estimator for scikit-learn (docs/python.md).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evodiverse.api import load, run
    from evodiverse.estimator import EquationRegressor

__version__ = "0.2.0"
__all__ = ["EquationRegressor", "__version__", "load", "run"]


def __getattr__(name: str) -> Any:
    """Return a public name; the libraries that it needs are imported only when it is first accessed."""
    if name in ("load", "run"):
        from evodiverse import api

        return getattr(api, name)
    if name == "EquationRegressor":
        from evodiverse.estimator import EquationRegressor

        return EquationRegressor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
