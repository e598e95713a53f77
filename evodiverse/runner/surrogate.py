"""The surrogate of a run: Gaussian processes over the candidates evaluated so far, and the library that they rate."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
from scipy.sparse import csr_array

from evodiverse.ports import Stocked, Task
from evodiverse.runner import contracts
from evodiverse.runner.stock import Stock
from evodiverse.runner.workers import Workers
from evodiverse.search import process
from evodiverse.search.archive import Archive
from evodiverse.search.exchange import Pools
from evodiverse.search.niches import Niches, Similarities
from evodiverse.search.sampling import FloatArray, IntArray
from evodiverse.search.screening import InnerSearch, View, as_values, is_due
from evodiverse.search.settings import Method
from evodiverse.search.streams import Purpose, Streams
from evodiverse.vocabulary import Hypothesis

N_RATERS: Final = 1_200
"""The maximum number of candidates from which the process learns that rates the library."""
N_DRAWN: Final = 100
"""How many candidates of the library are drawn as founders of an inner search, besides the shortlist."""
N_OWNED: Final = 300
"""How many candidates, at most, say what belongs to better pools: the best of those that are good in their pool."""
OWNED_ALIKE: Final = 0.25
"""The similarity, by the kernel, at or above which a hypothesis is similar to a good candidate of another pool."""
OWNED_LEAST: Final = 3
"""A hypothesis belongs to better pools if at least this many of their good candidates are similar to it."""


class Surrogate:
    """The surrogate of a run that screens.

    Each iteration has processes of its own, which learn from samples of the calls before it: one for all pools or,
    while pools learn apart (`Screen.apart`), one for each. The samples depend only on these calls and the seed, so a
    resumed run learns the same. The shortlists, the best of the library by each process, are chosen anew whenever
    `is_due` says so, by processes that learn from fewer candidates.

    Args:
        task: The task of the run.
        workers: The worker processes, which compute features.
        archive: The archive of the run.
        streams: The random streams of the run.
        method: The settings of the method, with ``screen``.
        similarities: The task's function that compares hypotheses.
        folder: The folder that keeps the features of libraries.

    Attributes:
        n_rated: How many calls the run had made when the shortlists were chosen; 0 before that.
    """

    def __init__(
        self,
        task: Task,
        workers: Workers,
        archive: Archive,
        streams: Streams,
        method: Method,
        similarities: Similarities,
        folder: Path,
    ) -> None:
        if method.screen is None:
            raise ValueError("the method does not screen")
        self.n_rated = 0
        self._task, self._workers, self._archive, self._streams = task, workers, archive, streams
        self._method, self._screen, self._similarities, self._folder = method, method.screen, similarities, folder
        self._stock: Stock | None = None
        self._shortlists: list[dict[Hypothesis, int]] = []  # for each process, the places of its best in the library
        self._described: list[process.Row] = []
        self._niches = Niches(method.screen.radius, similarities)
        self._niche_of_calls: list[int] = []

    def count_rated(self, n_calls: int) -> int:
        """Return by how many calls the library is rated for an iteration that begins after the first ``n_calls``."""
        return n_calls if is_due(n_calls, self.n_rated, self._screen.apart) else self.n_rated

    def begin(self, iteration: int, pools: Pools, n_calls: int, n_rated: int) -> InnerSearch:
        """Return the inner search of an iteration.

        Args:
            iteration: The number of the iteration.
            pools: The members of each pool.
            n_calls: The number of calls, the first of the run, after which the iteration begins.
            n_rated: What `count_rated` returned for it.
        """
        self._workers.described = {}
        self.rate(n_rated)
        families, known = self._count_families(n_calls), self._share_out(n_calls)
        views = [self._view(iteration, place, calls, families, n_calls) for place, calls in enumerate(known)]
        if len(views) < len(pools):
            views *= len(pools)
        return InnerSearch(
            iteration, pools, self._archive, views, self._method, self._screen, self._streams, self._similarities
        )

    def rate(self, n_calls: int) -> None:
        """Rate the library by the run's first ``n_calls`` calls, unless it is; the best are the shortlists."""
        if n_calls == self.n_rated:
            return
        self.n_rated = n_calls
        if self._stock is None and isinstance(self._task, Stocked) and self._screen.shortlist:
            self._stock = Stock(self._task, self._workers, self._folder)
        if self._stock is None:
            return
        known = self._share_out(n_calls)
        distinct = known[:1] if all(np.array_equal(calls, known[0]) for calls in known) else known
        means = [self._learn(calls, N_RATERS, 0, place).mean for place, calls in enumerate(distinct)]
        families = self._count_families(n_calls)
        rankings = self._stock.rank(means, None if families is None else families.worth)
        chosen = [self._choose(self._stock, ranking, n_calls) for ranking in rankings]
        self._shortlists = chosen * (len(known) // len(chosen))

    def _choose(self, stock: Stock, ranking: IntArray, n_calls: int) -> dict[Hypothesis, int]:
        """Return the first candidates in a ranking of the library that the first ``n_calls`` calls did not evaluate."""
        size = self._screen.shortlist
        found: dict[Hypothesis, int] = {}
        for at in range(0, ranking.size, size):
            found |= self._find_new(self._read(stock, ranking[at : at + size]), n_calls)
            if len(found) >= size:
                break
        return dict(islice(found.items(), size))

    def _share_out(self, n_calls: int) -> list[IntArray]:
        """Return the calls, of the first ``n_calls``, that each process learns from."""
        calls = np.arange(1, n_calls + 1)
        if n_calls >= self._screen.apart or self._method.n_pools == 1:
            return [calls]
        pools = self._archive.pools[:n_calls]
        return [calls[(pools == pool) | (pools < 0)] for pool in range(self._method.n_pools)]

    def _view(
        self, iteration: int, place: int, calls: IntArray, families: process.Families | None, n_calls: int
    ) -> View:
        """Return what the process knows that learns from some of the first ``n_calls`` calls."""
        learned = self._learn(calls, process.N_DATA, iteration, place)
        owned = self._find_owned(place, n_calls) if calls.size < n_calls else None

        def worth(rows: csr_array) -> FloatArray:
            worth = np.ones(rows.shape[0]) if families is None else families.worth(rows)
            if owned is not None:
                worth[(owned(rows) >= OWNED_ALIKE).sum(axis=1) >= OWNED_LEAST] = 0.0
            return worth

        def forecast(rows: csr_array) -> FloatArray:
            return np.concatenate([learned.forecast(rows), worth(rows)[None]])

        library: dict[Hypothesis, int] = {}
        promised = np.empty((3, 0))
        if self._stock is not None:
            rng = self._streams.at(Purpose.LIBRARY, iteration, pool=place).rng()
            drawn = rng.choice(len(self._stock), size=min(N_DRAWN, len(self._stock)), replace=False)
            known = self._shortlists[place] | self._read(self._stock, drawn)
            library = self._find_new(known, n_calls)
            promised = forecast(self._stock.rows(np.array([*library.values()], dtype=np.int64)))
        return View(
            calls,
            np.zeros_like(calls) if families is None else np.array(self._niche_of_calls)[calls - 1],
            lambda some: worth(self._rows(some)),
            [*library],
            promised,
            lambda hypotheses: forecast(process.stack(self._workers.describe(hypotheses))),
        )

    def _count_families(self, n_calls: int) -> process.Families | None:
        """Return what the run's first ``n_calls`` calls say of families; None if their worth does not count."""
        if self._screen.share is None:
            return None
        new = [self._archive.hypothesis(call + 1) for call in range(len(self._niche_of_calls), n_calls)]
        self._niche_of_calls += self._niches.assign(new).tolist()
        values = as_values(self._archive.scores[:n_calls])
        rng = self._streams.at(Purpose.FAMILIES, 0, slot=n_calls).rng()
        counted = np.sort(rng.permutation(n_calls)[: process.N_COUNTED]) + 1
        good = process.find_best_of_niches(values, np.array(self._niche_of_calls[:n_calls])) + 1
        return process.Families(
            process.Kernel(self._rows(counted)), n_calls / counted.size, process.Kernel(self._rows(good))
        )

    def _find_owned(self, pool: int, n_calls: int) -> process.Kernel | None:
        """Return the kernel of the good candidates of better pools, after ``n_calls`` calls; None if there are none.

        A pool is better if its best value is, or of equal ones, the colder. It has none before it is better than the
        initial candidates.
        """
        values, pools = as_values(self._archive.scores[:n_calls]), self._archive.pools[:n_calls]
        start = values[pools < 0].max(initial=0.0)
        best = [values[pools == other].max(initial=0.0) for other in range(self._method.n_pools)]
        is_good = np.zeros(values.size, dtype=bool)
        for other, value in enumerate(best):
            if value > start and (value, -other) > (best[pool], -pool):
                is_good |= (pools == other) & (values >= process.GOOD * value)
        if not is_good.any():
            return None
        calls = np.flatnonzero(is_good) + 1
        ranking = np.argsort(-values[calls - 1], kind="stable")
        return process.Kernel(self._rows(calls[ranking[:N_OWNED]]))

    def _learn(self, calls: IntArray, most: int, iteration: int, place: int) -> process.Process:
        """Return a process that learns from at most this number of calls."""
        values = as_values(self._archive.scores[calls - 1])
        rng = self._streams.at(Purpose.SAMPLE, iteration, pool=place, slot=calls.size).rng()
        sample = process.choose_sample(values, rng, most)
        return process.Process(self._rows(calls[sample]), values[sample])

    def _rows(self, calls: IntArray) -> csr_array:
        """Return the ``(n, d)`` bits of ``n`` calls."""
        n_calls, n_described = self._archive.n_calls, len(self._described)
        if n_described < n_calls:
            new = [self._archive.hypothesis(call + 1) for call in range(n_described, n_calls)]
            self._described += self._workers.describe(new)
        return process.stack([self._described[call - 1] for call in calls.tolist()])

    def _read(self, stock: Stock, places: IntArray) -> dict[Hypothesis, int]:
        """Return the candidates at places in the library that the task accepts, with their places."""
        parsed = contracts.parse(self._task, stock.genotypes(places))
        pairs = zip(parsed, places.tolist(), strict=True)
        return {one: place for one, place in pairs if isinstance(one, Hypothesis)}

    def _find_new(self, hypotheses: Mapping[Hypothesis, int], n_calls: int) -> dict[Hypothesis, int]:
        """Return those that the run's first ``n_calls`` calls did not evaluate."""
        calls = [(one, self._archive.call_of(one.key)) for one in hypotheses]
        return {one: hypotheses[one] for one, call in calls if call is None or call > n_calls}
