"""The picture of a rule for online bin packing: where it puts items, and how full its bins are in the end."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evodiverse.kit.pictures import Axes, color_map, new_figure, styled, to_png
from evodiverse.tasks.programs.bin_packing.packing import Instance, replay

FloatArray = NDArray[np.float64]
Choices = Sequence[Sequence[int]]

MAX_CELLS: Final = 150  # the most cells on each side of the left panel
_SIDE, _FIRST = 640, 80  # pixels of a panel's side, and the percentage where the histogram starts
_BEST_FIT, _RULE = "#c95c2e", "#5498c0"


@styled()
def draw_rule(instances: Sequence[Instance], choices: Choices, best_fit: Choices, lines: Sequence[str]) -> bytes:
    """Return a PNG that shows a rule in two panels.

    The left panel shows for each item size and each free space how often the rule took the space when it could. The
    right panel is a histogram of how full the rule's bins are in the end, together with the same histogram for the
    best-fit rule.

    Args:
        instances: The packed instances, at least one.
        choices: The rule's choices for each instance.
        best_fit: The choices of best fit for each instance.
        lines: The lines of text; see `to_png`.
    """
    figure, (spaces, levels) = new_figure(_SIDE, 2)
    capacities = {instance.capacity for instance in instances}
    _draw_shares(spaces, count_shares(instances, choices), capacities.pop() if len(capacities) == 1 else None)
    _draw_fillings(levels, count_fillings(instances, choices), count_fillings(instances, best_fit))
    return to_png(figure, lines)


def count_shares(instances: Sequence[Instance], choices: Choices) -> FloatArray:
    """Return how often items of each size went into each free space, as a share of the times they could have.

    Returns:
        ``(n + 1, n)`` shares from 0 to 1, or NaN where items never had the choice; n is the smallest capacity, but at
        most `MAX_CELLS`. Rows are free spaces of open bins, ascending, and the last row is a new bin; columns are item
        sizes, ascending. If a capacity is above n, neighboring spaces and sizes share a cell.
    """
    n_cells = min(MAX_CELLS, *(instance.capacity for instance in instances))
    offered = np.zeros((n_cells + 1, n_cells))
    taken = np.zeros((n_cells + 1, n_cells))
    for instance, chosen in zip(instances, choices, strict=True):
        columns = (np.arange(instance.capacity + 1) * n_cells - 1) // instance.capacity
        rows = np.append(columns[:-1], n_cells)
        for item, spaces, space in replay(instance, chosen):
            offered[np.unique(rows[[*spaces, instance.capacity]]), columns[item]] += 1
            taken[rows[space], columns[item]] += 1
    return np.divide(taken, offered, out=np.full_like(taken, np.nan), where=offered > 0)


def count_fillings(instances: Sequence[Instance], choices: Choices) -> dict[int, float]:
    """Return the share of bins, from 0 to 1, that end at each fill level.

    The keys are fill levels in percent, rounded down. A level without bins has no key.
    """
    counts: Counter[int] = Counter()
    for instance, chosen in zip(instances, choices, strict=True):
        bins: Counter[int] = Counter()
        for item, _, space in replay(instance, chosen):
            if space != instance.capacity:
                bins[space] -= 1
            bins[space - item] += 1
        for space, count in bins.items():
            counts[100 * (instance.capacity - space) // instance.capacity] += count
    return {percent: count / counts.total() for percent, count in counts.items() if count}


def _draw_shares(axes: Axes, shares: FloatArray, capacity: int | None) -> None:
    """Draw the left panel, in percent of the capacity if instances have different ones.

    The color scale is in the lower right corner. No data are drawn there, since this corner stands for large items
    (horizontal axis) and small free spaces (vertical axis), and such items do not fit.
    """
    end, unit = (capacity, "") if capacity else (100, " in % of the capacity")
    strip = axes.inset_axes((0, 1.02, 1, 0.03))
    for panel, part in [(axes, shares[:-1]), (strip, shares[-1:])]:
        extent = (0, end, 0, end)
        image = panel.imshow(part, color_map(), aspect="auto", vmin=0, vmax=1, origin="lower", extent=extent)
    title = "Where items go:\nhow often a space is taken when it can be"
    strip.set(xticks=[], yticks=[end / 2], yticklabels=["new bin"], title=title)
    axes.set(xlabel=f"size of the item{unit}", ylabel=f"free space of the bin{unit}")
    scale = axes.inset_axes((0.6, 0.1, 0.34, 0.025))
    axes.figure.colorbar(image, scale, orientation="horizontal").set_ticks([0, 1], labels=["never", "always"])


def _draw_fillings(axes: Axes, rule: dict[int, float], best_fit: dict[int, float]) -> None:
    """Draw the right panel. The first bars also stand for all bins that are less full."""
    for label, fillings, color, offset in [("this rule", rule, _RULE, -0.19), ("best fit", best_fit, _BEST_FIT, 0.19)]:
        heights = dict.fromkeys(range(_FIRST, 101), 0.0)
        for level, share in fillings.items():
            heights[max(level, _FIRST)] += 100 * share
        axes.bar([level + offset for level in heights], [*heights.values()], 0.38, color=color, label=label)
    axes.set(xlim=(_FIRST - 0.6, 100.6), xticks=range(_FIRST, 101, 5), xlabel="how full a bin ends")
    axes.xaxis.set_major_formatter(lambda level, _: f"{'≤' if level == _FIRST else ''}{level:g}%")
    axes.yaxis.set_major_formatter("{x:g}%")
    axes.grid(axis="y")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
    axes.set_title("How full the bins end:\nshare of the bins that were opened", pad=32)
