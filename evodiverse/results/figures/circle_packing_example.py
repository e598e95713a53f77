"""Figure ``circle_packing_example``: the best packing over all seeds, with the program that computes it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from textwrap import wrap
from typing import Final

from matplotlib.figure import Figure

from evodiverse.results.figures.circle_trajectory import PACKING
from evodiverse.results.figures.packings import draw_packing, read_packings
from evodiverse.results.figures.reading import (
    Context,
    FigureKind,
    Picture,
    Wanted,
    best_run,
    curve,
    describe_runs,
    group_runs,
    has,
    numbers,
)
from evodiverse.results.figures.style import INK, PAGE, new_figure
from evodiverse.results.tables.results import Result
from evodiverse.text import count_of, printable

NAME: Final = "circle_packing_example"
_MOST_LINES: Final = 46
_MOST_COLUMNS: Final = 92


def find(results: Sequence[Result], _: Context) -> Iterator[Picture]:
    """Yield one figure per group of runs (see `group_runs`) and task."""
    usable = [result for result in results if has(result, "sum_calls", "sum")]
    for group in group_runs(usable, PACKING):
        for task in sorted({result.task for result in group.results}):
            best = best_run([result for result in group.results if result.task == task], "best_sum")
            if best is None:
                continue
            own = "" if task == "circle_packing" else f"_{task}"
            call, total = _best_call(best)
            yield Picture(
                f"{NAME}_{group.suffix}{own}",
                f"The best packing of {best.run.settings.get('task.n')} circles in the unit square, {group.words}, out "
                f"of {count_of(len(group.results), 'run')}: sum of radii {total:.6f} ({best.run.method}, seed "
                f"{best.run.seed}, evaluation {call:,}), and the start of its program; the .py file has the whole "
                "program.",
                partial(draw, best),
                describe_runs([best]),
                partial(write_program, best),
            )


def _best_call(best: Result) -> tuple[int, float]:
    return int(numbers(curve(best, "sum_calls"))[-1]), numbers(curve(best, "sum"))[-1]


def read_program(best: Result) -> str:
    """Return the program of the best packing of a run."""
    call, _ = _best_call(best)
    columns = best.run.columns("evaluations", ["call", "genotype"])
    return str(dict(zip(columns["call"], columns["genotype"], strict=True))[call])


def write_program(best: Result) -> Mapping[str, str]:
    """Return a mapping from the suffix ``.py`` to the source of the program, in the form that `Picture.texts` needs."""
    return {".py": read_program(best)}


def draw(best: Result) -> Figure:
    """Return a figure with the packing next to the first lines of its program."""
    call, total = _best_call(best)
    figure = new_figure(PAGE, 3.4)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    draw_packing(left, read_packings(best.run, [call])[call])
    left.set_title(f"sum of radii {total:.4f}, evaluation {call:,}")
    right.set_axis_off()
    right.set_title(f"its program ({best.run.method}, seed {best.run.seed})", loc="left")
    text = "\n".join(_first_lines(read_program(best)))
    right.text(0, 1, text, family="DejaVu Sans Mono", fontsize=3.9, va="top", color=INK, transform=right.transAxes)
    return figure


def _first_lines(program: str) -> list[str]:
    """Return as many of the first lines of a program as fit in the figure, with long lines wrapped."""
    lines = [
        part
        for line in program.splitlines()
        for part in wrap(printable(line), _MOST_COLUMNS, drop_whitespace=False, subsequent_indent="    ") or [""]
    ]
    rest = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], f"# … {count_of(rest, 'more line')}"] if rest > 0 else lines


FIGURE: Final = FigureKind(
    NAME,
    "The best packing and its program",
    find,
    "fig:circle_packing_example",
    Wanted(("circle_packing",), ("pt",), ("DeepSeek-V3.2",)),
)
