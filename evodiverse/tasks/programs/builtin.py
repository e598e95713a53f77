"""The parts of a program task that comes with EvoDiverse. Each task is a subpackage, selected by ``task.evaluator``.

A new task needs a subpackage with an instance of `Builtin`, a line in `evodiverse.tasks.programs.builtins`, and a file
in ``conf/task``.
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
    """A program task that comes with EvoDiverse, as functions that the module ``domain`` calls.

    Attributes:
        find_violations: A function that returns everything that is wrong with the task's own keys of ``task.*``, as
            messages, each of which names its key.
        build_evaluator: A function that returns the task's evaluator. Its second argument holds the limits of each run
            of a program, such as the CPU time.
        load_start: A function that returns the source of the program that a search starts from.
        build_moves: A function that returns the task's moves (the mutations that make sense only for this task), or
            None if the task has none.
        build_metrics: A function that returns the metrics of the task's runs.
        find_sources: A function that returns the paths of the user's files that the task's scores depend on, by the
            role of each file, such as ``instances``. A run is resumed only if these files have not changed.
    """

    find_violations: Callable[[ProgramSettings], list[str]]
    build_evaluator: Callable[[ProgramSettings, Limits], Evaluator]
    load_start: Callable[[ProgramSettings], str]
    build_moves: Callable[[], Grammar | None]
    build_metrics: Callable[[], Metrics]
    find_sources: Callable[[ProgramSettings], Mapping[str, Path]] = lambda settings: {}  # noqa: ARG005 (most tasks read no files)
