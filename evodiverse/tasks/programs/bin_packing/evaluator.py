"""The evaluator of online bin packing, where a program decides where each item goes and fewer bins are better.

Its picture of a rule shows where the rule puts items, and how full its bins are in the end.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evodiverse.kit.inputs import expanded
from evodiverse.kit.pictures import Axes, color_map, new_figure, styled, to_png
from evodiverse.ports import Discovery
from evodiverse.tasks.programs.bin_packing import packing
from evodiverse.tasks.programs.bin_packing.packing import Instance, replay
from evodiverse.tasks.programs.evaluator import BEST_KNOWN, Evaluator, Scored, Verified, disproved, tell_place, to_json
from evodiverse.tasks.programs.prompts import fill_description
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.vocabulary import Detail, Job, OwnColumn, Reason, Rejection, column_types

FloatArray = NDArray[np.float64]
Choices = Sequence[Sequence[int]]

SHARPNESS: Final = 25
"""The power to which bound / bins is raised in the score. The numbers of bins of two rules differ by a few percent, too
little to affect selection; with this power, one percent more bins lowers the score by about a fifth."""

_DRIVER: Final = Path(__file__).with_name("driver.py").read_text(encoding="utf-8")
COLUMNS: Final[Mapping[str, OwnColumn]] = {
    "value": OwnColumn(
        float,
        "by what percentage the number of bins exceeds the bound (the number needed if every bin could be filled "
        "completely), where both are sums over all instances; lower is better",
        "%",
    ),
    "bins": OwnColumn(int, "number of bins in all instances, counted outside the sandbox by packing the items again"),
    "choices": OwnColumn(
        str,
        "choice for each item (0 for a new bin, k for a bin with the k-th smallest of the free spaces in which the "
        "item fits), as JSON, compressed with zlib and encoded in base64",
    ),
}
"""The columns of ``evaluations`` that bin packing adds."""

MAX_CELLS: Final = 150  # the most cells on each side of the left panel of the picture
_SIDE, _FIRST = 640, 80  # pixels of a panel's side, and the percentage where the histogram starts
_BEST_FIT, _RULE = "#c95c2e", "#5498c0"


class BinPacking(Evaluator):
    """The evaluator of rules for online bin packing.

    The score is (bound / bins)^25, at most 1. Both numbers are sums over all instances. The bound of an instance is the
    number of bins that its items would need if every bin could be filled completely (`bound_bins`). Three columns are
    logged: ``bins``, the number of bins; ``value``, its excess over the bound in percent, as FunSearch counts it; and
    ``choices``, the rule's choice for each item, so that the number of bins can be verified from the log alone.
    """

    entry_point = "priority"
    columns = column_types(COLUMNS)

    def __init__(self, settings: ProgramSettings) -> None:
        super().__init__(settings)
        named = str(settings.instances)
        self._named = f" of {named}" if named in packing.SETS else ""
        self._published = BEST_KNOWN[self.task].get(named)
        self._instances = packing.find_instances(named)
        self._bound = packing.bound_bins(self._instances)
        capacities = sorted({instance.capacity for instance in self._instances})
        self.description = fill_description(
            self.task,
            capacities=str(capacities[0]) if len(capacities) == 1 else f"between {capacities[0]} and {capacities[-1]}",
            n_instances=len(self._instances),
            n_items=f"{sum(len(instance.items) for instance in self._instances):,}",
            sharpness=SHARPNESS,
            timeout=f"{settings.timeout:.12g}",
        )

    @classmethod
    def find_violations(cls, settings: ProgramSettings) -> list[str]:
        """Return a message if ``task.instances`` has no value."""
        return [] if settings.instances else [f"task.instances has no value; {packing.EXPECTED}"]

    @classmethod
    def find_sources(cls, settings: ProgramSettings) -> Mapping[str, Path]:
        """Return the path of the user's file of instances under the key ``instances``; empty for a built-in set."""
        named = str(settings.instances)
        return {} if named in packing.SETS else {"instances": expanded(named).absolute()}

    def job(self, source: str) -> Job:
        """Return the sandbox job that asks a program for the priorities of the bins, item by item."""
        instances = [[instance.capacity, list(instance.items)] for instance in self._instances]
        return Job(source, self.entry_point, (instances,), None, self._limits, _DRIVER)

    def score(self, value: Any) -> Scored | Rejection:
        """Return the score of a program's choices, or the reason why they are invalid.

        The items are packed again to count the bins.

        Args:
            value: The result of the driver, which is not trusted; see `driver.drive`.
        """
        if isinstance(value, dict) and "fault" in value:
            return Rejection(Reason.INVALID, f"{value['fault']!s:.100}")
        choices: Any = value.get("choices") if isinstance(value, dict) else None
        try:
            bins = sum(self._count(choices))
        except ValueError as error:
            return Rejection(Reason.INVALID, str(error))
        excess = packing.measure_excess(bins, self._bound)
        details: dict[str, Detail] = {"value": excess, "bins": bins, "choices": packing.compress(choices)}
        return Scored((self._bound / bins) ** SHARPNESS, details)

    def _count(self, choices: Any) -> Iterator[int]:
        """Yield the number of bins of each instance; raise ValueError if a choice is invalid or missing."""
        if not isinstance(choices, list) or len(choices) != len(self._instances):
            raise ValueError("choices are missing for some instances")
        for number, (instance, chosen) in enumerate(zip(self._instances, choices, strict=True)):
            try:
                yield packing.count_bins(instance, chosen if isinstance(chosen, list) else [])
            except ValueError as error:
                raise ValueError(f"instance {number}: {error}") from error

    def report(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return the file ``packing.json``: how many bins each instance needs under a candidate's rule."""
        choices = packing.decompress(str(discovery.details["choices"]))
        packed = [
            {"instance": one.name, "capacity": one.capacity, "items": len(one.items), "bound": one.bound, "bins": bins}
            for one, bins in zip(self._instances, self._count(choices), strict=True)
        ]
        total = {"value": discovery.details["value"], "bins": discovery.details["bins"], "bound": self._bound}
        return {"packing.json": to_json({**total, "instances": packed})}

    def illustrate(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return a picture of a candidate's rule as ``packing.png``."""
        choices = packing.decompress(str(discovery.details["choices"]))
        best_fit = [packing.pack_best_fit(instance) for instance in self._instances]
        bins = sum(map(packing.count_bins, self._instances, best_fit))
        opened = int(str(discovery.details["bins"]))
        published = [f"FunSearch's rule\t{float(self._published.value):.2f}%"] if self._published else []
        lines = [
            f"Online bin packing, {len(self._instances)} instances{self._named}",
            f"this rule\t{packing.measure_excess(opened, self._bound):.2f}% above the bound\t{opened:,} bins",
            f"best fit\t{packing.measure_excess(bins, self._bound):.2f}%\t{bins:,} bins",
            *published,
            f"bound\t\t{self._bound:,} bins",
            tell_place(discovery),
        ]
        return {"packing.png": draw_rule(self._instances, choices, best_fit, lines)}

    def verify(self, discovery: Discovery) -> Verified:
        """Return the exact excess of the number of bins over the L1 bound, in percent of the bound.

        The L1 bound is the number of bins needed if every bin could be filled completely. Both numbers are sums over
        all instances. The logged choices are made once more to count the bins.

        Raises:
            ServiceError: The number of bins differs from the logged one, or the choices are not a packing.
        """
        choices = packing.decompress(str(discovery.details["choices"]))
        try:
            bins = sum(self._count(choices))
        except ValueError as error:
            raise disproved(discovery, str(error)) from error
        if bins != discovery.details["bins"]:
            raise disproved(discovery, f"the choices open {bins} bins")
        return Verified(
            "bins above the L1 bound, in percent of it",
            100 * Fraction(bins - self._bound, self._bound),
            "every item put into its bin again, in integer arithmetic",
            self._published,
            is_larger_better=False,
        )


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
        image = panel.imshow(part, color_map(), aspect="auto", vmin=0, vmax=1, origin="lower", extent=(0, end, 0, end))
    title = "Where items go:\nhow often a space is taken when it can be"
    strip.set(xticks=[], yticks=[end / 2], yticklabels=["new bin"], title=title)
    axes.set(xlabel=f"size of the item{unit}", ylabel=f"free space of the bin{unit}")
    scale = axes.inset_axes((0.6, 0.1, 0.34, 0.025))
    axes.figure.colorbar(image, scale, orientation="horizontal").set_ticks([0, 1], labels=["never", "always"])


def _draw_fillings(axes: Axes, rule: dict[int, float], best_fit: dict[int, float]) -> None:
    """Draw the right panel. The first bars also stand for all bins that are less full."""
    for label, fillings, color, offset in [("this rule", rule, _RULE, -0.19), ("best fit", best_fit, _BEST_FIT, 0.19)]:
        bars = np.clip([*fillings], _FIRST, 100) - _FIRST
        heights = 100 * np.bincount(bars, [*fillings.values()], minlength=101 - _FIRST)
        axes.bar(np.arange(_FIRST, 101) + offset, heights, 0.38, color=color, label=label)
    axes.set(xlim=(_FIRST - 0.6, 100.6), xticks=range(_FIRST, 101, 5), xlabel="how full a bin ends")
    axes.xaxis.set_major_formatter(lambda level, _: f"{'≤' if level == _FIRST else ''}{level:g}%")
    axes.yaxis.set_major_formatter("{x:g}%")
    axes.grid(axis="y")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
    axes.set_title("How full the bins end:\nshare of the bins that were opened", pad=32)
