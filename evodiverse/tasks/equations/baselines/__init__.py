"""Symbolic regression of others, to compare with: one file an engine (see ``engine.py``)."""

from collections.abc import Mapping
from typing import Final

from evodiverse.tasks.equations.baselines import operon, pysr, sparse
from evodiverse.tasks.equations.baselines.engine import Engine

ENGINES: Final[Mapping[str, Engine]] = {"operon": operon, "pysr": pysr, "sparse": sparse}
