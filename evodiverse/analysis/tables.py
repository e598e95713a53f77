"""Tables over several runs, in Markdown."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from evodiverse.analysis.equations import Encode, EquationResult, find_domain, measure_equations
from evodiverse.analysis.molecules import (
    count_full_iterations,
    diverse_top10_auc,
    diverse_top10_average,
    diverse_top10_curve,
    swap_acceptance,
)
from evodiverse.analysis.programs import PackingResult, measure_packing
from evodiverse.analysis.runs import Run


@dataclass(frozen=True, slots=True)
class MoleculeResult:
    """The metrics of one run."""

    auc: float
    average: float
    acceptance: float | None
    oracle_calls: int


def measure(run: Run) -> MoleculeResult:
    """Return the metrics of a molecule run."""
    curve = diverse_top10_curve(run)
    auc = diverse_top10_auc(curve, count_full_iterations(run))
    n_calls = max(call for call in run.columns("evaluations", ["call"])["call"] if call is not None)
    return MoleculeResult(auc, diverse_top10_average(curve), swap_acceptance(run), n_calls)


def molecule_table(runs: Iterable[Run]) -> str:
    """Return a table of the molecule runs, one row for each task, method and model, over their seeds."""
    groups: dict[tuple[str, str, str], list[MoleculeResult]] = defaultdict(list)
    for run in runs:
        groups[run.task, run.method, run.llm].append(measure(run))
    header = ["task", "method", "llm", "top-10 AUC", "top-10 average", "swap acceptance", "oracle calls", "runs"]
    rows = [
        [
            *group,
            spread([result.auc for result in results]),
            spread([result.average for result in results]),
            spread([result.acceptance for result in results if result.acceptance is not None]),
            f"{fmean(result.oracle_calls for result in results):,.0f}",
            str(len(results)),
        ]
        for group, results in groups.items()
    ]
    return markdown(header, rows)


def packing_table(runs: Iterable[Run]) -> str:
    """Return a table of the circle-packing runs, one row for each task, method and model, over their seeds."""
    groups: dict[tuple[str, str, str], list[PackingResult]] = defaultdict(list)
    for run in runs:
        groups[run.task, run.method, run.llm].append(measure_packing(run))
    header = [
        *("task", "method", "llm", "best sum", "strict sum", "top-100 mean"),
        *("diversity", "of each pool", "pool origin", "runs"),
    ]
    rows = [
        [
            *group,
            spread([result.best_sum for result in results], 4),
            spread([result.strict_sum for result in results], 4),
            spread([result.top_mean for result in results], 4),
            spread([result.diversity.overall for result in results]),
            " / ".join(map(spread, zip(*(result.diversity.pools for result in results), strict=True))),
            " / ".join(f"{fmean(values):.0%}" for values in zip(*map(_pool_shares, results), strict=True)),
            str(len(results)),
        ]
        for group, results in groups.items()
    ]
    return markdown(header, rows)


def equation_table(runs: Iterable[Run], encoders: Mapping[str, Encode]) -> str:
    """Return a table of the equation runs, one row for each domain, method and model, over their problems and seeds.

    Errors are medians: they differ by orders of magnitude from problem to problem.
    """
    groups: dict[tuple[str, str, str], list[tuple[Run, EquationResult]]] = defaultdict(list)
    for run in runs:
        groups[find_domain(run), run.method, run.llm].append((run, measure_equations(run, encoders)))
    header = [
        *("domain", "method", "llm", *(f"diversity ({name})" for name in encoders)),
        *("best Acc0.1", "top-10 Acc0.1", "best Acc0.1 (95%)", "top-10 Acc0.1 (95%)"),
        *("best NMSE", "top-10 NMSE", "best NMSE (ood)", "problems", "runs"),
    ]
    shares = ("best_acc", "top_acc", "best_lenient", "top_lenient")
    errors = ("best_nmse", "top_nmse", "best_ood")
    rows = []
    for group, pairs in sorted(groups.items()):
        results = [result for _, result in pairs]
        rows.append(
            [
                *group,
                *(spread([result.diversity[name] for result in results], 3) for name in encoders),
                *(_summary(results, name, fmean, ".3f") for name in shares),
                *(_summary(results, name, median, ".1e") for name in errors),
                str(len({run.settings.get("task.problem") for run, _ in pairs})),
                str(len(results)),
            ]
        )
    return markdown(header, rows)


def _summary(
    results: Sequence[EquationResult], name: str, summarize: Callable[[Sequence[float]], float], form: str
) -> str:
    values = [value for result in results if (value := getattr(result, name)) is not None]
    return format(summarize(values), form) if values else "-"


def _pool_shares(result: PackingResult) -> list[float]:
    """Return the shares of the pools in order, without that of the initial programs."""
    return [result.shares.get(pool, 0.0) for pool in range(len(result.diversity.pools))]


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Return mean ± sample standard deviation (n - 1); the mean alone for one value, a dash for none."""
    if not values:
        return "-"
    mean = f"{fmean(values):.{digits}f}"
    return f"{mean} ± {stdev(values):.{digits}f}" if len(values) > 1 else mean


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns."""
    table = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in table]
    padded.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(row)} |" for row in padded)
