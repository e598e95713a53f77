"""Figures of circle packing: the best sum of radii, the packings that set records, and the program of the best one."""

from textwrap import wrap
from typing import Any, Final

from matplotlib.figure import Figure

from evodiverse.results.figures import reading, style
from evodiverse.results.figures.curves import draw_bands, fit_axis, legend_of, record_bands
from evodiverse.results.figures.reading import Group, Result
from evodiverse.results.grouping import thin
from evodiverse.text import count_of, printable

SUM: Final = "best_sum"
_MOST_LINES: Final = 46


def read_texts(result: Result, name: str) -> dict[int, Any]:
    """Return a column of ``evaluations``, such as the packings that a run evaluated, by oracle call."""
    columns = result.run.columns("evaluations", ["call"], {name: str})
    return dict(zip(columns["call"], columns[name], strict=True))


def draw_records(group: Group) -> Figure:
    """Return a figure with the curves of all methods and, below them, packings with which the best run set a record."""
    (best,) = reading.keep_best(SUM, group.results)
    sums = dict(zip(map(int, reading.numbers(best, "sum_calls")), reading.numbers(best, "sum"), strict=True))
    shown = thin([*sums], 5)
    packings = read_texts(best, "packing")
    figure = style.new_figure(style.PAGE * 0.72, 3.9)
    parts: Any = figure.subfigures(2, 1, height_ratios=(2.1, 1))
    upper, lower = parts
    axes = upper.subplots()
    bands = record_bands(group.results, "sum_calls", "sum")
    draw_bands(axes, bands, steps=True)
    # The first sums are far below the rest.
    fit_axis(axes, bands, least=0.9 * max(float(best.metrics[SUM]), 0.0))  # type: ignore[arg-type] # a number
    axes.set(xlim=(0, reading.budget_of(group.results) * 1.01), xlabel="evaluations")
    axes.set_ylabel("best sum of radii (unit square = 1)")
    style.add_legend(upper, legend_of(group.results), 5)
    for panel, call in zip(lower.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        reading.draw_candidate(panel, group, best, call, "", {"packing": packings.get(call)})
        panel.set_title(f"evaluation {call:,}\n{sums[call]:.4f}", fontsize=6.5)
    return figure


def describe_records(group: Group) -> dict[str, Any]:
    """Return the number of circles, and the run whose packings are drawn below the curves."""
    (best,) = reading.keep_best(SUM, group.results)
    return {"n": best.run.settings.get("task.n"), "run": best.run}


def _find_best(run: Result) -> tuple[int, float]:
    """Return the call that evaluated the best packing of a run, and its sum of radii."""
    return int(reading.numbers(run, "sum_calls")[-1]), reading.numbers(run, "sum")[-1]


def describe_program(group: Group) -> str:
    """Return the part of a caption about the best packing of the only run of a group."""
    run, (call, total), n = group.best.run, _find_best(group.best), count_of(group.n_runs, "run")
    about = f"sum of radii {total:.6f} ({run.method}, seed {run.seed}, evaluation {call:,})"
    return f"{run.settings.get('task.n')} circles in the unit square, {group.words}, out of {n}: {about}"


def read_program(group: Group) -> dict[str, str]:
    """Return the program of the best packing of the only run of a group, by the suffix of the file for it."""
    return {".py": str(read_texts(group.best, "genotype")[_find_best(group.best)[0]])}


def draw_program(group: Group) -> Figure:
    """Return a figure with the best packing next to the first lines of its program."""
    best, (call, total) = group.best, _find_best(group.best)
    figure = style.new_figure(style.PAGE, 3.4)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    reading.draw_candidate(left, group, best, call, "", {"packing": read_texts(best, "packing").get(call)})
    left.set_title(f"sum of radii {total:.4f}, evaluation {call:,}")
    right.set_axis_off()
    right.set_title(f"its program ({best.run.method}, seed {best.run.seed})", loc="left")
    lines = [
        part
        for line in read_program(group)[".py"].splitlines()
        for part in wrap(printable(line), 92, drop_whitespace=False, subsequent_indent="    ") or [""]
    ]
    if (rest := len(lines) - _MOST_LINES) > 0:
        lines[_MOST_LINES:] = [f"# … {count_of(rest, 'more line')}"]
    text, look = "\n".join(lines), {"family": "DejaVu Sans Mono", "fontsize": 3.9, "color": style.INK}
    right.annotate(text, (0, 1), xycoords="axes fraction", va="top", **look)
    return figure
