"""Configuration keys of the program tasks (``task.*``)."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evodiverse.kit.documented import setting
from evodiverse.kit.inputs import expanded
from evodiverse.vocabulary import MAX_MEMORY_MB, MIN_MEMORY_MB

RESEED = "reseed"
OPENEVOLVE_START = "initial_program.py"
MAX_CIRCLES = 500
"""The largest number of circles. More circles take seconds to score, and the sandbox's limits do not cover scoring."""
_HERE = Path(__file__).parent
_BUILTIN = "builtin/"
BUILTINS = frozenset(file.parent.name for file in _HERE.glob("*/evaluator.py"))
"""The tasks that come with EvoDiverse, by the name in ``task.evaluator``: each folder here with an ``evaluator.py``.

The folders are like those that users write: ``evaluator.py``, ``start.py`` and, if there are any, ``moves.yaml`` with
``blocks.py``. The module ``evaluator`` of such a task defines its `Evaluator`.
"""


@dataclass
class Initial:
    """``task.initial``: the programs that the pools start from.

    Attributes:
        path: program to start from, or a list of several; builtin/layouts for tasks that place points or circles; null:
            the task's own, or initial_program.py next to your own evaluator
        run: folder of an earlier run whose best candidates to start from, in all pools; they are evaluated again
        best: number of candidates to take from the earlier run
    """

    path: Any = None
    run: str | None = setting(default=None, is_later=True)
    best: int = setting(default=20, unit="candidates", is_later=True, least=1)


@dataclass
class PromptSettings:
    """``task.prompts``: how a language model is asked.

    Attributes:
        dir: folder of your own templates
        mode: how the model is to answer: with SEARCH/REPLACE blocks, with a whole program, or with either
        hot: prompt of hot pools: the same as in the cold pool, or explore, which asks for another construction
    """

    dir: str | None = None
    mode: str = setting(default="diff", choices=("diff", "rewrite", "mixed"))
    hot: str = setting(default="same", choices=("same", "explore"))


@dataclass
class ProgramSettings:
    """The settings of a task whose candidates are programs (the configuration key ``task``).

    Attributes:
        evaluator: evaluator that scores programs: the name of a built-in task, or the path of your own evaluator.py
        trust: whether an evaluator with OpenEvolve's interface runs outside of the sandbox, with the programs
        n: number of circles or points to place, or of dimensions; in autocorrelation, the number of the inequality
        reference: result that scores 1
        instances: instances to pack: weibull5k, or3, or your own file in OR-Library's format for bin packing
        timeout: limit on a program's CPU time; its wall time is limited to three times this
        score_timeout: time that the function score of your own evaluator may take before the program fails; null: no
            limit
        memory: limit on a program's address space, libraries included
        max_characters: maximum length of a program; longer ones are rejected
        operator: operator that makes offspring without a model: null mutates and crosses programs; reseed changes only
            their seeds
    """

    evaluator: str = ""
    trust: bool = setting(default=False, is_later=True)
    n: int | None = setting(default=None, least=1, most=MAX_CIRCLES)
    reference: float | None = setting(default=None, least=1e-3, most=1e6)
    instances: str | None = None
    timeout: float = setting(default=30.0, unit="s", above=0, below=1e6)
    score_timeout: float | None = setting(default=600.0, unit="s", above=0, most=1e6, changes_log=False)
    memory: int = setting(default=2048, unit="MB", least=MIN_MEMORY_MB, most=MAX_MEMORY_MB)
    max_characters: int = setting(default=10_000, unit="characters", least=1)
    operator: str | None = setting(default=None, choices=(RESEED,))
    initial: Initial = field(default_factory=Initial)
    prompts: PromptSettings = field(default_factory=PromptSettings)


def initial_paths(settings: ProgramSettings) -> list[Path]:
    """Return the files of the programs to start from; empty if there is none.

    If none is given, the task's own ``start.py`` counts, or ``initial_program.py`` next to your own evaluator, the name
    that OpenEvolve uses. A path
    ``builtin/NAME`` stands for a program that comes with the task.
    """
    given, folder, is_builtin = settings.initial.path, find_folder(settings.evaluator), settings.evaluator in BUILTINS
    if given is None:
        start = folder / ("start.py" if is_builtin else OPENEVOLVE_START)
        return [start] if start.is_file() else []
    paths = map(str, given if isinstance(given, list | tuple) else [given])
    names = [(path, path.removeprefix(_BUILTIN)) for path in paths]
    return [
        folder / f"{name}.py" if is_builtin and name != path and name.isidentifier() else expanded(path)
        for path, name in names
    ]


def find_folder(evaluator: str) -> Path:
    """Return the folder of the task with an evaluator, the value of ``task.evaluator``."""
    return _HERE / evaluator if evaluator in BUILTINS else expanded(evaluator).absolute().parent
