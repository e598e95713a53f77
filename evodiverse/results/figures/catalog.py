"""The list of all figures: those of the paper, in the order of the paper, then our own."""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any, Final

from evodiverse.results.figures import bars, curves, lineage, packings, projections, reading, space, sweep
from evodiverse.results.figures.curves import DIVERSE, DRUG_LIKE, MOLECULE_CURVES, describe_targets
from evodiverse.results.figures.reading import (
    OFF,
    OURS,
    SCIENCES,
    FigureKind,
    FloatArray,
    Runs,
    Wanted,
    first_of,
    science_of,
)
from evodiverse.results.figures.style import TARGETS, name_of

_MOLECULES: Final = "molecules"
_EQUATIONS: Final = "equations"
_PACKING: Final = "circle packing"
_CIRCLES: Final = ("circle_packing",)
_BOTH_MODELS: Final = ("DeepSeek-V3.2", "GPT-5")
_SCORES: Final = Wanted((*TARGETS,), ("molleo", "ensemble", "tempering", OURS))
_ERRORS: Final = Wanted(("equation",), ("tempering", "ensemble", OURS), _BOTH_MODELS, SCIENCES)
_SUMS: Final = Wanted(_CIRCLES, ("ea", "island", "ensemble", OURS))

_BANDS: Final = "{group.runs}; bands: 95% t intervals over seeds"
_WHISKERS: Final = "{group.runs}; whiskers: 95% t intervals over seeds"
_OF_RUN: Final = "{name}_{group.part[0]}_{group.suffix}{other}"
_WHOLE: Final = "A run that ended early keeps its last value."
_LITTLE: Final = "Distances between distant groups mean little in a projection."
_SWAPS: Final = (
    "Diagnostics of {group.part[0]}, {group.words}. Top: the powering factor ξ in each exchange. Bottom: the share of "
    "the unblocked swaps that were accepted; shaded: 30% to 40%, where the paper's curves settle. {group.runs}. Bands: "
    "{WHAT} (within problems); a single seed has none."
)
_PROGRAMS: Final = (
    "of the TF-IDF vectors of all programs together, one run per method; the programs of other methods are pale. Top: "
    f"by pool. Bottom: by score (sum of radii over the reference). Seeds: {{facts}}. {_LITTLE}"
)


_task: Final = attrgetter("task")
_task_and_method: Final = attrgetter("task", "run.method")


def _show_programs(name: str, method: str, project: Callable[[Any], FloatArray], axis: str) -> FigureKind:
    """Return the figure of the final programs of circle packing by a method of projection."""
    return FigureKind(
        name,
        f"Final programs by {method}",
        Runs(_PACKING, _CIRCLES),
        partial(projections.draw_programs, project=project, axis=axis),
        f"Programs of the final pools of circle packing, {{group.words}}: {method} {_PROGRAMS}",
        "one run per method; seeds: {facts}",
        facts=projections.seeds_of,
        wanted=_SUMS,
    )


_WITH_SWAPS: Final = partial(
    Runs, curves=("exchanges",), part=lambda run: (run.run.method,), counts=lambda run: any(reading.curve(run, "xi.0"))
)
_WITH_SUMS: Final = partial(Runs, _PACKING, curves=("sum_calls", "sum"), part=lambda run: (run.task,))

