"""The surrogate of a run: a forest that forecasts, from what was evaluated, which proposals are worth a call."""

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
# The share of the features that each split tries, and the candidates in a leaf at least: fits take a twentieth of the
# time that scikit-learn's defaults take, and rank molecules no worse.
_SHARE_TRIED: Final = 0.1
_MIN_IN_LEAF: Final = 3


class Surrogate:
    """A random forest on the task's features, fitted again as the run grows.

    What it forecasts depends on the archive's first `n_fitted` calls alone, so that a resumed run fits the same again.
    It is fitted in a thread, while worker processes make the proposals that it will be asked about.

    Args:
        describe: Returns the features of hypotheses, at least one, as a sparse matrix with a row for each.
        archive: Of the run.
        streams: Of the run.
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
        """Begin to fit when it is time, and tell whether there will be forecasts."""
        n_calls = self._archive.n_calls
        if is_due(n_calls, self.n_fitted):
            self.fit(n_calls)
        return self._trees is not None

    def fit(self, n_calls: int) -> None:
        """Begin to fit to the first ``n_calls``, failed ones as bad as the worst; if all failed, there is no fit."""
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
        """Return the mean of the trees' predictions for each hypothesis, and their standard deviation.

        Raises:
            ValueError: It was never fitted.
        """
        if self._trees is None:
            raise ValueError("there is nothing to forecast from")
        if not hypotheses:
            return []
        rows = self._describe(hypotheses)
        predictions = np.stack([tree.predict(rows)[:, 0] for tree in self._trees.result()])
        pairs = zip(predictions.mean(axis=0).tolist(), predictions.std(axis=0).tolist(), strict=True)
        return [Forecast(*pair) for pair in pairs]

    def _described(self, n_calls: int) -> "csr_matrix":
        """Return the features of the first ``n_calls`` calls."""
        from scipy.sparse import vstack

        n_known = 0 if self._rows is None else self._rows.shape[0]
        if n_known < n_calls:
            rows = self._describe([self._archive.hypothesis(call + 1) for call in range(n_known, n_calls)])
            self._rows = rows if self._rows is None else vstack([self._rows, rows], format="csr")
        return self._rows


def is_due(n_calls: int, n_fitted: int) -> bool:
    """Return whether it is time to fit to ``n_calls`` calls, after the last fit to ``n_fitted``."""
    return n_calls >= max(FIRST_FIT, GROWTH * n_fitted)


def _grow(rows: "csr_matrix", values: FloatArray, seed: int) -> list[Any]:
    """Return the trees of a forest, each as scikit-learn's arrays."""
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(
        N_TREES, max_features=_SHARE_TRIED, min_samples_leaf=_MIN_IN_LEAF, n_jobs=1, random_state=seed
    )
    return [tree.tree_ for tree in forest.fit(rows, values).estimators_]


def choose_sample(values: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return the places of the best `N_BEST` values, the older first among equals, and of `N_OTHERS` drawn, sorted."""
    ranking = np.argsort(-values, kind="stable")
    drawn = rng.permutation(ranking[N_BEST:])[:N_OTHERS]
    return np.sort(np.concatenate([ranking[:N_BEST], drawn]))
