"""What a figure of the paper lacks, and the commands that make it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from evodiverse.analysis.domains import find_domain
from evodiverse.analysis.tables.commands import SEEDS, Absent, fill_commands
from evodiverse.analysis.tables.layout import FIT
from evodiverse.analysis.tables.models import OFF
from evodiverse.analysis.tables.results import Result, choose_words
from evodiverse.figures.reading import OWN_FIT, Wanted

ENGINE_SECONDS: Final = 60
"""What a baseline may take in the command that is proposed: about what a run of 1,000 calls takes without a model."""


@dataclass(frozen=True, slots=True)
class Lack:
    """What a figure lacks of one model, or of baselines.

    Attributes:
        of: The model, or what else.
        what: What is absent, in words.
        commands: What makes it.
    """

    of: str
    what: str
    commands: tuple[str, ...]


def find_lacks(wanted: Wanted, results: Sequence[Result]) -> list[Lack]:
    """Return what a figure lacks: of each model of the paper, of none (``llm=off``), and of baselines.

    Args:
        wanted: Its runs.
        results: All complete runs.
    """
    lacks = []
    for model in dict.fromkeys([*wanted.models, OFF]):
        absent = [*_find_absent(wanted, model, results)]
        if absent:
            words = ", ".join(sorted({_name(each) for each in absent}))
            lacks.append(Lack(model, words, tuple(fill_commands(absent, choose_words(results)))))
    made = {result.run.method for result in results if result.fit == OWN_FIT}
    engines = [engine for engine in wanted.engines if engine not in made]
    return [*lacks, *(Lack(engine, "no run", (_engine_command(engine, wanted),)) for engine in engines)]


def _find_absent(wanted: Wanted, model: str, results: Sequence[Result]) -> Iterator[Absent]:
    """Yield what there is no run of that differs from the defaults in nothing else."""
    fit = wanted.fit if model != OFF else None
    there = {
        (result.task, result.run.method, result.science)
        for result in results
        if result.model == model and not result.overrides and fit in (None, result.fit) and result.fit != OWN_FIT
    }
    overrides = () if fit is None else ((FIT, fit),)
    for task in wanted.tasks:
        for method in wanted.methods:
            for science in wanted.sciences:
                if (task, method, science) not in there:
                    yield Absent(task, method, model, science, overrides, wanted.domain)


def _name(absent: Absent) -> str:
    return f"{absent.method} on {absent.science or absent.task}"


def _engine_command(engine: str, wanted: Wanted) -> str:
    domain = None if wanted.domain is None else find_domain(wanted.domain)
    problems = [] if domain is None else [*domain.choose_problems(wanted.sciences)]
    words = ["evodiverse-baseline", "--engine", engine, *problems, f"seed={SEEDS}", "--seconds", str(ENGINE_SECONDS)]
    return " ".join(words)
