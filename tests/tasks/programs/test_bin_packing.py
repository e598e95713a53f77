"""Online bin packing: how a rule is asked, what its bins score, and what is kept of them."""

import io
import json
from fractions import Fraction
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from evodiverse.errors import ServiceError
from evodiverse.ports import Discovery
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.tasks.programs.bin_packing.driver import drive
from evodiverse.tasks.programs.bin_packing.evaluator import BinPacking
from evodiverse.tasks.programs.bin_packing.packing import (
    SETS,
    Instance,
    bound_bins,
    compress,
    count_bins,
    draw_instances,
    pack_best_fit,
)
from evodiverse.tasks.programs.evaluator import BEST_KNOWN, Scored
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.tasks.programs.task import ProgramTask
from evodiverse.vocabulary import Candidate, Evaluation, Hypothesis, Reason, Rejection
from tests.runs import rows, run_here
from tests.tasks.programs.bins import best_fit, count_best_fit, count_filled_bins, pack, packing_of
from tests.tasks.programs.samples import start_of

SMALL = Instance("small", 10, (6, 5, 3, 4, 2, 5))
OTHER = Instance("other", 7, (4, 4, 3))
TWO = packing_of(SMALL, OTHER)
BEST_FIT = {"choices": [[0, 0, 1, 1, 0, 1], [0, 0, 1]]}

ITEMS = st.integers(1, 12).flatmap(
    lambda capacity: st.tuples(st.just(capacity), st.lists(st.integers(1, capacity), min_size=1, max_size=40))
)
RULES = st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-3, 3))


def drive_all(function: Any, *instances: Instance) -> dict[str, Any]:
    return drive(function, [(instance.capacity, instance.items) for instance in instances])


def scored(value: Any, evaluator: BinPacking = TWO) -> Scored:
    answer = evaluator.score(value)
    assert isinstance(answer, Scored), answer
    return answer


def found(answer: Scored, pool: int | None = 1) -> Discovery:
    return Discovery(Candidate(113, "source", "key", answer.score, -answer.score, details=answer.details), 57, pool)


def test_best_fit_by_hand() -> None:
    assert drive_all(lambda item, spaces: -spaces, SMALL, OTHER) == BEST_FIT
    assert pack(10, SMALL.items, best_fit) == [[6, 3], [5, 4], [2, 5]]
    assert pack(7, OTHER.items, best_fit) == [[4, 3], [4]]


def test_the_score_is_a_power_of_the_share_of_bins_that_are_needed() -> None:
    best, wasteful = scored(BEST_FIT), scored({"choices": [[0, 0, 0, 0, 0, 0], [0, 0, 1]]})
    assert (best.details["bins"], best.score) == (5, 1.0)
    assert (wasteful.details["bins"], wasteful.score) == (8, pytest.approx((5 / 8) ** 25))


def test_the_value_is_the_excess_of_all_bins_in_percent() -> None:
    assert scored(BEST_FIT).details["value"] == 0
    assert scored({"choices": [[0, 0, 0, 0, 0, 0], [0, 0, 1]]}).details["value"] == pytest.approx(60)


def test_the_columns_are_what_is_logged() -> None:
    assert {name: type(value) for name, value in scored(BEST_FIT).details.items()} == TWO.columns


def test_a_rule_sees_each_space_once_and_a_new_bin_last() -> None:
    seen: list[tuple[int, list[int]]] = []

    def open_always(item: int, spaces: np.ndarray) -> np.ndarray:
        seen.append((item, spaces.tolist()))
        spaces[:] = 99  # it cannot change what is left in the bins
        return np.arange(len(spaces))

    assert drive_all(open_always, OTHER) == {"choices": [[0, 0, 0]]}
    assert seen == [(4, [7]), (4, [7]), (3, [3, 7])]


def test_of_equal_priorities_the_smallest_space_counts() -> None:
    assert drive_all(lambda item, spaces: np.zeros(len(spaces)), SMALL) == {"choices": [pack_best_fit(SMALL)]}


