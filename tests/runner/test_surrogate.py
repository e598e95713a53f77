"""The surrogate of a run: what it learns from, and the library that it rates."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from evodiverse.errors import Interrupted
from evodiverse.runner.stock import Stock
from evodiverse.runner.surrogate import N_DRAWN, Surrogate
from evodiverse.runner.workers import Bench, Workers
from evodiverse.search.archive import Archive
from evodiverse.search.exchange import Pools
from evodiverse.search.process import Process, encode, stack
from evodiverse.search.screening import InnerSearch
from evodiverse.search.settings import Screen
from evodiverse.search.streams import Streams
from evodiverse.store.files import Journal
from evodiverse.vocabulary import Hypothesis
from tests.runs import log, rows, run_toy, stop_after
from tests.search.builders import make_method, make_pools
from tests.toys.bits.operators import BitCrossover
from tests.toys.bits.task import BitTask, StockedBitTask

pytestmark = pytest.mark.slow

SCREEN = Screen(4, 1, ((0.5, 0.5),) * 2, 1.0, 9, [[0, 5]], shortlist=20, share=3, apart=0)
POOLS = make_pools([1], [2])
RNG = np.random.default_rng(2)
LIBRARY = [
    "task.library=300",
    "method=diverse",
    "method.screen.shortlist=20",
    "method.screen.batch=[[0,10],[40,20]]",
    "method.screen.apart=60",
    "budget.oracle_calls=100",
]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path / "cache"))


def open_surrogate(
    tmp_path: Path, task: BitTask, evaluated: Sequence[str], screen: Screen = SCREEN
) -> tuple[Surrogate, Archive]:
    """Return a surrogate and the archive of a run that has evaluated these strings."""
    archive, workers = Archive(), Workers(Bench(task, BitCrossover(), Journal(tmp_path / "journal")), 1)
    evaluate(archive, task, evaluated)
    parts = (task, workers, archive, Streams(3), make_method(screen=screen), task.similarities)
    return Surrogate(*parts, tmp_path / "libraries"), archive


def evaluate(archive: Archive, task: BitTask, strings: Sequence[str], pool: int = -1) -> None:
    hypotheses = [Hypothesis(text, text) for text in strings]
    for hypothesis, evaluation in zip(hypotheses, task.evaluate(hypotheses), strict=True):
        archive.reserve(hypothesis.key, pool)
        archive.record(hypothesis, evaluation)


def strings(n: int, length: int = 24, seed: int = 0) -> list[str]:
    bits = np.random.default_rng(seed).choice(["0", "1"], size=(n, length), p=[0.7, 0.3])
    return ["".join(row) for row in bits]


def begin(
    surrogate: Surrogate, archive: Archive, iteration: int = 1, pools: Pools = POOLS, n_calls: int | None = None
) -> InnerSearch:
    """Return the inner search of an iteration that begins after ``n_calls`` calls; None for all so far."""
    n_calls = archive.n_calls if n_calls is None else n_calls
    return surrogate.begin(iteration, pools, n_calls, surrogate.count_rated(n_calls))


def offers(surrogate: Surrogate, archive: Archive, iteration: int, n: int, pool: int = 0) -> list[str]:
    """Return the best of the library that a pool is offered in an iteration."""
    search = begin(surrogate, archive, iteration)
    return [offer.hypothesis.key for offer in search.choose({pool: n})]


def test_the_shortlist_is_the_best_of_the_library_by_the_mean_of_the_process(tmp_path: Path) -> None:
    task, known = StockedBitTask(300, 24, 8), strings(60)
    surrogate, _ = open_surrogate(tmp_path, task, known)
    surrogate.rate(60)

    def features(texts: Sequence[str]) -> np.ndarray:
        return task.features([Hypothesis(text, text) for text in texts])

    scores = np.array([one.score for one in task.evaluate([Hypothesis(text, text) for text in known])])
    means = Process(stack(encode(features(known))), scores).mean(stack(encode(features(task.library()))))
    expected = [task.library()[place] for place in np.argsort(-means, kind="stable")]
    assert [one.key for one in surrogate._shortlists[0]] == [one for one in expected if one not in known][:20]


def test_the_best_of_the_library_is_found_without_an_oracle_call(tmp_path: Path) -> None:
    assert "1" * 24 in offers(*open_surrogate(tmp_path, StockedBitTask(300, 24, 8), strings(150)), 1, 20)


def test_candidates_evaluated_since_the_shortlist_was_chosen_are_not_offered_again(tmp_path: Path) -> None:
    task = StockedBitTask(300, 24, 8)
    surrogate, archive = open_surrogate(tmp_path, task, strings(60))
    first = offers(surrogate, archive, 1, 10)
    evaluate(archive, task, first)
    again = offers(surrogate, archive, 2, 400)
    assert surrogate.n_rated == 60
    assert set(first).isdisjoint(again)
    assert len(again) <= 10 + N_DRAWN


def test_a_shortlist_that_is_chosen_again_later_is_the_same(tmp_path: Path) -> None:
    task = StockedBitTask(300, 24, 8)
    surrogate, archive = open_surrogate(tmp_path, task, strings(60))
    first = offers(surrogate, archive, 1, 10)
    evaluate(archive, task, first)
    resumed, others = open_surrogate(tmp_path, task, [])
    evaluate(others, task, [archive.hypothesis(call).key for call in range(1, archive.n_calls + 1)])
    resumed.rate(60)
    assert offers(resumed, others, 2, 400) == offers(surrogate, archive, 2, 400)


def test_candidates_evaluated_since_an_inner_search_began_are_not_offered(tmp_path: Path) -> None:
    task = StockedBitTask(300, 24, 8)
    surrogate, archive = open_surrogate(tmp_path, task, strings(60))
    search, first = begin(surrogate, archive), offers(surrogate, archive, 1, 10)
    evaluate(archive, task, first)
    assert set(first).isdisjoint(offer.hypothesis.key for offer in search.choose({0: 400}))


def test_an_inner_search_knows_only_the_calls_before_it_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evodiverse.runner.surrogate.OWNED_ALIKE", 0.8)
    task = StockedBitTask(300, 24, 8)
    surrogate, archive = open_surrogate(tmp_path / "then", task, strings(20), replace(SCREEN, apart=29))
    evaluate(archive, task, ONES[:2], pool=0)
    expected = begin(surrogate, archive).breed(1), offers(surrogate, archive, 1, 20, pool=1)
    search = begin(*open_apart(tmp_path / "later", 29), n_calls=22)
    assert (search.breed(1), [offer.hypothesis.key for offer in search.choose({1: 20})]) == expected


def test_without_a_library_only_proposals_are_offered(tmp_path: Path) -> None:
    assert offers(*open_surrogate(tmp_path, BitTask(24, 8), strings(60)), 1, 10) == []
    assert not (tmp_path / "libraries").exists()


def test_without_a_share_families_that_took_many_calls_lose_nothing(tmp_path: Path) -> None:
    def worths(folder: str, share: int | None) -> set[float]:
        screen = replace(SCREEN, share=share, radius=0.1)  # all are alike
        opened = open_surrogate(tmp_path / folder, StockedBitTask(300, 24, 8), strings(120), screen)
        return {offer.worth for offer in begin(*opened).choose({0: 50})}

    assert min(worths("with", 3)) < 1.0
    assert worths("without", None) == {1.0}


# Pools that learn apart

ONES = ["0" * at + "1" * (24 - at) for at in range(1, 4)]
"""Good strings, similar to the best of the library."""


def open_apart(tmp_path: Path, apart: int) -> tuple[Surrogate, Archive]:
    """Return the parts of a run in which the first pool has found what is good, and the second has not."""
    task = StockedBitTask(300, 24, 8)
    surrogate, archive = open_surrogate(tmp_path, task, strings(20), replace(SCREEN, apart=apart))
    evaluate(archive, task, ONES, pool=0)
    evaluate(archive, task, strings(5, seed=1), pool=1)
    return surrogate, archive


def test_a_pool_leaves_alone_what_a_better_pool_has_found_until_pools_learn_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evodiverse.runner.surrogate.OWNED_ALIKE", 0.8)  # strings of bits are more alike than molecules
    best = "1" * 24
    apart, together = open_apart(tmp_path / "apart", 29), open_apart(tmp_path / "together", 28)
    assert best in offers(*apart, 1, 5, pool=0)
    assert best not in offers(*apart, 1, 5, pool=1)
    assert best in offers(*together, 1, 5, pool=1)


def test_pools_that_learn_apart_breed_from_the_start_and_from_their_own_candidates(tmp_path: Path) -> None:
    search = begin(*open_apart(tmp_path, 29), 1, make_pools([1, 21], [2, 24]))
    for pool, others in enumerate([range(24, 29), range(21, 24)]):
        requests = [one for generation in range(1, 30) for one in search.breed(generation) if one.pool == pool]
        parents = {parent.call for request in requests for parent in request.parents}
        assert parents.isdisjoint(others)
        assert parents & {*range(1, 21)}


def test_shortlists_of_pools_that_learn_apart_differ(tmp_path: Path) -> None:
    surrogate, _ = open_apart(tmp_path, 29)
    surrogate.rate(28)
    first, second = surrogate._shortlists
    assert [*first] != [*second]
    surrogate.rate(20)
    first, second = surrogate._shortlists
    assert [*first] == [*second]


def test_failed_calls_count_as_the_worst(tmp_path: Path) -> None:
    task = BitTask(24, 8)
    surrogate, archive = open_surrogate(tmp_path, task, ["0" * 23 + "1", *strings(20)])
    assert np.isnan(archive.scores[0])
    search = begin(surrogate, archive, 1, make_pools([2], [2]))
    assert {parent.call for request in search.breed(1) for parent in request.parents} <= set(range(2, 22))


def test_a_family_that_took_many_calls_is_worth_less_than_one_that_took_few(tmp_path: Path) -> None:
    """Strings have their ones in the first half or in the second, so the two families have nothing in common."""
    halves = [one for one in strings(400, length=12) if "1" in one]
    many, few = [half + "0" * 12 for half in halves], [one for one in strings(3, length=12, seed=1) if "1" in one]
    known = list(dict.fromkeys(many + ["0" * 12 + one for one in few]))
    view = begin(*open_surrogate(tmp_path, BitTask(24, 8), known))._stocks[0].view
    worth = view.worth(view.calls)
    assert worth[: -len(few)].max() < worth[-len(few) :].min() == 1.0


# The file of features


class Counted(StockedBitTask):
    """A task that counts how often its features are computed."""

    n_described = 0

    def features(self, hypotheses: Sequence[Hypothesis]) -> np.ndarray:
        self.n_described += len(hypotheses)
        return super().features(hypotheses)


def open_stock(tmp_path: Path, task: StockedBitTask) -> Stock:
    return Stock(task, Workers(Bench(task, BitCrossover(), Journal(tmp_path / "journal")), 1), tmp_path / "libraries")


def test_features_are_computed_once_and_read_back_the_same(tmp_path: Path) -> None:
    task, places = Counted(300, 24, 8), np.arange(300)
    first = open_stock(tmp_path, task)
    again = open_stock(tmp_path, task)
    assert task.n_described == 300
    assert again.genotypes(places) == first.genotypes(places) == task.library()
    assert (again.rows(places) != first.rows(places)).nnz == 0
    expected = encode(StockedBitTask(300, 24, 8).features([Hypothesis(key, key) for key in task.library()]))
    assert (again.rows(places) != stack(expected)).nnz == 0


def halve_first(rows: csr_array) -> np.ndarray:
    """Return a worth of 0.5 for rows with the first feature, else 1."""
    return 1.0 - 0.5 * (rows[:, [0]].toarray()[:, 0] > 0)


def test_a_library_is_ranked_the_same_in_one_part_or_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stock, known = open_stock(tmp_path, StockedBitTask(300, 24, 8)), stack(encode(RNG.integers(0, 2, (40, 24))))
    means = [Process(known, RNG.random(40)).mean for _ in range(2)]
    whole = stock.rank(means, halve_first)
    monkeypatch.setattr("evodiverse.runner.stock._PARTS", 1)
    monkeypatch.setattr("evodiverse.runner.stock.ROWS_AT_ONCE", 64)
    parts = stock.rank(means, halve_first)
    assert [one.tolist() for one in parts] == [one.tolist() for one in whole]
    assert whole[0].tolist() != whole[1].tolist()
    assert all(sorted(one) == [*range(300)] for one in parts)


def test_the_first_of_a_ranking_are_ranked_by_the_worth_of_their_families(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock, known = open_stock(tmp_path, StockedBitTask(300, 24, 8)), stack(encode(RNG.integers(0, 2, (40, 24))))
    mean, rows = Process(known, RNG.random(40)).mean, stock.rows(np.arange(300))
    monkeypatch.setattr("evodiverse.runner.stock.N_WEIGHED", 200)
    plain, weighed = np.argsort(-mean(rows), kind="stable"), mean(rows) * halve_first(rows)
    expected = [*plain[:200][np.argsort(-weighed[plain[:200]], kind="stable")], *plain[200:]]
    assert stock.rank([mean], halve_first)[0].tolist() == expected


def test_another_library_has_another_file(tmp_path: Path) -> None:
    assert len(open_stock(tmp_path, Counted(300, 24, 8))) == 300
    assert len(open_stock(tmp_path, Counted(200, 24, 8))) == 200


# Whole runs


def test_a_stopped_run_with_a_library_resumes_to_the_same_log(tmp_path: Path) -> None:
    whole = run_toy(tmp_path / "whole", *LIBRARY)
    assert any(row["operator"] == "library" for row in rows(whole, "evaluations"))
    for k in (4, 3):
        with pytest.raises(Interrupted):
            run_toy(tmp_path / "parts", *LIBRARY, display=stop_after(k))
    assert log(run_toy(tmp_path / "parts", *LIBRARY)) == log(whole)


def test_a_longer_run_with_a_library_has_the_log_of_one_from_scratch(tmp_path: Path) -> None:
    run_toy(tmp_path / "shorter", *LIBRARY, "budget.oracle_calls=50")
    longer = run_toy(tmp_path / "shorter", *LIBRARY)
    assert log(longer) == log(run_toy(tmp_path / "scratch", *LIBRARY))
