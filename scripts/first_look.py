"""Compare the two runs of `make run`: python scripts/first_look.py RUN RUN PICTURE.

Draws the best score of each run against its oracle calls above the ten best molecules of each that differ, and prints a
line about each run and one that says what to do next.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pyarrow.compute as pc

from evodiverse.api import Run, load
from evodiverse.tasks.molecules.diversity import diverse_top_mean


def describe(run: Run) -> str:
    """Return what a run evaluated and what it found, on one line."""
    found = run.table().filter(pc.is_valid(pc.field("score")))
    scores = found["score"].to_numpy()
    filters = (run.overrides or {}).get("task.filters")
    among = f", only of molecules that pass the {filters} filters" if filters else ""
    top = diverse_top_mean(found["genotype"].to_pylist(), scores)
    best = f"best score {scores.max():.2f}, mean of the ten best that differ {top:.2f}"
    return f"method={run.method}, {run.curve().calls[-1]:,} calls{among}: {best}"


def draw(runs: list[Run], told: list[str]) -> plt.Figure:
    """Return the figure: the curves of runs above the pictures of their best molecules."""
    figure = plt.figure(figsize=(12, 12), layout="constrained")
    curves, *molecules = figure.subplot_mosaic("A;B;C", height_ratios=[1, 1.6, 1.6]).values()
    for run, axes, title in zip(runs, molecules, told, strict=True):
        run.plot(curves)
        axes.imshow(plt.imread(run.path / "best" / "top10.png"))
        axes.set_title(title)
        axes.axis("off")
    curves.legend(curves.get_lines(), [run.method for run in runs], loc="lower right")
    return figure


def main() -> None:
    """Draw and print."""
    *paths, picture = map(Path, sys.argv[1:])
    runs = [load(path) for path in paths]
    told = [describe(run) for run in runs]
    draw(runs, told).savefig(picture)
    print(*told, sep="\n")
    print(
        f"see {picture}; next: `evodiverse-report outputs` makes a page for each run, and with an oracle of your own "
        "(docs/molecules.md), `evodiverse task=jnk3 task.oracle._target_=my_oracle.drug_likeness`"
    )


if __name__ == "__main__":
    main()