@given(ITEMS, RULES)
def test_driver_score_and_plain_simulations_agree(packed: tuple[int, list[int]], rule: Any) -> None:
    (capacity, items), (a, b, c) = packed, rule
    instance = Instance("drawn", capacity, tuple(items))
    value = drive_all(lambda item, s: a * s + b * (s - item) ** 2 + c * (s % 3), instance)
    plain = pack(capacity, items, lambda item, s: a * s + b * (s - item) ** 2 + c * (s % 3))
    answer = scored(value, packing_of(instance))
    assert answer.details["bins"] == len(plain) == count_filled_bins(capacity, items, value["choices"][0])
    bound = -(-sum(items) // capacity)
    assert answer.score == pytest.approx((bound / len(plain)) ** 25)
    verified = packing_of(instance).verify(found(answer))
    assert verified.value == 100 * (Fraction(len(plain), bound) - 1)


@given(st.lists(st.integers(-1, 4), min_size=5, max_size=7))
def test_whatever_choices_are_made_two_counts_agree_on_whether_they_are_a_packing(choices: list[int]) -> None:
    counted: list[int | None] = []
    for count in (
        lambda: count_bins(SMALL, choices),
        lambda: count_filled_bins(SMALL.capacity, SMALL.items, choices),
    ):
        try:
            counted.append(count())
        except ValueError:
            counted.append(None)
    assert counted[0] == counted[1]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "choices are missing for some instances"),
        ([], "choices are missing for some instances"),
        ({"choices": [[0, 0, 1, 1, 0, 1]]}, "choices are missing for some instances"),
        ({"choices": {"0": [], "1": []}}, "choices are missing for some instances"),
        ({"choices": [[0, 0, 1, 1, 0], [0, 0, 1]]}, "instance 0: 5 choices, expected one for each of 6 items"),
        ({"choices": [7, [0, 0, 1]]}, "instance 0: 0 choices"),
        ({"choices": [[0, 0, 1, 1, 0, 1], [0, 1, 1]]}, "instance 1: an item of 4 went into a bin that does not exist"),
        ({"choices": [[1, 0, 1, 1, 0, 1], [0, 0, 1]]}, "instance 0: an item of 6 went into a bin that does not exist"),
        ({"choices": [[0, 0, -1, 1, 0, 1], [0, 0, 1]]}, "an item of 3 went into a bin that does not exist"),
        ({"choices": [[0, 0, 10**200, 1, 0, 1], [0, 0, 1]]}, "an item of 3 went into a bin"),
        ({"choices": [[0, 0, True, 1, 0, 1], [0, 0, 1]]}, "an item of 3 went into a bin"),
        ({"choices": [[0, 0, 1.0, 1, 0, 1], [0, 0, 1]]}, "an item of 3 went into a bin"),
        ({"choices": [[0, 0, None, 1, 0, 1], [0, 0, 1]]}, "an item of 3 went into a bin"),
        ({"fault": "wonderful"}, "wonderful"),
        ({"fault": ["nan"]}, "['nan']"),
    ],
)
def test_choices_that_are_not_a_packing_are_rejected_with_the_reason(value: Any, reason: str) -> None:
    answer = TWO.score(value)
    assert isinstance(answer, Rejection)
    assert answer.reason is Reason.INVALID
    assert reason in answer.detail


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ("spaces[:-1]", "did not return one value for each space (an item of 6, 1 spaces)"),
        ("0.5", "did not return one value for each space (an item of 6, 1 spaces)"),
        ("spaces[None]", "did not return one value for each space"),
        ("None", "did not return one value for each space"),
        ("spaces * 1j", "returned values that are not real numbers"),
        ("spaces.astype(str)", "returned values that are not real numbers"),
        ("np.where(spaces < 5, np.nan, 1.0)", "returned NaN (an item of 3, 3 spaces)"),
    ],
)
def test_a_rule_with_an_invalid_answer_is_rejected_with_the_reason(returned: str, reason: str) -> None:
    rule = eval(f"lambda item, spaces: {returned}", {"np": np})  # noqa: S307 (our own)
    answer = TWO.score(drive_all(rule, SMALL, OTHER))
    assert isinstance(answer, Rejection)
    assert (answer.reason, reason in answer.detail) == (Reason.INVALID, True)


@pytest.mark.parametrize("returned", ["-spaces", "spaces * -1e306", "(-spaces).tolist()", "-spaces.astype(np.uint8)"])
def test_any_real_numbers_are_priorities(returned: str) -> None:
    rule = eval(f"lambda item, spaces: {returned}", {"np": np})  # noqa: S307 (our own)
    assert scored(drive_all(rule, SMALL, OTHER)).details["bins"] >= 3


def test_an_infinite_priority_goes_first_and_a_negative_one_last() -> None:
    rule = lambda item, spaces: np.where(spaces == item, np.inf, np.where(spaces < 10, -np.inf, 0))  # noqa: E731
    assert drive_all(rule, Instance("exact", 10, (6, 4, 3, 7))) == {"choices": [[0, 1, 0, 1]]}


def evaluate(source: str, *instances: Instance) -> Evaluation:
    """Return what a program scores in the real sandbox."""
    sandbox = ProcessSandbox()
    task = ProgramTask(packing_of(*instances), sandbox, [start_of("bin_packing")], 10_000)
    (evaluation,) = task.evaluate([Hypothesis(dedent(source), "k")])
    sandbox.close()
    return evaluation


def test_a_program_that_makes_the_driver_offer_bins_that_do_not_exist_is_invalid() -> None:
    evaluation = evaluate(
        """
        import numpy as np
        np.flatnonzero = lambda array: np.arange(len(array))

        def priority(item, spaces):
            return -spaces
        """,
        SMALL,
    )
    assert (evaluation.score, evaluation.valid) == (0.0, False)
    assert evaluation.error.startswith("invalid: instance 0: an item of 6 went into a bin that does not exist")


def test_a_program_that_crashes_says_so() -> None:
    evaluation = evaluate("def priority(item, spaces):\n    return spaces / unknown\n", SMALL)
    assert evaluation.error == "crashed: NameError: name 'unknown' is not defined (line 2)"


