"""The molecule task around oracles of the test's own, and around the published one."""

import pickle
from collections.abc import Callable
from math import log

import numpy as np
import pytest

from evodiverse.data.cache import artifact_path
from evodiverse.errors import ContractError, ServiceError
from evodiverse.ports import Summarizer
from evodiverse.tasks.molecules.initial import Library, read_published
from evodiverse.tasks.molecules.oracle import PUBLISHED, open_published
from evodiverse.tasks.molecules.task import MoleculeTask, OracleFunction, energy
from evodiverse.vocabulary import Candidate, Evaluation, Hypothesis, Reason, Rejection, Stream

LIBRARY = Library(("C", "CC", "CCC", "CCCC", "CCCCC"))


def score_by_length(smiles: list[str]) -> list[float]:
    return [len(text) / 10 for text in smiles]


def make_task(
    oracle: OracleFunction = score_by_length,
    library: Library = LIBRARY,
    *,
    initial_size: int = 3,
    max_heavy_atoms: int = 80,
) -> MoleculeTask:
    return MoleculeTask(oracle, library, initial_size, max_heavy_atoms)


def answering(answer: object) -> OracleFunction:
    """An oracle that always answers the same."""
    return lambda smiles: answer


def molecules(*smiles: str) -> list[Hypothesis]:
    return [Hypothesis(text, text) for text in smiles]


def candidates(scores: dict[str, float]) -> list[Candidate]:
    return [Candidate(call, smiles, smiles, score, 0.0) for call, (smiles, score) in enumerate(scores.items(), 1)]


# Energy


@pytest.mark.parametrize(
    ("score", "expected"),
    [(0.0, 0.0), (0.5, -0.6931471805599453), (0.9, -2.302585092994046), (0.99, -4.605170185988091)],
)
def test_energy_is_the_logarithm_of_one_minus_the_score(score: float, expected: float) -> None:
    assert energy(score) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("score", [1.0, 1 - 1e-7, 1 - 0.9e-6])
def test_the_energy_of_a_score_close_to_one_is_floored(score: float) -> None:
    assert energy(score) == pytest.approx(-13.815510557964274, rel=1e-12)  # log 1e-6


def test_an_energy_just_above_the_floor_is_exact() -> None:
    assert energy(1 - 1.1e-6) == pytest.approx(log(1.1e-6), rel=1e-9)


def test_a_higher_score_has_a_lower_energy() -> None:
    energies = [energy(score) for score in np.linspace(0, 0.999, 50).tolist()]
    assert (np.diff(energies) < 0).all()


# Evaluation


def test_each_molecule_gets_its_score_and_its_energy_in_order() -> None:
    assert make_task().evaluate(molecules("CCO", "C", "CCCCO")) == [
        Evaluation(0.3, pytest.approx(log(0.7))),
        Evaluation(0.1, pytest.approx(log(0.9))),
        Evaluation(0.5, pytest.approx(log(0.5))),
    ]


def test_the_oracle_gets_a_list_of_the_smiles_in_order() -> None:
    batches: list[list[str]] = []

    def oracle(smiles: list[str]) -> list[float]:
        batches.append(smiles)
        return [0.5] * len(smiles)

    make_task(oracle).evaluate(molecules("CCO", "C", "CC"))
    assert batches == [["CCO", "C", "CC"]]


def test_no_molecules_have_no_evaluations() -> None:
    assert make_task().evaluate([]) == []


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda scores: np.array(scores, dtype=np.float32)])
def test_an_oracle_may_answer_with_any_sequence_of_numbers(kind: Callable[[list[float]], object]) -> None:
    answers = make_task(answering(kind([0.25, 0.5]))).evaluate(molecules("C", "CC"))
    assert [answer.score for answer in answers] == [0.25, 0.5]


@pytest.mark.parametrize("score", [0.0, 1.0, 0, 1])
def test_the_ends_of_the_range_are_scores(score: float) -> None:
    (answer,) = make_task(answering([score])).evaluate(molecules("C"))
    assert (answer.score, answer.valid) == (score, True)


def test_a_molecule_that_the_oracle_answers_with_nan_is_a_failed_evaluation() -> None:
    first, failed, last = make_task(answering([0.5, np.nan, 0.25])).evaluate(molecules("C", "CC", "CCC"))
    assert failed == Evaluation(None, None, valid=False, error="non_finite: the oracle returned NaN")
    assert (first.score, last.score) == (0.5, 0.25)


@pytest.mark.parametrize(
    ("answer", "shape"),
    [
        ([0.5], r"\(1,\)"),
        ([0.5, 0.5, 0.5], r"\(3,\)"),
        ([], r"\(0,\)"),
        (0.5, r"\(\)"),
        ([[0.5], [0.5]], r"\(2, 1\)"),
        (None, r"\(\)"),
    ],
)
def test_an_answer_of_another_shape_breaks_the_contract(answer: object, shape: str) -> None:
    with pytest.raises(ContractError, match=f"returned an array of shape {shape} for 2 molecules; .* in order"):
        make_task(answering(answer)).evaluate(molecules("C", "CC"))


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(["a", 0.5], id="text"),
        pytest.param([[0.5], [0.5, 0.5]], id="ragged"),
        pytest.param({"C": 0.5, "CC": 0.5}, id="dict"),
        pytest.param({0.5, 0.25}, id="set"),
        pytest.param([0.5, {}], id="a-dict-in-a-list"),
    ],
)
def test_an_answer_that_is_not_of_numbers_breaks_the_contract(answer: object) -> None:
    with pytest.raises(
        ContractError,
        match=r"^the oracle (must return one number for each molecule, got |returned an array of shape \(\))",
    ):
        make_task(answering(answer)).evaluate(molecules("C", "CC"))


