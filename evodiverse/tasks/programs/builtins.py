"""The program tasks that come with EvoDiverse: each folder here that has an ``evaluator.py``.

The folders are like those that users write: ``evaluator.py``, ``start.py`` and, if there are any, ``moves.yaml`` with
``blocks.py``. The module ``evaluator`` of a task that comes with EvoDiverse defines ``TASK``, its `Evaluator`.
"""

import re
from pathlib import Path
from typing import Final

from evodiverse.kit.inputs import expanded
from evodiverse.tasks.programs.operators.moves import START
from evodiverse.tasks.programs.settings import ProgramSettings

_HERE: Final = Path(__file__).parent
BUILTINS: Final = frozenset(file.parent.name for file in _HERE.glob("*/evaluator.py"))
"""The names of the tasks, as in ``task.evaluator``."""

_N: Final = re.compile(r"^N = \d+$", re.MULTILINE)


def find_folder(evaluator: str) -> Path:
    """Return the folder of the task with an evaluator, the value of ``task.evaluator``."""
    return _HERE / evaluator if evaluator in BUILTINS else expanded(evaluator).absolute().parent


def load_start(settings: ProgramSettings) -> str:
    """Return the program of a task that comes with EvoDiverse, with its constant ``N`` set to ``task.n``."""
    source = (find_folder(settings.evaluator) / START).read_text(encoding="utf-8")
    return source if settings.n is None else _N.sub(f"N = {settings.n}", source, count=1)
