"""Diverse scientific hypothesis search: parallel-tempered evolution with classical and language-model operators.

From Python: `evodiverse.run` executes a run, `evodiverse.load` reads one (docs/python.md).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evodiverse.api import load, run

__version__ = "0.2.0"
__all__ = ["__version__", "load", "run"]


def __getattr__(name: str) -> Any:
    """Return `load` or `run`; the libraries that they need are imported only when one of them is first accessed."""
    if name in ("load", "run"):
        from evodiverse import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
