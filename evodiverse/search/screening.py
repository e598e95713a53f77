"""Screening: uncharged generations of proposals are bred by what a surrogate forecasts, and the best are evaluated."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evodiverse.search.archive import Archive
from evodiverse.search.exchange import Pools
from evodiverse.search.mating import find_best
from evodiverse.search.niches import Niches, Similarities, keep_apart, spread
from evodiverse.search.sampling import FloatArray, IntArray, sample_without_replacement
from evodiverse.search.settings import Method, Screen, at_rung
from evodiverse.search.streams import Purpose, Streams
from evodiverse.vocabulary import Candidate, Hypothesis, Proposal, Rejection, Request

N_BEST = 500
"""How many evaluated candidates, the best, are founders of an inner search."""
N_RANKED = 2_000
"""How many evaluated candidates, those with the highest scores, are ranked by score * worth as founders."""
N_OTHERS = 300
"""How many other evaluated candidates are drawn as founders of an inner search."""
N_PARENTS = 1_000
"""How many candidates may become parents: those with the highest acquisition."""
RANK_OFFSET = 10
"""The candidate at rank r, counted from 0, becomes a parent with a weight of 1 / (r + RANK_OFFSET)."""
GROWTH = 1.5
"""The library is rated again whenever the number of calls has grown by this factor."""
LIBRARY_EVERY = 10
"""One of so many slots of a pool is for a candidate of the library, as long as it has any."""
LIBRARY = "library"
"""The operator, in the log, of a candidate that comes from the task's library."""
# Rounding keeps the choices the same on machines that add numbers in a different order.
_DIGITS = 9

Answer = tuple[Proposal, Hypothesis | Rejection]
"""A proposal, with the hypothesis that it was parsed to or the reason why it was rejected."""


class Forecast(NamedTuple):
    """A surrogate's forecast for a hypothesis.

    Attributes:
        predicted: The expected value, higher is better.
        spread: The standard deviation of the value.
    """

    predicted: float
    spread: float


class Offer(NamedTuple):
    """A hypothesis that was never evaluated, and its forecast.

    Attributes:
        request: The request that it answers; a candidate of the library answers a request without parents.
        proposal: The proposal that it was parsed from.
        hypothesis: The hypothesis.
        forecast: The forecast.
        worth: The factor of its acquisition (see `View`).
    """

    request: Request
    proposal: Proposal
    hypothesis: Hypothesis
    forecast: Forecast
    worth: float


class View(NamedTuple):
    """What the surrogate of some pools knows.

    Attributes:
        calls: ``(n,)`` evaluated candidates that it learned from, given by the numbers of their calls.
        niches: ``(n,)`` niches of these candidates; one for all without `Screen.share`.
        worth: A function that returns the factors, in [0, 1], of the acquisition of some of these candidates, given by
            their calls.
        library: ``m`` candidates of the task's library, none of which was evaluated.
        promised: ``(3, m)`` numbers for them, as the forecaster returns them.
        forecaster: A function that returns ``(3, n)`` numbers for ``n`` hypotheses: the means and the standard
            deviations of their values, and the factors of their acquisition.
    """

    calls: IntArray
    niches: IntArray
    worth: Callable[[IntArray], FloatArray]
    library: Sequence[Hypothesis]
    promised: FloatArray
    forecaster: Callable[[Sequence[Hypothesis]], FloatArray]


