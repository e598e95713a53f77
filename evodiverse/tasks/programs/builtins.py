"""The program tasks that come with EvoDiverse: each folder here that has an ``evaluator.py``.

The folders are like those that users write: ``evaluator.py``, ``start.py`` and, if there are any, ``moves.yaml`` with
``blocks.py``. The module ``evaluator`` of a task that comes with EvoDiverse defines

* ``find_violations(settings)``: returns what is wrong with the task's own keys of ``task.*``, as messages;
* ``build_evaluator(settings, limits)``: returns the task's `Evaluator`, given the limits of each run of a program;
* ``find_sources(settings)``, only if its scores depend on a user's files: returns their paths by role.
"""

import re
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

from evodiverse.kit.inputs import expanded
from evodiverse.tasks.programs.operators.moves import START
from evodiverse.tasks.programs.settings import ProgramSettings

_HERE: Final = Path(__file__).parent
BUILTINS: Final = frozenset(file.parent.name for file in _HERE.glob("*/evaluator.py"))
"""The names of the tasks, as in ``task.evaluator``."""

_N: Final = re.compile(r"^N = \d+$", re.MULTILINE)


@lru_cache
def find_builtin(name: str) -> ModuleType | None:
    """Return the module ``evaluator`` of a task that comes with EvoDiverse; None for a user's own evaluator."""
    return import_module(f"{__package__}.{name}.evaluator") if name in BUILTINS else None


def find_folder(evaluator: str) -> Path:
    """Return the folder of the task with an evaluator, the value of ``task.evaluator``."""
    return _HERE / evaluator if evaluator in BUILTINS else expanded(evaluator).absolute().parent


def load_start(settings: ProgramSettings) -> str:
    """Return the program of a task that comes with EvoDiverse, with its constant ``N`` set to ``task.n``."""
    source = (find_folder(settings.evaluator) / START).read_text(encoding="utf-8")
    return source if settings.n is None else _N.sub(f"N = {settings.n}", source, count=1)
