"""The surrogate of a run: a random forest that predicts which proposals are worth an oracle call."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evodiverse.search.archive import Archive
from evodiverse.search.sampling import FloatArray, IntArray
from evodiverse.search.screening import Forecast
from evodiverse.search.streams import Purpose, Streams
from evodiverse.vocabulary import Hypothesis

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

FIRST_FIT: Final = 64
GROWTH: Final = 1.25
N_BEST: Final = 1_500
N_OTHERS: Final = 1_500
N_TREES: Final = 32
# The share of the features that each split tries, and the least number of candidates in a leaf. With these values, a
# fit takes a twentieth of the time that it takes with scikit-learn's defaults, and ranks molecules no worse.
_SHARE_TRIED: Final = 0.1
_MIN_IN_LEAF: Final = 3


class Surrogate:
    """A random forest that predicts how good a candidate is from the task's features, and is refitted as the run grows.

    It predicts the negative of the candidate's energy; a lower energy is better. The last fit used the first `n_fitted`
    oracle calls of the run, or a sample of them, and the forecasts depend on no later calls. A resumed run therefore
    fits the same forest again. The forest is fitted in a thread, while worker processes make the proposals that it will
    judge.

    Args:
        describe: A function that returns the ``(n, d)`` sparse features of ``n`` hypotheses; ``n`` is at least 1.
        archive: The archive of the run.
        streams: The random streams of the run.
    """

    def __init__(
        self, describe: Callable[[Sequence[Hypothesis]], "csr_matrix"], archive: Archive, streams: Streams
    ) -> None:
        self._describe = describe
        self._archive = archive
        self._streams = streams
        self._rows: csr_matrix | None = None
        self._thread = ThreadPoolExecutor(1, "surrogate")
        self._trees: Future[list[Any]] | None = None
        self.n_fitted = 0

    def is_ready(self) -> bool:
        """Start a fit if one is due, and return whether `forecast` can be called.

        This method does not wait for the fit; `forecast` does.
        """
        n_calls = self._archive.n_calls
        if is_due(n_calls, self.n_fitted):
            self.fit(n_calls)
        return self._trees is not None

    def fit(self, n_calls: int) -> None:
        """Start to fit the random forest to the results of the run's first ``n_calls`` oracle calls.

        If there are many calls, the forest is fitted to a sample of them that `choose_sample` draws. The forest learns
        to predict the negative energy. The energy is a result of each evaluation, besides the score; lower is better. A
        call that gave no energy counts as if it had the highest energy of these calls. If none of them gave an energy,
        nothing is fitted.
        """
        self.n_fitted = n_calls
        self._trees = None
        energies = self._archive.energies[:n_calls]
        if np.isnan(energies).all():
            return
        values = -np.where(np.isnan(energies), np.nanmax(energies), energies)
        rng = self._streams.at(Purpose.SCREEN, 0, slot=n_calls).rng()
        sample = choose_sample(values, rng)
        seed = int(rng.integers(2**31))
        self._trees = self._thread.submit(_grow, self._described(n_calls)[sample], values[sample], seed)

    def forecast(self, hypotheses: Sequence[Hypothesis]) -> list[Forecast]:
        """Return the mean and the standard deviation of the trees' predictions for each hypothesis.

        Raises:
            ValueError: There is no fit.
        """
        if self._trees is None:
            raise ValueError("the surrogate has no fit to forecast from; check is_ready() first")
        if not hypotheses:
            return []
        rows = self._describe(hypotheses)
        predictions = np.stack([tree.predict(rows)[:, 0] for tree in self._trees.result()])
        pairs = zip(predictions.mean(axis=0).tolist(), predictions.std(axis=0).tolist(), strict=True)
        return [Forecast(*pair) for pair in pairs]

    def _described(self, n_calls: int) -> "csr_matrix":
        """Return the ``(n_calls, d)`` features of the first calls."""
        from scipy.sparse import vstack

        n_known = 0 if self._rows is None else self._rows.shape[0]
        if n_known < n_calls:
            rows = self._describe([self._archive.hypothesis(call + 1) for call in range(n_known, n_calls)])
            self._rows = rows if self._rows is None else vstack([self._rows, rows], format="csr")
        return self._rows


def is_due(n_calls: int, n_fitted: int) -> bool:
    """Return whether to fit the surrogate again after ``n_calls`` oracle calls; its last fit used ``n_fitted``."""
    return n_calls >= max(FIRST_FIT, GROWTH * n_fitted)


def _grow(rows: "csr_matrix", values: FloatArray, seed: int) -> list[Any]:
    """Return the trees of a forest fitted to ``(n, d)`` rows and ``(n,)`` values, as scikit-learn ``Tree`` objects."""
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(
        N_TREES, max_features=_SHARE_TRIED, min_samples_leaf=_MIN_IN_LEAF, n_jobs=1, random_state=seed
    )
    return [tree.tree_ for tree in forest.fit(rows, values).estimators_]


def choose_sample(values: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return the sorted indices of the best `N_BEST` values and of up to `N_OTHERS` others, drawn at random.

    Args:
        values: ``(n,)`` values, higher is better, oldest first. Among equal values, the older ones count as better.
        rng: The source of the random choice.
    """
    ranking = np.argsort(-values, kind="stable")
    drawn = rng.permutation(ranking[N_BEST:])[:N_OTHERS]
    return np.sort(np.concatenate([ranking[:N_BEST], drawn]))
