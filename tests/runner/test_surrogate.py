"""The forecasts of the surrogate, compared with scikit-learn used directly."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import RandomForestRegressor

from evodiverse.runner.surrogate import FIRST_FIT, N_BEST, N_OTHERS, N_TREES, Surrogate, choose_sample
from evodiverse.search.archive import Archive
from evodiverse.search.streams import Purpose, Streams
from evodiverse.vocabulary import Evaluation, Hypothesis

WIDTH = 40


def bits(key: str) -> np.ndarray:
    """Return forty bits of a key, of which the first ones are worth most."""
    return np.random.default_rng([int(key)]).integers(0, 2, size=WIDTH).astype(np.float32)


def describe(hypotheses: Sequence[Hypothesis]) -> csr_matrix:
    return csr_matrix(np.stack([bits(hypothesis.key) for hypothesis in hypotheses]))


def energy_of(key: str) -> float:
    return -float(bits(key) @ np.linspace(1, 0, WIDTH))


def fill(archive: Archive, n_calls: int, failed: Sequence[int] = ()) -> Archive:
    """Evaluate candidates until there are ``n_calls``, some of which fail, and return the archive."""
    for call in range(archive.n_calls + 1, n_calls + 1):
        archive.reserve(str(call))
        energy = None if call in failed else energy_of(str(call))
        archive.record(Hypothesis("", str(call)), Evaluation(None if energy is None else -energy, energy))
    return archive


def new(n_calls: int, failed: Sequence[int] = ()) -> tuple[Surrogate, Archive]:
    archive = fill(Archive(), n_calls, failed)
    return Surrogate(describe, archive, Streams(3)), archive


ASKED = [Hypothesis("", str(key)) for key in range(100_000, 100_050)]


def test_forecasts_are_those_of_a_forest_of_scikit_learn() -> None:
    surrogate, _ = new(200)
    surrogate.fit(200)
    rng = Streams(3).at(Purpose.SCREEN, 0, slot=200).rng()
    keys = [str(call) for call in range(1, 201)]
    forest = RandomForestRegressor(
        N_TREES, max_features=0.1, min_samples_leaf=3, random_state=int(_skip(rng).integers(2**31))
    )
    forest.fit(describe([Hypothesis("", key) for key in keys]), [-energy_of(key) for key in keys])
    asked = describe(ASKED)
    trees = np.array([tree.predict(asked) for tree in forest.estimators_])
    forecasts = surrogate.forecast(ASKED)
    assert [one.predicted for one in forecasts] == pytest.approx(trees.mean(axis=0).tolist(), rel=1e-6)
    assert [one.spread for one in forecasts] == pytest.approx(trees.std(axis=0).tolist(), rel=1e-6)


def _skip(rng: np.random.Generator) -> np.random.Generator:
    """Draw nothing, as the choice of a sample does if all candidates are taken."""
    rng.permutation(0)
    return rng


def test_forecasts_distinguish_good_from_bad() -> None:
    surrogate, _ = new(600)
    surrogate.fit(600)
    predicted = [one.predicted for one in surrogate.forecast(ASKED)]
    assert np.corrcoef(predicted, [-energy_of(one.key) for one in ASKED])[0, 1] > 0.5


def test_the_first_fit_needs_enough_calls_and_each_later_one_a_quarter_more() -> None:
    surrogate, archive = new(FIRST_FIT - 1)
    assert not surrogate.is_ready()
    fitted = []
    for n_calls in range(FIRST_FIT, 130):
        fill(archive, n_calls)
        assert surrogate.is_ready()
        fitted.append(surrogate.n_fitted)
    assert sorted(set(fitted)) == [64, 80, 100, 125]


def test_a_fit_depends_only_on_its_calls() -> None:
    early, archive = new(100)
    early.fit(100)
    before = early.forecast(ASKED)
    fill(archive, 300)
    late = Surrogate(describe, archive, Streams(3))
    late.fit(100)
    assert early.forecast(ASKED) == before == late.forecast(ASKED)


def test_another_seed_grows_other_trees() -> None:
    surrogate, archive = new(100)
    other = Surrogate(describe, archive, Streams(4))
    surrogate.fit(100)
    other.fit(100)
    assert surrogate.forecast(ASKED) != other.forecast(ASKED)


def test_a_failed_call_counts_as_the_worst_one_that_did_not_fail() -> None:
    surrogate, _ = new(100, failed=[7, 9])
    surrogate.fit(100)
    lowest = min(-energy_of(str(call)) for call in range(1, 101) if call not in (7, 9))
    assert all(one.predicted >= lowest for one in surrogate.forecast(ASKED))
    assert surrogate.is_ready()


def test_there_is_no_forecast_from_only_failed_calls() -> None:
    surrogate, _ = new(FIRST_FIT, failed=range(1, FIRST_FIT + 1))
    assert not surrogate.is_ready()


def test_no_hypotheses_have_no_forecasts() -> None:
    surrogate, _ = new(100)
    surrogate.fit(100)
    assert surrogate.forecast([]) == []


def test_a_fit_uses_the_best_candidates_and_as_many_others() -> None:
    values = np.random.default_rng(0).normal(size=5_000).round(2)
    sample = choose_sample(values, np.random.default_rng(1)).tolist()
    ranking = sorted(range(5_000), key=lambda place: (-values[place], place))
    best = set(ranking[:N_BEST])
    assert sample == sorted(set(sample))
    assert len(sample) == N_BEST + N_OTHERS
    assert best <= set(sample)
    others = [ranking.index(place) for place in set(sample) - best]
    assert abs(np.mean(others) - (N_BEST + 5_000) / 2) < 4.5 * 1011 / np.sqrt(N_OTHERS)


def test_without_a_fit_there_is_no_forecast() -> None:
    surrogate, _ = new(100)
    with pytest.raises(ValueError, match="no fit to forecast from"):
        surrogate.forecast(ASKED)
