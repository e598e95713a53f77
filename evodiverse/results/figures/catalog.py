"""The list of all figures: those of the paper, in the order of the paper, then our own."""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from evodiverse.kit.files import read_shipped
from evodiverse.results.figures import bars, curves, lineage, packings, projections, reading, space, sweep
from evodiverse.results.figures.curves import DIVERSE, DRUG_LIKE, describe_targets
from evodiverse.results.figures.reading import OFF, OURS, FigureKind, Group, Groups, Runs, Wanted
from evodiverse.results.figures.style import TARGETS, name_of

_TEXTS: Final = read_shipped(Path(__file__).with_name("catalog.yaml"))
_MOLECULES: Final = "molecules"
_EQUATIONS: Final = "equations"
_PACKING: Final = "circle packing"


def _make(name: str, groups: Groups, draw: Callable[[Group], Figure], **more: Any) -> FigureKind:
    """Return a figure with its texts from ``catalog.yaml``."""
    texts = {**_TEXTS[name]}
    if "wanted" in texts:
        texts |= {"wanted": Wanted(**texts["wanted"]), "label": f"fig:{name}"}
    return FigureKind(name, groups=groups, draw=draw, **texts, **more)


_task: Final = attrgetter("task")
_task_and_method: Final = attrgetter("task", "run.method")
_CURVES: Final = partial(Runs, _MOLECULES, TARGETS, ("calls", DIVERSE, DRUG_LIKE, "n_diverse"))
_WITH_SUMS: Final = partial(Runs, _PACKING, curves=("sum_calls", "sum"), part=lambda run: (run.task,))
_WITH_SWAPS: Final = partial(
    Runs, curves=("exchanges",), part=lambda run: (run.run.method,), counts=lambda run: any(reading.curve(run, "xi.0"))
)
_PROGRAMS: Final = Runs(_PACKING, ("circle_packing",))

FIGURES: Final[tuple[FigureKind, ...]] = (
    _make("mol", _CURVES(), partial(curves.draw_molecules, target="jnk3", metric=DRUG_LIKE), facts=describe_targets),
    _make("sr-score-trajectory", Runs(_EQUATIONS, curves=("best_calls", "best")), curves.draw_errors),
    _make("circle_trajectory", _WITH_SUMS(), packings.draw_records, facts=packings.describe_records),
    _make(
        "si_mol_top10",
        _CURVES(),
        partial(curves.draw_molecules, target="gsk3b", metric=DIVERSE),
        facts=describe_targets,
    ),
    _make(
        "si_mol_chembl",
        Runs(
            *(_MOLECULES, TARGETS),
            counts=lambda run: run.run.method == OURS,
            choose=lambda some, _: reading.first_of(some, _task),
        ),
        space.draw_path,
        facts=space.describe_path,
        missing=space.find_missing,
    ),
    _make(
        "si_mol_graphga",
        _CURVES(counts=lambda run: run.model == OFF and run.run.method in ("graph_ga", OURS)),
        curves.draw_graph_ga,
        facts=describe_targets,
    ),
    _make(
        "diagnostic_mol", _WITH_SWAPS(_MOLECULES), partial(curves.draw_swaps, panel_of=lambda run: name_of(run.task))
    ),
    _make("sr-pysr", Runs(_EQUATIONS, choose=bars.keep_common), bars.draw_engines),
    _make("sr-div-embed", Runs(_EQUATIONS), projections.draw_equations, facts=projections.describe_equations),
    _make("diagnostic_eq", _WITH_SWAPS(_EQUATIONS), partial(curves.draw_swaps, panel_of=reading.science_of)),
    _make(
        "circle_packing_example",
        _WITH_SUMS(choose=partial(reading.keep_best, packings.SUM)),
        packings.draw_program,
        facts=packings.describe_program,
        texts=packings.read_program,
    ),
    _make(
        "diversity_pca_all",
        _PROGRAMS,
        partial(projections.draw_programs, project=projections.project_pca, axis="PC"),
        facts=projections.seeds_of,
    ),
    _make("diagnostic_algo", _WITH_SWAPS(_PACKING), partial(curves.draw_swaps, panel_of=_task)),
    _make(
        "tsne_algo",
        _PROGRAMS,
        partial(projections.draw_programs, project=projections.project_tsne, axis="t-SNE"),
        facts=projections.seeds_of,
    ),
    _make(
        "diverse_molecules",
        Runs(_MOLECULES, part=_task_and_method, choose=partial(reading.keep_best, "diverse_top10_full")),
        lineage.draw_top,
        facts=lambda group: name_of(group.best.task),
    ),
    _make(
        "best_by_calls",
        Runs(
            curves=("best",),
            part=lambda run: (run.task,),
            counts=lambda run: run.kind not in (_MOLECULES, _EQUATIONS, _PACKING),
        ),
        partial(curves.draw_rises, name="best", label="best score"),
    ),
    _make(
        "hypervolume_by_calls",
        Runs(curves=("hypervolume",), part=lambda run: (run.task,)),
        partial(curves.draw_rises, name="hypervolume", label="hypervolume"),
        facts=lambda group: ", ".join(group.best.run.settings["task.pareto"]),
    ),
    _make(
        "hits_by_calls",
        Runs(counts=lambda run: f"{curves.HITS}100" in run.metrics),
        curves.draw_hits,
        facts=curves.describe_hits,
    ),
    _make(
        "round_trips",
        Runs(counts=lambda run: run.metrics.get(bars.TRIPS) is not None),
        bars.draw_trips,
        facts=lambda group: group.kind.capitalize(),
    ),
    _make(
        "lineage",
        Runs(curves=("best",), part=_task_and_method, choose=lineage.keep_best),
        lineage.draw_lineage,
        facts=lambda group: ", ".join(filter(None, [group.best.task, group.best.problem, group.words])),
    ),
    _make("sweep", sweep.find, sweep.draw, facts=sweep.describe_grid),
)
