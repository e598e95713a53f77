"""The commands that make the runs that a table lacks."""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evodiverse.runlog.runs import write_setting
from evodiverse.tasks.equations.problems import PROBLEMS

SEEDS = "0,1,2"


@dataclass(frozen=True, slots=True)
class Absent:
    """Runs that there are none of: ``science`` says which problems of equations, None for all or another task."""

    task: str
    method: str
    model: str
    science: str | None
    overrides: tuple[tuple[str, Any], ...]


def fill_commands(absent: Iterable[Absent], models: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield sweeps that make the runs, as few as there can be without making others; each of seeds 0, 1 and 2.

    Args:
        absent: Runs that there are none of.
        models: What chooses a model on the command line; of one that is not there, its name does.
    """
    methods: dict[tuple[str, str | None, str, tuple[str, ...]], set[str]] = defaultdict(set)
    for each in absent:
        overrides = tuple(f"{key}={write_setting(value)}" for key, value in each.overrides)
        methods[each.task, each.science, each.model, overrides].add(each.method)
    tasks: dict[tuple[tuple[str, ...], str, tuple[str, ...]], list[tuple[str, str | None]]] = defaultdict(list)
    for (task, science, model, overrides), names in methods.items():
        tasks[tuple(sorted(names)), model, overrides].append((task, science))
    for (together, model, overrides), about in tasks.items():
        by_task: dict[str, list[str | None]] = defaultdict(list)
        for task, science in about:
            by_task[task].append(science)
        plain = [task for task in by_task if task != "equation"]
        for words in [
            *([[f"task={','.join(plain)}"]] if plain else []),
            *([["task=equation", f"task.problem={_problems(by_task['equation'])}"]] if "equation" in by_task else []),
        ]:
            chosen = models.get(model, [f"llm={model}"])
            sweep = [*words, f"method={','.join(together)}", *chosen, *overrides]
            yield shlex.join(["evodiverse", "-m", *sweep, f"seed={SEEDS}"])


def _problems(sciences: Iterable[str | None]) -> str:
    wanted = set(sciences)
    return ",".join(
        f"builtin/{name}" for name, problem in PROBLEMS.items() if None in wanted or problem.domain in wanted
    )
