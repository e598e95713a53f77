"""Tables over several runs, in Markdown."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from evodiverse.analysis.molecules import (
    count_full_iterations,
    diverse_top10_auc,
    diverse_top10_average,
    diverse_top10_curve,
    swap_acceptance,
)
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


def spread(values: Sequence[float]) -> str:
    """Return mean ± sample standard deviation (n - 1); the mean alone for one value, a dash for none."""
    if not values:
        return "-"
    return f"{fmean(values):.2f} ± {stdev(values):.2f}" if len(values) > 1 else f"{fmean(values):.2f}"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns."""
    table = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in table]
    padded.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(row)} |" for row in padded)
