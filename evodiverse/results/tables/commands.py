"""The commands that start the missing runs of a table."""

import shlex
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evodiverse.results.domains import find_domain
from evodiverse.results.tables.layout import FIT, Experiment
from evodiverse.results.tables.models import OFF
from evodiverse.runlog.runs import write_setting

SEEDS = "0,1,2"


@dataclass(frozen=True, slots=True)
class Absent:
    """Missing runs with the same task, method and model.

    Attributes:
        task: The name of the task.
        method: The name of the method.
        model: The language model; ``off`` for none.
        science: The group of problems to run, such as physics; None for all problems.
        overrides: The settings to give on the command line, as pairs of key and value.
        domain: The package of the task's domain; None if the task has no problems to choose from.
    """

    task: str
    method: str
    model: str
    science: str | None
    overrides: tuple[tuple[str, Any], ...]
    domain: str | None = None


def experiment_commands(
    experiment: Experiment,
    absent: Iterable[Absent],
    models: Mapping[str, Sequence[str]],
    classical: Sequence[str] | None = None,
) -> Iterator[str]:
    """Yield the commands that start missing runs by sweeps of an experiment.

    For each value of ``task.fit``, the setting that chooses how candidates are fitted, there is one sweep per model
    with missing runs. But if runs of all models of the experiment are missing, a single sweep makes them all. A sweep
    skips runs that are complete.

    Args:
        experiment: The experiment whose sweep contains the missing runs.
        absent: The missing runs.
        models: The overrides that choose each model on the command line, as `choose_words` returns them. A model
            without an entry is chosen by ``llm=`` and its name.
        classical: The methods of the experiment that work without a model; None if all do.
    """
    models_by_fit: dict[str | None, set[str]] = defaultdict(set)
    for each in absent:
        models_by_fit[dict(each.overrides).get(FIT)].add(each.model)
    task = [] if experiment.task is None else [f"task={experiment.task}"]
    for fit, names in models_by_fit.items():
        other_fit = [] if fit in (None, experiment.fit) else [f"{FIT}={fit}"]
        for model in [None] if names == experiment.models else sorted(names):
            choice = [] if model is None else models.get(model, [f"llm={model}"])
            methods = [f"method={','.join(classical)}"] if model == OFF and classical is not None else []
            words = [f"+experiment={experiment.name}", *task, *choice, *methods, *other_fit]
            yield shlex.join(["evodiverse", "-m", *words])


def fill_commands(absent: Iterable[Absent], models: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the commands of sweeps that consist of the missing runs with seeds 0, 1 and 2.

    Each sweep is for one model and one set of overrides. Tasks that lack the same
    methods share a sweep, except that each task with problems to choose from has sweeps of its own.

    Args:
        absent: The missing runs.
        models: The overrides that choose each model on the command line, as `choose_words` returns them. A model
            without an entry is chosen by ``llm=`` and its name.
    """
    methods: dict[tuple[str | None, str, str | None, str, tuple[str, ...]], set[str]] = defaultdict(set)
    for each in absent:
        overrides = tuple(f"{key}={write_setting(value)}" for key, value in each.overrides)
        methods[each.domain, each.task, each.science, each.model, overrides].add(each.method)
    sciences: dict[tuple[tuple[str, ...], str, tuple[str, ...]], dict[tuple[str | None, str], list[str | None]]] = {}
    for (domain, task, science, model, overrides), names in methods.items():
        about = sciences.setdefault((tuple(sorted(names)), model, overrides), {})
        about.setdefault((domain, task), []).append(science)
    for (together, model, overrides), about in sciences.items():
        chosen = {task: _choose_problems(domain, wanted) for (domain, task), wanted in about.items()}
        plain = [task for task, words in chosen.items() if not words]
        for words in [
            *([[f"task={','.join(plain)}"]] if plain else []),
            *([f"task={task}", *words] for task, words in chosen.items() if words),
        ]:
            sweep = [*words, f"method={','.join(together)}", *models.get(model, [f"llm={model}"]), *overrides]
            yield shlex.join(["evodiverse", "-m", *sweep, f"seed={SEEDS}"])


def _choose_problems(domain: str | None, sciences: Collection[str | None]) -> Sequence[str]:
    module = None if domain is None else find_domain(domain)
    return () if module is None else module.choose_problems(sciences)
