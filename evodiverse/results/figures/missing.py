"""The missing runs of the paper's figures, and the commands that start them."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from evodiverse.results.domains import find_domain
from evodiverse.results.figures.reading import OWN_FIT, Wanted
from evodiverse.results.tables.commands import SEEDS
from evodiverse.results.tables.models import OFF
from evodiverse.results.tables.results import Result, choose_words

ENGINE_SECONDS: Final = 60
"""The time limit of a baseline in the suggested command, in seconds.

A run of 1,000 calls with ``llm=off`` takes about as long.
"""

_EXPERIMENTS: Final = {
    "jnk3": ("mol_main", "mol_classical"),
    "gsk3b": ("mol_main", "mol_classical"),
    "equation": ("eq_main", "eq_builtin"),
    "circle_packing": ("algo_main", "algo_classical"),
}
"""For each task, the files in ``conf/experiment/`` whose sweeps contain its runs: with a language model and without."""


@dataclass(frozen=True, slots=True)
class _Absent:
    """A combination of task, method and science for which runs are missing.

    A science is a group of equation problems, such as "physics"; it is None for other tasks.
    """

    task: str
    method: str
    science: str | None

    @property
    def words(self) -> str:
        return f"{self.method} on {self.science or self.task}"


@dataclass(frozen=True, slots=True)
class Lack:
    """The missing runs of a figure for one model or baseline.

    Attributes:
        of: The name of the model or of the baseline.
        what: The missing runs, in words.
        commands: The commands that start them.
    """

    of: str
    what: str
    commands: tuple[str, ...]


def find_lacks(wanted: Wanted, results: Sequence[Result]) -> list[Lack]:
    """Return the missing runs of a figure, with one item for each model and each baseline that lacks runs.

    Runs without a language model (``llm=off``) have an item of their own, as if ``off`` were a model.

    Args:
        wanted: The runs that the figure needs.
        results: All complete runs.
    """
    lacks = []
    for model in dict.fromkeys([*wanted.models, OFF]):
        absent = [*_find_absent(wanted, model, results)]
        if absent:
            words = ", ".join(sorted({each.words for each in absent}))
            lacks.append(Lack(model, words, (_run_command(wanted, model, absent, choose_words(results)),)))
    with_runs = {result.run.method for result in results if result.fit == OWN_FIT}
    engines = [engine for engine in wanted.engines if engine not in with_runs]
    return [*lacks, *(Lack(engine, "all runs", (_engine_command(engine, wanted),)) for engine in engines)]


def _find_absent(wanted: Wanted, model: str, results: Sequence[Result]) -> Iterator[_Absent]:
    """Yield the wanted combinations of task, method and science for which ``model`` has no run with default settings.

    A science is a group of equation problems, such as "physics"; it is None for other tasks.
    """
    fit = wanted.fit if model != OFF else None
    there = {
        (result.task, result.run.method, result.science)
        for result in results
        if result.model == model and not result.overrides and fit in (None, result.fit) and result.fit != OWN_FIT
    }
    for task in wanted.tasks:
        for method in wanted.methods:
            for science in wanted.sciences:
                if (task, method, science) not in there:
                    yield _Absent(task, method, science)


def _run_command(wanted: Wanted, model: str, absent: Sequence[_Absent], models: Mapping[str, Sequence[str]]) -> str:
    """Return the command of a sweep that contains the missing runs of one model.

    The sweep may list complete runs too, which it skips.

    Args:
        wanted: The runs that the figure needs.
        model: The name of the model.
        absent: The missing runs.
        models: The overrides that choose each model on the command line, by model.
    """
    with_model, classical = _EXPERIMENTS[wanted.tasks[0]]
    tasks = [task for task in wanted.tasks if any(each.task == task for each in absent)]
    methods = [method for method in wanted.methods if any(each.method == method for each in absent)]
    words = [
        f"+experiment={classical if model == OFF else with_model}",
        *([f"task={','.join(tasks)}"] if len(tasks) < len(wanted.tasks) else []),
        f"method={','.join(methods)}",
        *([] if model == OFF else models.get(model, [f"llm={model}"])),
    ]
    return shlex.join(["evodiverse", "-m", *words])


def _engine_command(engine: str, wanted: Wanted) -> str:
    domain = None if wanted.domain is None else find_domain(wanted.domain)
    problems = [] if domain is None else [*domain.choose_problems(wanted.sciences)]
    words = ["evodiverse-baseline", "--engine", engine, *problems, f"seed={SEEDS}", "--seconds", str(ENGINE_SECONDS)]
    return " ".join(words)