FIGURES: Final[tuple[FigureKind, ...]] = (
    FigureKind(
        "mol",
        "Scores, and numbers of diverse molecules",
        Runs(_MOLECULES, TARGETS, MOLECULE_CURVES),
        partial(curves.draw_molecules, target="jnk3", metric=DRUG_LIKE),
        "Molecules, {group.words}. (a) Mean JNK3 score of the diversity-aware top 10 (lines, left axis), and how many "
        "molecules this selection would take from the pools without its cap of ten (bars, right axis). (b) Mean score "
        f"of the molecules in the pools with QED > 0.5 and SA < 5.5. {{facts}} {_WHOLE}",
        _BANDS,
        facts=describe_targets,
        wanted=_SCORES,
    ),
    FigureKind(
        "sr-score-trajectory",
        "The best error by calls",
        Runs(_EQUATIONS, curves=("best_calls", "best")),
        curves.draw_errors,
        "Equations, {group.words}. Geometric mean of the smallest error so far on the fitted data (the mean squared "
        "error over the variance of the target); {group.problems}. {group.runs}. Bands: {WHAT} of the logarithm, "
        f"within problems; a single seed has none. {_WHOLE}",
        _BANDS,
        wanted=_ERRORS,
    ),
    FigureKind(
        "circle_trajectory",
        "The best sum of radii by evaluation",
        _WITH_SUMS(choose=lambda some, _: some if reading.best_run(some, packings.SUM) else []),
        packings.draw_records,
        "Packing of {facts}. {group.runs}. Bands: {WHAT}; a single seed has none. " + _WHOLE,
        _BANDS,
        facts=packings.describe_records,
        wanted=_SUMS,
    ),
    FigureKind(
        "si_mol_top10",
        "Scores of GSK3β, and of the diversity-aware top 10",
        Runs(_MOLECULES, TARGETS, MOLECULE_CURVES),
        partial(curves.draw_molecules, target="gsk3b", metric=DIVERSE),
        "Molecules, {group.words}. (a) Mean GSK3β score of the diversity-aware top 10 (lines, left axis), and how many "
        "molecules this selection would take from the pools without its cap of ten (bars, right axis). (b) Mean score "
        f"of the diversity-aware top 10 of the pools. {{facts}} {_WHOLE}",
        _BANDS,
        facts=describe_targets,
        wanted=_SCORES,
    ),
    FigureKind(
        "si_mol_chembl",
        "The path through chemical space",
        Runs(
            *(_MOLECULES, TARGETS),
            counts=lambda run: run.run.method == OURS,
            choose=lambda some, _: first_of(some, _task),
        ),
        space.draw_path,
        "Chemical space, {group.words}: UMAP (Jaccard distance of Morgan fingerprints, radius 2, 2048 bits, "
        f"{space.N_NEIGHBORS} neighbors) of {{facts}}. Distances between distant groups mean little in a UMAP.",
        facts=space.describe_path,
        wanted=Wanted((*TARGETS,), (OURS,)),
        missing=space.find_missing,
    ),
    FigureKind(
        "si_mol_graphga",
        "EvoDiverse against Graph GA, without a model",
        Runs(
            *(_MOLECULES, TARGETS, MOLECULE_CURVES),
            counts=lambda run: run.model == OFF and run.run.method in ("graph_ga", OURS),
        ),
        curves.draw_graph_ga,
        "Graph GA, and EvoDiverse with the operator of Graph GA, {group.words}. (a) Mean score of the molecules in the "
        "pools with QED > 0.5 and SA < 5.5. (b) Mean score of the diversity-aware top 10 of the pools. {facts} "
        f"{_WHOLE}",
        _BANDS,
        facts=describe_targets,
        wanted=Wanted((*TARGETS,), ("graph_ga", OURS), (OFF,)),
    ),
    FigureKind(
        "diagnostic_mol",
        "Swaps of molecule runs",
        _WITH_SWAPS(_MOLECULES),
        partial(curves.draw_swaps, panel_of=lambda run: name_of(run.task)),
        *(_SWAPS, _BANDS),
        wanted=Wanted((*TARGETS,), (OURS,)),
    ),
    FigureKind(
        "sr-pysr",
        "Comparison with other engines of symbolic regression",
        Runs(_EQUATIONS, choose=bars.keep_common),
        bars.draw_engines,
        "Equations, {group.words}, and baselines, on the {group.problems} on which all of them have runs. Both panels "
        "are about the equation with the smallest error on the fitted data. Left: geometric mean of its NMSE on "
        "held-out data of the same domain; right: Acc0.1, the share of runs in which all its predictions there are "
        "within 10%. {group.runs}. Whiskers: {WHAT}, within problems; ∞: a prediction is not a number.",
        _WHISKERS,
        wanted=Wanted(("equation",), _ERRORS.methods, _BOTH_MODELS, SCIENCES, ("pysr", "operon")),
    ),
    FigureKind(
        "sr-div-embed",
        "Final equations by t-SNE",
        Runs(_EQUATIONS),
        projections.draw_equations,
        "Equations of the final pools, {group.words}: t-SNE of {facts}. Top: by method. Bottom: the pools of one run "
        f"with several pools; the other equations are pale. {_LITTLE}",
        "one run per method and problem, the one with the lowest seed",
        facts=projections.describe_equations,
        wanted=Wanted(("equation",), _ERRORS.methods, sciences=projections.SCIENCES_SHOWN),
    ),
    FigureKind(
        "diagnostic_eq",
        "Swaps of equation runs",
        _WITH_SWAPS(_EQUATIONS),
        partial(curves.draw_swaps, panel_of=science_of),
        *(_SWAPS, _BANDS),
        wanted=Wanted(("equation",), (OURS,), _BOTH_MODELS, SCIENCES),
    ),
    FigureKind(
        "circle_packing_example",
        "The best packing and its program",
        _WITH_SUMS(choose=partial(reading.keep_best, packings.SUM)),
        packings.draw_program,
        "The best packing of {facts}, and the start of its program; the .py file has the whole program.",
        facts=packings.describe_program,
        texts=packings.read_program,
        wanted=Wanted(_CIRCLES, (OURS,)),
    ),
    _show_programs("diversity_pca_all", "PCA", projections.project_pca, "PC"),
    FigureKind(
        "diagnostic_algo",
        "Swaps of circle-packing runs",
        _WITH_SWAPS(_PACKING),
        partial(curves.draw_swaps, panel_of=_task),
        *(_SWAPS, _BANDS),
        wanted=Wanted(_CIRCLES, (OURS,)),
    ),
    _show_programs("tsne_algo", "t-SNE", projections.project_tsne, "t-SNE"),
    FigureKind(
        "diverse_molecules",
        "Drawings of the diverse top 10",
        Runs(_MOLECULES, part=_task_and_method, choose=partial(reading.keep_best, lineage.DIVERSE_FULL)),
        lineage.draw_top,
        "{facts}, {group.words}: the diversity-aware top 10 of the last iteration with their scores, from the run of "
        "{group.best.run.method} with the highest sum of these scores (seed {group.best.run.seed}, sum divided by ten "
        "{group.best.metrics[diverse_top10_full]:.3f}).",
        file=_OF_RUN,
        facts=lambda group: name_of(group.best.task),
        example=f"evodiverse -m task={','.join(TARGETS)} method=pt llm=off seed=0,1,2",
    ),
    FigureKind(
        "best_by_calls",
        "The best score by calls",
        Runs(
            curves=("best",),
            part=lambda run: (run.task,),
            counts=lambda run: run.kind not in (_MOLECULES, _EQUATIONS, _PACKING),
        ),
        curves.draw_best,
        "{group.part[0]}, {group.words}. Mean over seeds of the best score so far. {group.runs}. Bands: {WHAT}; a "
        f"single seed has none. {_WHOLE}",
        _BANDS,
        "{name}_{group.part[0]}_{group.suffix}",
        example="evodiverse -m task=bin_packing method=pt,ea llm=off seed=0,1,2",
    ),
    FigureKind(
        "hits_by_calls",
        "Hits, and hits that differ, against calls",
        Runs(counts=lambda run: f"{curves.HITS}100" in run.metrics),
        curves.draw_hits,
        "{group.words}: after each tenth of the budget, {facts}. {group.runs}. Bands: {WHAT}; a single seed has none.",
        _BANDS,
        facts=curves.describe_hits,
        example=f"evodiverse -m task={','.join(TARGETS)} method=molleo,ensemble,tempering,pt llm=off seed=0,1,2",
    ),
    FigureKind(
        "round_trips",
        "Round trips between the pools",
        Runs(counts=lambda run: run.metrics.get(bars.TRIPS) is not None),
        bars.draw_trips,
        "{facts}, {group.words}. Left: how often swaps took a candidate from the coldest pool to the hottest and back, "
        "per run. Right: how many of the ten best candidates in the final pools were proposed in the hottest pool or "
        "descend from it. {group.runs}. Dots: runs; bars: means; whiskers: {WHAT}, within problems.",
        _WHISKERS,
        "{name}_{group.kind}_{group.suffix}",
        facts=lambda group: group.kind.capitalize(),
        example="evodiverse -m task=circle_packing method=pt,random_swap llm=off seed=0,1,2",
    ),
    FigureKind(
        "lineage",
        "The lineage of the ten best",
        Runs(curves=("best",), part=_task_and_method, choose=lineage.keep_best),
        lineage.draw_lineage,
        "{facts}: the ten best candidates of the final pools (large) and all their ancestors, each at the call that "
        "evaluated it, in the run of {group.best.run.method} with the best score (seed {group.best.run.seed}). Lines "
        "connect parents and children; colors show the pools that proposed the candidates.",
        file=_OF_RUN,
        facts=lambda group: ", ".join(filter(None, [group.best.task, group.best.problem, group.words])),
        example="evodiverse task=circle_packing method=pt llm=off",
    ),
    FigureKind(
        "sweep",
        "Sweeps over settings",
        sweep.find,
        sweep.draw,
        "{facts} ± standard deviation (for errors, ×÷ its factor), with their number in parentheses; n = "
        "{group.n_runs}. Apart from the budget, no other setting of the search is changed. Lighter is better; the "
        "colors span at least four standard deviations of runs with equal settings.",
        "n = {group.n_runs:,} runs; in parentheses, the number of runs in a cell",
        "{name}_{group.part[0]}",
        facts=sweep.describe_grid,
        example="evodiverse -m task=circle_packing method=pt llm=off method.swap.period=2,5 method.swap.size=1,2 "
        "seed=0,1",
        takes_all=True,
    ),
)
