"""The list of all figures, those of the paper in its order, then our own; and the page about them and missing runs."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from matplotlib.figure import Figure

from evodiverse.kit.files import read_shipped
from evodiverse.results.domains import find_domain
from evodiverse.results.figures import bars, curves, lineage, packings, projections, reading, space, sweep
from evodiverse.results.figures.curves import DIVERSE, DRUG_LIKE, describe_targets
from evodiverse.results.figures.reading import OFF, OURS, FigureKind, Group, Groups, Runs, Wanted
from evodiverse.results.figures.style import TARGETS, name_of
from evodiverse.results.pages.rendering import escape_markdown, render
from evodiverse.results.tables.results import choose_words
from evodiverse.text import printable

INDEX: Final = "README.md"
_TEXTS: Final = read_shipped(Path(__file__).with_name("catalog.yaml"))
_MOLECULES: Final = "molecules"
_EQUATIONS: Final = "equations"
_PACKING: Final = "circle packing"


def _make(
    name: str, groups: Groups, draw: Callable[..., Figure], facts: Callable[[Group], object] = lambda _: "", **more: Any
) -> FigureKind:
    """Return a figure with its texts from ``catalog.yaml``."""
    texts = {**_TEXTS[name]}
    if "wanted" in texts:
        texts |= {"wanted": Wanted(**texts["wanted"]), "label": f"fig:{name}"}
    return FigureKind(name, groups=groups, draw=draw, facts=facts, **texts, **more)


_task: Final = attrgetter("task")
_CURVES: Final = partial(Runs, _MOLECULES, TARGETS, ("calls", DIVERSE, DRUG_LIKE, "n_diverse"))
_WITH_SUMS: Final = partial(Runs, _PACKING, curves=("sum_calls", "sum"), part=("task",))
_WITH_SWAPS: Final = partial(
    Runs, curves=("exchanges",), part=("run.method",), counts=lambda run: any(reading.curve(run, "xi.0"))
)
_PROGRAMS: Final = Runs(_PACKING, ("circle_packing",))
_DRAWN: Final = Runs(_MOLECULES, part=("task", "run.method"), choose=partial(reading.keep_best, "diverse_top10_full"))
_OURS: Final = Runs(
    _MOLECULES, TARGETS, counts=lambda run: run.run.method == OURS, choose=lambda some, _: reading.first_of(some, _task)
)
_GRAPH_GA: Final = _CURVES(counts=lambda run: run.model == OFF and run.run.method in ("graph_ga", OURS))
_OTHERS: Final = Runs(
    curves=("best",), part=("task",), counts=lambda run: run.kind not in (_MOLECULES, _EQUATIONS, _PACKING)
)
_WITH_HITS: Final = Runs(counts=lambda run: f"{curves.HITS}100" in run.metrics)
_WITH_TRIPS: Final = Runs(counts=lambda run: run.metrics.get(bars.TRIPS) is not None)
_WITH_BEST: Final = Runs(curves=("best",), part=("task", "run.method"), choose=lineage.keep_best)

FIGURES: Final[tuple[FigureKind, ...]] = (
    _make("mol", _CURVES(), partial(curves.draw_molecules, target="jnk3", metric=DRUG_LIKE), describe_targets),
    _make("sr-score-trajectory", Runs(_EQUATIONS, curves=("best_calls", "best")), curves.draw_errors),
    _make("circle_trajectory", _WITH_SUMS(), packings.draw_records, packings.describe_records),
    _make("si_mol_top10", _CURVES(), partial(curves.draw_molecules, target="gsk3b", metric=DIVERSE), describe_targets),
    _make("si_mol_chembl", _OURS, space.draw_path, space.describe_path, missing=space.find_missing),
    _make("si_mol_graphga", _GRAPH_GA, curves.draw_graph_ga, describe_targets),
    _make(
        "diagnostic_mol", _WITH_SWAPS(_MOLECULES), partial(curves.draw_swaps, panel_of=lambda run: name_of(run.task))
    ),
    _make("sr-pysr", Runs(_EQUATIONS, choose=bars.keep_common), bars.draw_engines),
    _make("sr-div-embed", Runs(_EQUATIONS), projections.draw_equations, projections.describe_equations),
    _make("diagnostic_eq", _WITH_SWAPS(_EQUATIONS), partial(curves.draw_swaps, panel_of=reading.science_of)),
    _make(
        "circle_packing_example",
        _WITH_SUMS(choose=partial(reading.keep_best, packings.SUM)),
        packings.draw_program,
        packings.describe_program,
        texts=packings.read_program,
    ),
    _make("diversity_pca_all", _PROGRAMS, partial(projections.draw_programs, axis="PC"), projections.seeds_of),
    _make("diagnostic_algo", _WITH_SWAPS(_PACKING), partial(curves.draw_swaps, panel_of=_task)),
    _make("tsne_algo", _PROGRAMS, partial(projections.draw_programs, axis="t-SNE"), projections.seeds_of),
    _make("diverse_molecules", _DRAWN, lineage.draw_top, lambda group: name_of(group.best.task)),
    _make("best_by_calls", _OTHERS, partial(curves.draw_rises, name="best", label="best score")),
    _make(
        "hypervolume_by_calls",
        Runs(curves=("hypervolume",), part=("task",)),
        partial(curves.draw_rises, name="hypervolume", label="hypervolume"),
        lambda group: ", ".join(group.best.run.settings["task.pareto"]),
    ),
    _make("hits_by_calls", _WITH_HITS, curves.draw_hits, curves.describe_hits),
    _make("round_trips", _WITH_TRIPS, bars.draw_trips, lambda group: group.kind.capitalize()),
    _make("lineage", _WITH_BEST, lineage.draw_lineage, lineage.describe),
    _make("sweep", sweep.find, sweep.draw, sweep.describe_grid),
)


class Lack(NamedTuple):
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
    pictures: Sequence[reading.Picture]
    lacks: Sequence[Lack]
    needs: str | None = None


def find_lacks(wanted: Wanted, results: Sequence[reading.Result]) -> list[Lack]:
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
            if run.fit is None
            or (run.fit != reading.OWN_FIT if model == OFF else run.fit == "bfgs")  # as the paper fits
        }
        absent = [each for each in product(wanted.tasks, wanted.methods, wanted.sciences) if each not in there]
        if absent:
            words = sorted({f"{method} on {science or task}" for task, method, science in absent})
            lacks.append(Lack(model, ", ".join(words), _run_command(wanted, model, absent, results)))
    with_runs = {result.run.method for result in results if result.fit == reading.OWN_FIT}
    for engine in wanted.engines:
        if engine not in with_runs:
            domain = find_domain("evodiverse.tasks.equations")
            problems = domain.choose_problems(wanted.sciences) if domain else []
            words = ["evodiverse-baseline", "--engine", engine, *problems, "seed=0,1,2", "--seconds", "60"]
            lacks.append(Lack(engine, "all runs", " ".join(words)))
    return lacks


def _run_command(
    wanted: Wanted, model: str, absent: Sequence[tuple[str, str, str | None]], results: Sequence[reading.Result]
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
