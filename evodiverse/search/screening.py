"""Screening: of many proposals a few are paid for, those of which a surrogate expects most and that differ."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evodiverse.search.niches import Similarities, keep_apart
from evodiverse.search.settings import Screen
from evodiverse.vocabulary import Hypothesis

# A sum in another order, on another machine, changes no choice.
_DIGITS = 9


class Forecast(NamedTuple):
    """What a surrogate expects of a hypothesis, minus its energy, and how far the surrogate's trees disagree."""

    predicted: float
    spread: float


@dataclass(frozen=True, slots=True)
class Screening:
    """Chooses among proposals.

    Attributes:
        screen: Its ``explore``, ``radius`` and ``at_most`` are used.
        surrogate: Forecasts hypotheses.
        similarities: Of the task.
    """

    screen: Screen
    surrogate: Callable[[Sequence[Hypothesis]], list[Forecast]]
    similarities: Similarities

    def choose(
        self, hypotheses: Sequence[Hypothesis], pools: Sequence[int], shares: Mapping[int, int]
    ) -> tuple[list[Forecast], list[int]]:
        """Return the forecasts ``(n,)`` of all, and the places of those that are chosen, sorted.

        Each pool takes its share of the highest ``predicted + explore * spread``, the first among equals, passing over
        what is similar to ``at_most`` that it has taken; where too few are left, those passed over fill up.

        Args:
            hypotheses: ``(n,)`` that were never evaluated, all different, in the order (slot, pool, attempt).
            pools: ``(n,)``, for which each was proposed.
            shares: How many each pool may take.
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
