"""What a program task that comes with EvoDiverse brings: each is a folder of this package, named by ``task.evaluator``.

A new one is such a folder with an instance of `Builtin`, a line in `evodiverse.tasks.programs.builtins` and a file in
``conf/task``.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from evodiverse.ports import Metrics
from evodiverse.tasks.programs.evaluator import Evaluator
from evodiverse.tasks.programs.operators.mutation import Grammar
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.vocabulary import Limits


class Builtin(NamedTuple):
    """A program task that comes with EvoDiverse.

    Attributes:
        find_violations: Returns what is wrong with the values of ``task.*`` that are its own, each with its key.
        build_evaluator: Returns its evaluator, whose programs run within these limits.
        load_start: Returns the program that a search starts from.
        build_moves: Returns the edits that make sense for it alone, None without any.
        build_metrics: Returns the metrics of its runs.
        find_sources: Returns the user's files that its scores depend on, by their role.
    """

    find_violations: Callable[[ProgramSettings], list[str]]
    build_evaluator: Callable[[ProgramSettings, Limits], Evaluator]
    load_start: Callable[[ProgramSettings], str]
    build_moves: Callable[[], Grammar | None]
    build_metrics: Callable[[], Metrics]
    find_sources: Callable[[ProgramSettings], Mapping[str, Path]] = lambda settings: {}  # noqa: ARG005 (most have none)
