"""The page that lists all figures, the runs that are missing for them, and the commands that start these runs."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from evodiverse.results.domains import find_domain
from evodiverse.results.figures.reading import OFF, OWN_FIT, FigureKind, Picture, Result, Wanted
from evodiverse.results.tables.results import choose_words
from evodiverse.text import printable

INDEX: Final = "README.md"
SEEDS: Final = "0,1,2"
ENGINE_SECONDS: Final = 60
"""The time limit of a baseline in the suggested command, in seconds.

A run of 1,000 calls with ``llm=off`` takes about as long.
"""

_MARKUP: Final = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>|#!"})
_EXPERIMENTS: Final = {
    "jnk3": ("mol_main", "mol_classical"),
    "gsk3b": ("mol_main", "mol_classical"),
    "equation": ("eq_main", "eq_builtin"),
    "circle_packing": ("algo_main", "algo_classical"),
}
"""For each task, the files in ``conf/experiment/`` whose sweeps contain its runs: with a language model and without."""

_EQUATIONS: Final = "evodiverse.tasks.equations"
_PAPERS_FIT: Final = "bfgs"
"""The value of ``task.fit`` for the paper's runs on equations."""


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
            if run.fit is None or (run.fit != OWN_FIT if model == OFF else run.fit == _PAPERS_FIT)
        }
        absent = [each for each in product(wanted.tasks, wanted.methods, wanted.sciences) if each not in there]
        if absent:
            words = sorted({f"{method} on {science or task}" for task, method, science in absent})
            lacks.append(Lack(model, ", ".join(words), _run_command(wanted, model, absent, results)))
    with_runs = {result.run.method for result in results if result.fit == OWN_FIT}
    engines = [engine for engine in wanted.engines if engine not in with_runs]
    return [*lacks, *(Lack(engine, "all runs", _engine_command(engine, wanted)) for engine in engines)]


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
    with_model, classical = _EXPERIMENTS[wanted.tasks[0]]
    tasks, methods, _ = ({*some} for some in zip(*absent, strict=True))
    chosen = [task for task in wanted.tasks if task in tasks]
    words = [
        f"+experiment={classical if model == OFF else with_model}",
        *([f"task={','.join(chosen)}"] if len(chosen) < len(wanted.tasks) else []),
        f"method={','.join(method for method in wanted.methods if method in methods)}",
        *([] if model == OFF else choose_words(results).get(model, [f"llm={model}"])),
    ]
    return shlex.join(["evodiverse", "-m", *words])


def _engine_command(engine: str, wanted: Wanted) -> str:
    domain = find_domain(_EQUATIONS)
    problems = [] if domain is None else domain.choose_problems(wanted.sciences)
    words = ["evodiverse-baseline", "--engine", engine, *problems, f"seed={SEEDS}", "--seconds", str(ENGINE_SECONDS)]
    return " ".join(words)


def to_page(entries: Sequence[Entry], names: Mapping[str, str], facts: Sequence[str]) -> str:
    """Return the page (``README.md``) as Markdown.

    Args:
        entries: All figures, in the order of the page.
        names: For each `Picture.name`, the name of the picture's files without the suffix.
        facts: Sentences about the runs that were read.
    """
    lines = ["# Figures", "", *(f"- {_plain(fact)}" for fact in facts), ""]
    for title, is_papers in (("The paper's figures", True), ("Ours", False)):
        lines += [f"## {title}", ""]
        for entry in entries:
            if (entry.kind.wanted is not None) == is_papers:
                lines += _describe(entry, names)
    return "\n".join(lines)


def _describe(entry: Entry, names: Mapping[str, str]) -> list[str]:
    label = f" (`{entry.kind.label}`)" if entry.kind.label else ""
    paragraphs = [f"### {entry.kind.name}: {entry.kind.title}{label}"]
    if entry.needs:
        paragraphs.append(_plain(entry.needs))
    for picture in entry.pictures:
        name = names[picture.name]
        paragraphs += [f"![{name}]({name}.png)", f"[{name}.svg]({name}.svg). {_plain(picture.caption)}"]
    if not entry.pictures and not entry.needs:
        paragraphs.append("There are no runs for this figure yet.")
    for lack in entry.lacks:
        paragraphs += [f"Missing for {_plain(lack.of)}: {_plain(lack.what)}", f"    {printable(lack.command)}"]
    if not entry.pictures and entry.kind.example:
        paragraphs += ["For example, run", f"    {printable(entry.kind.example)}"]
    return [line for paragraph in paragraphs for line in (paragraph, "")]


def _plain(text: str) -> str:
    """Return a text with Markdown's special characters escaped, so that Markdown shows them literally."""
    return printable(text).translate(_MARKUP)


def to_lines(entries: Sequence[Entry]) -> list[str]:
    """Return lines for a terminal: for each figure, its state, its missing runs and the commands that start them."""
    lines = []
    for entry in entries:
        drawn = f"{len(entry.pictures)} drawn" if entry.pictures else entry.needs or "no runs for it yet"
        lines.append(f"{entry.kind.name}: {drawn}")
        for lack in entry.lacks:
            lines += [f"    missing for {lack.of}: {lack.what}", f"        {lack.command}"]
        if not entry.pictures and entry.kind.example:
            lines.append(f"        {entry.kind.example}")
    return [printable(line) for line in lines]