def test_the_seed_is_worst_fit_and_leaves_much_to_be_found() -> None:
    evaluation = evaluate(start_of("bin_packing"), *draw_instances("weibull5k"))
    namespace: dict[str, Any] = {}
    exec(start_of("bin_packing"), namespace)  # noqa: S102 (our own)
    items = draw_instances("or3")[0].items
    worst_fit = pack(150, items, lambda item, space: space if space < 150 else 0)
    (choices,) = drive_all(namespace["priority"], Instance("", 150, items))["choices"]
    assert choices.count(0) == len(worst_fit)
    assert evaluation.valid
    assert 0 < evaluation.score < 0.1


# FunSearch reports 3.98% and 5.37% for best fit on draws of its own.
@pytest.mark.parametrize(("name", "published", "scatter"), [("weibull5k", 3.98, 0.2), ("or3", 5.37, 0.4)])
def test_best_fit_is_as_far_above_the_bound_as_was_published(name: str, published: float, scatter: float) -> None:
    instances = draw_instances(name)
    bins = [count_best_fit(instance.capacity, instance.items) for instance in instances]
    assert 100 * (sum(bins) / bound_bins(instances) - 1) == pytest.approx(published, abs=scatter)
    assert [count_bins(instance, pack_best_fit(instance)) for instance in instances] == bins


@pytest.mark.parametrize("name", SETS)
def test_what_is_known_of_a_set_is_a_whole_number_of_bins(name: str) -> None:
    bound = bound_bins(draw_instances(name))
    bins = (1 + float(BEST_KNOWN["bin_packing"][name].value) / 100) * bound
    assert bins == pytest.approx(round(bins), abs=1e-6 * bound)


def test_a_result_of_an_own_file_is_compared_with_nothing() -> None:
    assert TWO.verify(found(scored(BEST_FIT))).best_known is None


def test_a_result_of_a_set_is_compared_with_what_is_known_of_it() -> None:
    evaluator = BinPacking(ProgramSettings(evaluator="bin_packing", instances="or3"))
    verified = evaluator.verify(
        found(scored(drive_all(lambda item, spaces: -spaces, *draw_instances("or3")), evaluator))
    )
    assert verified.best_known == BEST_KNOWN["bin_packing"]["or3"]
    assert (verified.is_record, verified.behind is not None and verified.behind > 2) == (False, True)


@pytest.mark.parametrize("choices", [[[0, 0, 1, 1, 0, 0], [0, 0, 1]], [[0, 0, 1, 1, 1, 1], [0, 0, 1]], [[0], [0]]])
def test_a_log_that_contradicts_its_choices_is_not_a_record(choices: list[list[int]]) -> None:
    score, details, _ = scored(BEST_FIT)
    changed = found(Scored(score, {**details, "choices": compress(choices)}))
    with pytest.raises(
        ServiceError, match=r"the result of call 113 differs from the logged one .*; please report this"
    ):
        TWO.verify(changed)


def test_a_candidate_is_shown_as_numbers() -> None:
    shown = json.loads(TWO.report(found(scored(BEST_FIT)))["packing.json"])
    assert (shown["value"], shown["bins"], shown["bound"]) == (0.0, 5, 5)
    assert shown["instances"][1] == {"instance": "other", "capacity": 7, "items": 3, "bound": 2, "bins": 2}


@pytest.mark.parametrize("pool", [0, None])
def test_a_candidate_is_shown_as_a_picture(pool: int | None) -> None:
    files = TWO.illustrate(found(scored(BEST_FIT), pool))
    assert list(files) == ["packing.png"]
    assert Image.open(io.BytesIO(files["packing.png"])).format == "PNG"


def test_a_model_is_told_of_the_instances_and_the_score() -> None:
    told = BinPacking(ProgramSettings(evaluator="bin_packing", instances="weibull5k")).description
    for words in ("`priority(item, spaces)`", "(100 here)", "^25", "5 instances with 25,000 items", "30 seconds"):
        assert words in told
    assert "$" not in told
    assert "(between 7 and 10 here)" in TWO.description


@pytest.mark.slow
def test_a_run_improves_on_the_seed_and_its_log_proves_it(tmp_path: Any) -> None:
    run = run_here(
        "task=bin_packing",
        "task.instances=or3",
        "method=graph_ga",
        "method.offspring=4",
        "budget.oracle_calls=40",
        "evaluator.workers=1",
        f"outputs={tmp_path}",
    )
    evaluated = [row for row in rows(run, "evaluations") if row["call"] is not None and row["valid"]]
    evaluator = BinPacking(ProgramSettings(evaluator="bin_packing", instances="or3"))
    for row in evaluated:
        details = {name: row[name] for name in evaluator.columns}
        verified = evaluator.verify(
            Discovery(Candidate(row["call"], "", "", row["score"], None, details=details), 1, 0)
        )
        assert float(verified.value) == row["value"]
    first, best = evaluated[0], min(evaluated, key=lambda row: row["bins"])
    assert best["bins"] < first["bins"]
    told = json.loads((run / "best/verified.json").read_text())
    assert told["value"] == best["value"]
    assert (run / "best/packing.png").read_bytes().startswith(b"\x89PNG")
