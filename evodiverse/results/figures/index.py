"""The page that lists all figures, the runs that are missing for them, and the commands that start these runs."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from evodiverse.results.domains import find_domain
from evodiverse.results.figures.reading import OFF, OWN_FIT, FigureKind, Picture, Result, Wanted
from evodiverse.results.pages.rendering import escape_markdown, render
from evodiverse.results.tables.results import choose_words
from evodiverse.text import printable

INDEX: Final = "README.md"


@dataclass(frozen=True, slots=True)
class Lack:
    """The missing runs of a figure for one model or baseline.

    Attributes:
        of: The name of the model or of the baseline.
        what: The missing runs, in words.
        command: The command that starts them.
    """

    of: str
    what: str
    command: str


@dataclass(frozen=True, slots=True)
class Entry:
    """What the index page (``README.md``) and the terminal show about a figure.

    Attributes:
        kind: The kind of figure.
        pictures: The pictures of the figure that were drawn.
        lacks: The missing runs, one item per model or baseline.
        needs: A sentence about what must be installed for the figure; None if nothing is missing.
    """

    kind: FigureKind
    pictures: Sequence[Picture]
    lacks: Sequence[Lack]
    needs: str | None = None


def find_lacks(wanted: Wanted, results: Sequence[Result]) -> list[Lack]:
    """Return the missing runs of a figure, with one item for each model and each baseline that lacks runs.

    Runs without a language model (``llm=off``) have an item of their own, as if ``off`` were a model.

    Args:
        wanted: The runs that the figure needs.
        results: All complete runs.
    """
    lacks = []
    for model in dict.fromkeys([*wanted.models, OFF]):
        there = {
            (run.task, run.run.method, run.science)
            for run in results
            if run.model == model and not run.overrides
            if run.fit is None or (run.fit != OWN_FIT if model == OFF else run.fit == "bfgs")  # as the paper fits
        }
        absent = [each for each in product(wanted.tasks, wanted.methods, wanted.sciences) if each not in there]
        if absent:
            words = sorted({f"{method} on {science or task}" for task, method, science in absent})
            lacks.append(Lack(model, ", ".join(words), _run_command(wanted, model, absent, results)))
    with_runs = {result.run.method for result in results if result.fit == OWN_FIT}
    for engine in wanted.engines:
        if engine not in with_runs:
            domain = find_domain("evodiverse.tasks.equations")
            problems = domain.choose_problems(wanted.sciences) if domain else []
            words = ["evodiverse-baseline", "--engine", engine, *problems, "seed=0,1,2", "--seconds", "60"]
            lacks.append(Lack(engine, "all runs", " ".join(words)))
    return lacks


def _run_command(
    wanted: Wanted, model: str, absent: Sequence[tuple[str, str, str | None]], results: Sequence[Result]
) -> str:
    """Return the command of a sweep with the missing runs of one model. It may list complete runs too, and skips them.

    Args:
        wanted: The runs that the figure needs.
        model: The name of the model.
        absent: The task, the method and the science of the missing runs.
        results: All complete runs, which tell the overrides that choose a model on the command line.
    """
    with_model, classical = wanted.experiments
    tasks, methods, _ = ({*some} for some in zip(*absent, strict=True))
    chosen = [task for task in wanted.tasks if task in tasks]
    words = [
        f"+experiment={classical if model == OFF else with_model}",
        *([f"task={','.join(chosen)}"] if len(chosen) < len(wanted.tasks) else []),
        f"method={','.join(method for method in wanted.methods if method in methods)}",
        *([] if model == OFF else choose_words(results).get(model, [f"llm={model}"])),
    ]
    return shlex.join(["evodiverse", "-m", *words])


def to_page(entries: Sequence[Entry], facts: Sequence[str]) -> str:
    """Return the page (``README.md``) as Markdown.

    Args:
        entries: All figures, in the order of the page.
        facts: Sentences about the runs that were read.
    """
    plain = {"plain": lambda text: escape_markdown(printable(text)), "printable": printable}
    return render("figures.md", entries=entries, facts=facts, **plain)


def to_text(entries: Sequence[Entry]) -> str:
    """Return text for a terminal: for each figure, its state, its missing runs and the commands that start them."""
    return render("figures.txt", entries=entries, plain=printable)