@pytest.mark.parametrize("score", [1.0001, -0.0001, 7.0, np.inf, -np.inf])
def test_a_score_outside_zero_to_one_breaks_the_contract_by_name(score: float) -> None:
    with pytest.raises(ContractError, match=rf"the oracle scored CC as {score}; a score must lie in \[0, 1\]"):
        make_task(answering([0.5, score, np.nan, 2.0])).evaluate(molecules("C", "CC", "CCC", "CCCC"))


def test_the_published_forest_is_an_oracle() -> None:
    pinned = PUBLISHED["jnk3"].pinned_scores
    answers = make_task(open_published("jnk3", artifact_path("jnk3"))).evaluate(molecules(*pinned))
    assert [answer.score for answer in answers] == pytest.approx(list(pinned.values()), abs=1e-12)


# Parsing


def test_each_text_is_answered_in_order() -> None:
    assert make_task().parse(["OCC", "((", "CCO", ""]) == [
        Hypothesis("CCO", "CCO"),
        Rejection(Reason.UNPARSABLE, "RDKit reads no molecule"),
        Hypothesis("CCO", "CCO"),
        Rejection(Reason.EMPTY),
    ]


def test_the_tasks_own_limit_of_size_counts() -> None:
    assert make_task(max_heavy_atoms=2).parse(["CC", "CCO"]) == [
        Hypothesis("CC", "CC"),
        Rejection(Reason.TOO_LARGE, "3 heavy atoms, at most 2"),
    ]


def test_no_texts_have_no_hypotheses() -> None:
    assert make_task().parse([]) == []


# Where pools start


def test_a_pool_starts_from_what_its_stream_draws() -> None:
    stream = Stream(3, 1, pool=1)
    assert make_task().initial(stream) == [molecule.smiles for molecule in LIBRARY.sample(3, stream.rng())]


def test_a_pool_starts_from_as_many_molecules_as_told() -> None:
    assert [len(make_task(initial_size=size).initial(Stream(0, 1))) for size in (1, 4, 5, 6)] == [1, 4, 5, 5]


# What a person is shown, and what a resumed run must meet


def test_the_summary_is_the_mean_of_the_diverse_top_ten() -> None:
    found = candidates({"CCO": 0.9, "CCCO": 0.8, "c1ccccc1": 0.1})  # the second is too like the first
    assert make_task().summarize(found) == pytest.approx((0.9 + 0.1) / 2)


def test_the_summary_of_no_candidates_is_not_a_number() -> None:
    assert np.isnan(make_task().summarize([]))


def test_the_task_offers_what_the_loop_may_ask_for() -> None:
    assert isinstance(make_task(), Summarizer)


# Worker processes


def test_a_task_sent_to_a_worker_leaves_its_library_behind() -> None:
    assert pickle.loads(pickle.dumps(make_task())).initial(Stream(0, 1)) == []


def test_a_task_keeps_its_library_when_it_is_sent() -> None:
    task = make_task()
    pickle.dumps(task)
    assert len(task.initial(Stream(0, 1))) == 3


def test_a_task_is_small_to_send() -> None:
    oracle = open_published("jnk3", artifact_path("jnk3"))
    assert len(pickle.dumps(make_task(oracle, read_published(artifact_path("zinc250k"))))) < 1000


def test_a_task_sent_to_a_worker_parses_and_scores_alike() -> None:
    task = make_task(max_heavy_atoms=4)
    sent = pickle.loads(pickle.dumps(task))
    assert sent.parse(["OCC", "CCCCC"]) == task.parse(["OCC", "CCCCC"])
    assert sent.evaluate(molecules("CCO", "C")) == task.evaluate(molecules("CCO", "C"))


def test_a_masked_score_is_a_failed_evaluation() -> None:
    task = MoleculeTask(lambda smiles: np.ma.masked_array([0.5, 0.25], [True, False]), Library(()), 1, 80)
    masked, kept = task.evaluate([Hypothesis("C", "C"), Hypothesis("CC", "CC")])
    assert (masked.score, kept.score) == (None, 0.25)


@pytest.mark.parametrize("error", [ValueError("no license"), SystemExit(0), KeyError("x")])
def test_an_oracle_that_raises_is_a_service_that_failed(error: BaseException) -> None:
    def oracle(smiles: list[str]) -> list[float]:
        raise error

    with pytest.raises(ServiceError, match=rf"^the oracle raised {type(error).__name__}: .*test_task\.py, line \d+\)"):
        MoleculeTask(oracle, Library(()), 1, 80).evaluate([Hypothesis("C", "C")])