class InnerSearch:
    """The inner search of one iteration: it asks for generations of proposals, and chooses which are evaluated.

    Pools with the same view breed from the same candidates. The founders are `N_BEST` good evaluated candidates,
    `N_OTHERS` others, and candidates of the task's library. The parents of each generation are drawn by rank
    (see `RANK_OFFSET`) among the first `N_PARENTS`, which may be proposals of earlier generations, unless
    `Screen.by_model` is set. They are ranked by mean + κ * standard deviation, their acquisition; for an
    evaluated candidate, it is the value. Each pool draws its κ from its own range. So that no niche crowds out the
    others, the best of each come first in the ranking, and in the choice of the good founders (see `spread` and
    `Screen.share`).

    Args:
        iteration: The number of the iteration.
        pools: The members of each pool.
        archive: The archive of the run.
        views: The view of each pool.
        method: The settings of the method.
        screen: Its settings ``screen``.
        streams: The random streams of the run.
        similarities: The task's function that compares hypotheses.

    Attributes:
        answers: All requests and their answers, in order.
        offers: The first answer with each hypothesis that was never evaluated, by key.
        n_generations: The number of generations.
    """

    def __init__(
        self,
        iteration: int,
        pools: Pools,
        archive: Archive,
        views: Sequence[View],
        method: Method,
        screen: Screen,
        streams: Streams,
        similarities: Similarities,
    ) -> None:
        self.answers: list[tuple[Request, Answer]] = []
        self.offers: dict[str, Offer] = {}
        self.n_generations = screen.n_generations
        self._iteration, self._archive = iteration, archive
        self._method, self._screen, self._streams, self._similarities = method, screen, streams, similarities
        self._keys_of_library = {hypothesis.key for view in views for hypothesis in view.library}
        stocks: dict[int, _Stock] = {}
        self._rungs: dict[int, _Rung] = {}
        for pool, members in enumerate(pools):
            if members.size:
                stock = stocks.setdefault(id(views[pool]), _Stock(views[pool], screen, similarities))
                low, high = at_rung(screen.kappa, pool)
                draw = streams.at(Purpose.SCREEN, iteration, pool=pool).rng().random()
                self._rungs[pool] = _Rung(stock, float(low * (high / low) ** draw), find_best(members, archive))
        self._stocks = list(stocks.values())
        for stock in self._stocks:
            self._found(stock)

    def _found(self, stock: "_Stock") -> None:
        """Take in the founders."""
        view = stock.view
        rng = self._streams.at(Purpose.SCREEN, self._iteration, pool=self._stocks.index(stock), slot=1).rng()
        may_breed = self._archive.may_join(view.calls)
        calls, niches = view.calls[may_breed], view.niches[may_breed]
        values = as_values(self._archive.scores[calls - 1])
        best, worth = np.argsort(-values, kind="stable")[:N_RANKED], np.ones(values.size)
        worth[best] = view.worth(calls[best])
        ranking = rank_values(values * worth)
        ranking = ranking[spread(niches[ranking], self._screen.share or 1)]
        chosen = np.concatenate([ranking[:N_BEST], rng.permutation(ranking[N_BEST:])[:N_OTHERS]])
        others = np.setdiff1d(chosen, best)
        if others.size:
            worth[others] = view.worth(calls[others])
        known = [self._archive.candidate(call) for call in calls[chosen].tolist()]
        numbers = np.stack([values[chosen], np.zeros(chosen.size), worth[chosen]])
        stock.add(known, [(candidate.call,) for candidate in known], numbers)
        stock.add([_unevaluated(one) for one in view.library], [()] * len(view.library), view.promised)

    def breed(self, generation: int) -> list[Request]:
        """Return the requests for a generation, counted from 1: `Screen.n_proposals` of them, shared by the pools.

        Slots are counted over all pools.
        """
        requests: list[Request] = []
        for place, (pool, rung) in enumerate(self._rungs.items()):
            ranking = rung.stock.rank(rung.kappa, only_evaluated=self._screen.by_model)
            log_weights = -np.log(np.arange(ranking.size) + RANK_OFFSET)
            for _ in range((self._screen.n_proposals + place) // len(self._rungs)):
                address = {"pool": pool, "slot": len(requests), "attempt": generation}
                rng = self._streams.at(Purpose.PARENTS, self._iteration, **address).rng()
                drawn = ranking[sample_without_replacement(log_weights, self._method.parents, rng)].tolist()
                parents = tuple(rung.stock.candidates[at] for at in drawn)
                ancestors = tuple(dict.fromkeys(call for at in drawn for call in rung.stock.ancestors[at]))
                stream = self._streams.at(Purpose.OPERATOR, self._iteration, **address)
                asked = (parents, self._method.prompt(pool), stream, rung.best, ancestors)
                requests.append(Request(self._iteration, pool, len(requests), generation, *asked))
        return requests

    def add(self, requests: Sequence[Request], answers: Sequence[Answer]) -> None:
        """Take in the answers to the requests of a generation, and forecast the new hypotheses among them."""
        fresh: dict[str, tuple[Request, Proposal, Hypothesis]] = {}
        known = self.offers.keys() | self._keys_of_library
        for request, (proposal, parsed) in zip(requests, answers, strict=True):
            self.answers.append((request, (proposal, parsed)))
            if isinstance(parsed, Hypothesis) and not (parsed.key in known or self._archive.call_of(parsed.key)):
                fresh.setdefault(parsed.key, (request, proposal, parsed))
        for stock in self._stocks:
            found = [one for one in fresh.values() if self._rungs[one[0].pool].stock is stock]
            if not found:
                continue
            forecasts = stock.view.forecaster([hypothesis for *_, hypothesis in found])
            for one, (mean, deviation, worth) in zip(found, forecasts.T.tolist(), strict=True):
                self.offers[one[2].key] = Offer(*one, Forecast(mean, deviation), worth)
            candidates = [_unevaluated(hypothesis) for *_, hypothesis in found]
            stock.add(candidates, [request.ancestors for request, *_ in found], forecasts)

    def choose(self, shares: Mapping[int, int]) -> list[Offer]:
        """Return the offers to evaluate, the library's first, then the others in the order of their requests.

        Each pool takes the offers with the highest acquisition, whichever pool with the same view bred them, as many as
        ``shares`` allows, and some of them from the library (see `LIBRARY_EVERY`); ties are settled by the order of the
        offers. Pools choose one after the other. An offer is passed over if too many of those taken are similar to it
        (`Screen.at_most`); if too few are left, those passed over are taken after all. The request of an offer names
        the pool that takes it.

        Args:
            shares: How many offers each pool may take, by the index of the pool.
        """
        taken: dict[str, Offer] = {}
        libraries = {id(stock): self._offer_library(stock) for stock in self._stocks}
        for pool, share in shares.items():
            rung = self._rungs[pool]
            library = libraries[id(rung.stock)]
            bred = [one for one in self.offers.values() if self._rungs[one.request.pool].stock is rung.stock]
            n_before = len(taken)
            self._take(taken, library, pool, share // LIBRARY_EVERY)
            self._take(taken, [*library, *bred], pool, share - (len(taken) - n_before))
        of_library = [offer for offers in libraries.values() for offer in offers]
        order = {offer.hypothesis.key: at for at, offer in enumerate([*of_library, *self.offers.values()])}
        return sorted(taken.values(), key=lambda offer: order[offer.hypothesis.key])

    def _take(self, taken: dict[str, Offer], offers: Sequence[Offer], pool: int, size: int) -> None:
        """Add the best offers for a pool to those taken."""
        free = [one for one in offers if one.hypothesis.key not in taken]
        values = np.array([offer.forecast for offer in free]).reshape(-1, 2) @ [1.0, self._rungs[pool].kappa]
        values *= [offer.worth for offer in free]
        ranked = [free[at] for at in rank_values(values)]
        candidates, n_before = [*taken.values(), *ranked], len(taken)
        kept = keep_apart(
            [offer.hypothesis for offer in candidates],
            n_before + size,
            self._screen.at_most,
            self._screen.radius,
            self._similarities,
            certain=n_before,
        )
        for at in kept[n_before:]:
            offer = candidates[at]
            taken[offer.hypothesis.key] = offer._replace(request=replace(offer.request, pool=pool))

    def _offer_library(self, stock: "_Stock") -> list[Offer]:
        """Return the offers of the library to some pools. Slots are counted over all libraries.

        A candidate of the library may have been evaluated since the inner search began, if iterations overlap.
        """
        before = sum(len(other.view.library) for other in self._stocks[: self._stocks.index(stock)])
        offers = []
        pairs = zip(stock.view.library, stock.view.promised.T.tolist(), strict=True)
        for at, (one, (mean, deviation, worth)) in enumerate(pairs):
            if self._archive.call_of(one.key) is None:
                stream = self._streams.at(Purpose.OPERATOR, self._iteration, slot=before + at)
                request = Request(self._iteration, 0, before + at, 0, (), self._method.prompt(0), stream)
                offers.append(Offer(request, Proposal(one.genotype, LIBRARY), one, Forecast(mean, deviation), worth))
        return offers


class _Stock:
    """The breeding stock of the pools with one view: candidates, their forecasts, and their evaluated ancestors.

    Attributes:
        view: The view.
        candidates: The candidates.
        ancestors: The calls of the evaluated ancestors of each candidate.
    """

    def __init__(self, view: View, screen: Screen, similarities: Similarities) -> None:
        self.view, self._share = view, screen.share
        self.candidates: list[Candidate] = []
        self.ancestors: list[tuple[int, ...]] = []
        self._forecasts = np.empty((3, 0))
        self._niches = np.empty(0, dtype=np.int64)
        self._register = Niches(screen.radius, similarities)

    def add(self, candidates: Sequence[Candidate], ancestors: Sequence[tuple[int, ...]], forecasts: FloatArray) -> None:
        """Add ``n`` candidates, with their evaluated ancestors and the forecaster's ``(3, n)`` numbers."""
        self.candidates += candidates
        self.ancestors += ancestors
        self._forecasts = np.concatenate([self._forecasts, forecasts], axis=1)
        niches = np.zeros(len(candidates), dtype=np.int64)
        if self._share is not None:
            niches = self._register.assign([Hypothesis(one.genotype, one.key) for one in candidates])
        self._niches = np.concatenate([self._niches, niches])

    def rank(self, kappa: float, *, only_evaluated: bool = False) -> IntArray:
        """Return the indices of the candidates that may become parents, in the order of the ranking."""
        means, deviations, worth = self._forecasts
        ranking = rank_values((means + kappa * deviations) * worth)
        if only_evaluated:
            was_evaluated = np.array([candidate.call > 0 for candidate in self.candidates])
            ranking = ranking[was_evaluated[ranking]]
        return ranking[spread(self._niches[ranking], self._share or 1)][:N_PARENTS]


class _Rung(NamedTuple):
    """What a pool breeds from, and what it looks for.

    Attributes:
        stock: Its breeding stock.
        kappa: κ of the acquisition.
        best: The best member of the pool.
    """

    stock: _Stock
    kappa: float
    best: Candidate


def _unevaluated(hypothesis: Hypothesis) -> Candidate:
    return Candidate(0, hypothesis.genotype, hypothesis.key, None, None)


def as_values(scores: FloatArray) -> FloatArray:
    """Return scores as values in [0, 1]; a candidate without a score has the worst."""
    return np.clip(np.nan_to_num(scores, nan=0.0), 0.0, 1.0)


def rank_values(values: FloatArray) -> IntArray:
    """Return the indices of computed values, the highest first. Ties, also up to rounding errors, keep their order."""
    return np.argsort(-np.round(values, _DIGITS), kind="stable")


def is_due(n_calls: int, n_rated: int, apart: int) -> bool:
    """Return whether to rate the library again after ``n_calls`` calls; the last time was after ``n_rated``.

    It is due when the calls have grown by `GROWTH`, and when pools no longer learn apart (see `Screen.apart`).
    """
    return n_calls >= GROWTH * n_rated or n_rated < apart <= n_calls
