"""Other engines for symbolic regression, which serve as baselines, one file each (see ``engine.py``)."""

from collections.abc import Mapping
from typing import Final

from evodiverse.tasks.equations.baselines import operon, pysr, sparse
from evodiverse.tasks.equations.baselines.engine import Engine

ENGINES: Final[Mapping[str, Engine]] = {"operon": operon, "pysr": pysr, "sparse": sparse}
