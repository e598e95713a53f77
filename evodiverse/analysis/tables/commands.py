"""The commands that make the runs that a table lacks."""

import shlex
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evodiverse.analysis.domains import find_domain
from evodiverse.runlog.runs import write_setting

SEEDS = "0,1,2"


@dataclass(frozen=True, slots=True)
class Absent:
    """Runs that are missing: ``science`` says which problems of the domain, None is all of them."""

    task: str
    method: str
    model: str
    science: str | None
    overrides: tuple[tuple[str, Any], ...]
    domain: str | None = None


def fill_commands(absent: Iterable[Absent], models: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield sweeps that make the runs, as few as there can be without making others; each of seeds 0, 1 and 2.

    Args:
        absent: Runs that there are none of.
        models: What chooses a model on the command line; of one that is not there, its name does.
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
