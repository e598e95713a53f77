"""Screening: a surrogate model rates many proposals, and the best that are dissimilar to each other are evaluated."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evodiverse.search.niches import Similarities, keep_apart
from evodiverse.search.settings import Screen
from evodiverse.vocabulary import Hypothesis

# Rounding keeps the choices the same on machines that add numbers in a different order.
_DIGITS = 9


class Forecast(NamedTuple):
    """A surrogate's forecast for a hypothesis.

    Attributes:
        predicted: The expected negative energy, higher is better.
        spread: The standard deviation of the predictions of the surrogate's trees.
    """

    predicted: float
    spread: float


@dataclass(frozen=True, slots=True)
class Screening:
    """The rule that chooses which proposals are evaluated.

    Attributes:
        screen: The settings ``explore``, ``radius`` and ``at_most``.
        surrogate: The function that returns a forecast for each hypothesis.
        similarities: The task's function that compares hypotheses.
    """

    screen: Screen
    surrogate: Callable[[Sequence[Hypothesis]], list[Forecast]]
    similarities: Similarities

    def choose(
        self, hypotheses: Sequence[Hypothesis], pools: Sequence[int], shares: Mapping[int, int]
    ) -> tuple[list[Forecast], list[int]]:
        """Return all ``n`` forecasts, and the sorted indices of the chosen hypotheses.

        Each pool takes the hypotheses with the highest ``predicted + explore * spread`` among its own, as many as
        ``shares`` allows; ties are settled by the order of the hypotheses. The pool skips a hypothesis that is similar
        to ``at_most`` of those that it has taken; if too few are left, it takes skipped ones after all.

        Args:
            hypotheses: ``n`` different hypotheses that were never evaluated, sorted by slot number, then by pool, then
                by attempt. A slot is the place for one offspring in a pool; each pool numbers its own slots.
            pools: The index of the pool of each of the ``n`` hypotheses.
            shares: How many hypotheses each pool may take, by the index of the pool.
        """
        forecasts = self.surrogate(hypotheses)
        values = [round(one.predicted + self.screen.explore * one.spread, _DIGITS) for one in forecasts]
        chosen: list[int] = []
        for pool, share in shares.items():
            ranking = sorted((place for place, other in enumerate(pools) if other == pool), key=lambda at: -values[at])
            taken = keep_apart(
                [hypotheses[place] for place in ranking],
                share,
                self.screen.at_most,
                self.screen.radius,
                self.similarities,
            )
            chosen += [ranking[at] for at in taken]
        return forecasts, sorted(chosen)
