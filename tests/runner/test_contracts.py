"""An answer of a domain that its port does not allow is refused with one line that names the function."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from evodiverse.errors import ContractError, ServiceError
from evodiverse.runner import contracts
from evodiverse.search.streams import Purpose, Streams
from evodiverse.vocabulary import (
    Candidate,
    Evaluation,
    Hypothesis,
    Message,
    Prompt,
    Proposal,
    Reason,
    Rejection,
    Request,
)

STREAM = Streams(7).at(Purpose.INITIAL, 0)
REQUEST = Request(1, 0, 0, 1, (Candidate(1, "0110", "0110", 0.5, -0.5),), Prompt.COLD, STREAM)
GOOD = Evaluation(0.5, -0.5)


class Scripted:
    """A part of a domain that gives a scripted answer."""

    columns: Mapping[str, type] = MappingProxyType({"ones": int, "mass": float, "name": str})
    sha256 = "of nothing"
    example = "0101"
    summary_name = "sum"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def initial(self, stream: object) -> Any:
        return self.answer

    def parse(self, genotypes: Sequence[str]) -> Any:
        return self.answer

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> Any:
        return self.answer

    def trace(self, hypothesis: Hypothesis) -> Any:
        return self.answer

    def propose(self, requests: Sequence[Request]) -> Any:
        return self.answer

    def messages(self, request: Request) -> Any:
        return self.answer

    def read(self, request: Request, reply: str) -> Any:
        return self.answer

    def similarities(self, hypothesis: Hypothesis, others: Sequence[Hypothesis]) -> Any:
        return self.answer

    def features(self, hypotheses: Sequence[Hypothesis]) -> Any:
        return self.answer

    def grade(self, hypothesis: Hypothesis) -> Any:
        return self.answer

    def headline(self, found: Sequence[object]) -> Any:
        return self.answer

    def summarize(self, candidates: Sequence[Candidate]) -> Any:
        return self.answer

    def show_best(self, found: object) -> Any:
        return self.answer


def refusal(function: str, ask: Any, *arguments: Any) -> str:
    """Return the error message after the name of the function."""
    with pytest.raises(ContractError) as raised:
        ask(*arguments)
    name = f"tests.runner.test_contracts.Scripted.{function} "
    assert str(raised.value).startswith(name)
    assert len(str(raised.value).splitlines()) == 1
    return str(raised.value).removeprefix(name)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, "returned None; expected a list of genotypes, each a str"),
        ("0101", "returned a str ('0101'); expected a list of genotypes, each a str"),
        (["01", 3], "returned an int (3) as a genotype; expected a str"),
        (["01"] * 4, "returned 4 genotypes; expected at most 3, as count_initial says"),
        (["\ud800"], r"returned a str ('\ud800') as a genotype; expected text without lone surrogates"),
    ],
)
def test_initial_genotypes_must_be_a_list_of_strings_of_at_most_the_announced_length(
    answer: Any, expected: str
) -> None:
    assert refusal("initial", contracts.draw_initial, Scripted(answer), STREAM, 3) == expected


REASONS = f"expected one of evodiverse.vocabulary.Reason: {', '.join(reason.name for reason in Reason)}"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, "returned None; expected a list of one Hypothesis or Rejection for each genotype"),
        ([], "returned 0 answers for 1 genotype; expected one Hypothesis or Rejection for each, in order"),
        ([None], "answered '0101' with None; expected a Hypothesis or a Rejection"),
        (["0101"], "answered '0101' with a str ('0101'); expected a Hypothesis or a Rejection"),
        ([Hypothesis("01", 5)], "returned an int (5) as the key of a Hypothesis for '0101'; expected a str"),  # type: ignore[arg-type]
        ([Rejection("odd")], f"rejected '0101' with a str ('odd'); {REASONS}"),  # type: ignore[arg-type]
        ([Rejection(Reason.EMPTY)] * 2, "returned 2 answers for 1 genotype; expected one Hypothesis or Rejection"),
    ],
)
def test_each_genotype_needs_a_hypothesis_or_a_rejection(answer: Any, expected: str) -> None:
    assert refusal("parse", contracts.parse, Scripted(answer), ["0101"]).startswith(expected)


PAIR = "expected a finite number for each, or None for both if the evaluation failed"
NAMES = "expected the name of one of the task's columns (ones (int), mass (float), name (str)); add it there, or"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, "returned None; expected a list of one Evaluation for each hypothesis"),
        (0.5, "returned a float (0.5); expected a list of one Evaluation for each hypothesis"),
        ((GOOD for _ in range(2)), "returned a generator; expected a list of one Evaluation for each hypothesis"),
        ([GOOD], "returned 1 answer for 2 hypotheses; expected one Evaluation for each, in order"),
        ([GOOD] * 3, "returned 3 answers for 2 hypotheses; expected one Evaluation for each, in order"),
        ([GOOD, None], "answered '11' with None; expected an Evaluation"),
        ([GOOD, 0.5], "answered '11' with a float (0.5); expected an Evaluation"),
        ([GOOD, Evaluation(0.5, None)], f"gave '11' score 0.5 and energy None; {PAIR}"),
        ([GOOD, Evaluation(None, 0.5)], f"gave '11' score None and energy 0.5; {PAIR}"),
        ([GOOD, Evaluation(math.nan, math.nan)], f"gave '11' score nan and energy nan; {PAIR}"),
        ([GOOD, Evaluation(0.5, -math.inf)], f"gave '11' score 0.5 and energy -inf; {PAIR}"),
        ([GOOD, Evaluation(10**400, 0)], "gave '11' score 1000"),
        ([GOOD, Evaluation("0.5", 1.0)], f"gave '11' score a str ('0.5') and energy 1.0; {PAIR}"),  # type: ignore[arg-type]
        ([GOOD, Evaluation(True, 1.0)], f"gave '11' score a bool (True) and energy 1.0; {PAIR}"),
        ([GOOD, replace(GOOD, valid=1)], "gave '11' valid=an int (1); expected True or False"),  # type: ignore[arg-type]
        ([GOOD, replace(GOOD, error=None)], "returned None as the error of the Evaluation of '11'; expected a str"),  # type: ignore[arg-type]
        ([GOOD, replace(GOOD, details=[1])], "gave '11' details=a list ([1]); expected a dictionary of columns"),  # type: ignore[arg-type]
        ([GOOD, replace(GOOD, details=None)], "gave '11' details=None; expected a dictionary of columns"),  # type: ignore[arg-type]
        ([GOOD, replace(GOOD, details={"zeros": 1})], f"gave '11' the detail 'zeros'; {NAMES}"),
        (
            [GOOD, replace(GOOD, details={"ones": 1.0})],
            "gave '11' the detail ones=1.0; expected an int or None, the type of the task's column",
        ),
        (
            [GOOD, replace(GOOD, details={"mass": "1"})],
            "gave '11' the detail mass=a str ('1'); expected a float or None, the type of the task's column",
        ),
        ([GOOD, replace(GOOD, details={"ones": True})], "gave '11' the detail ones=a bool (True); expected an"),
        ([GOOD, replace(GOOD, details={"name": 1})], "gave '11' the detail name=1; expected a str or None"),
        ([GOOD, replace(GOOD, details={"ones": 2**63})], f"gave '11' the detail ones={2**63}; expected an int"),
        ([GOOD, replace(GOOD, details={"name": "\ud800"})], r"returned a str ('\ud800') as the detail name of '11'"),
    ],
)
def test_each_hypothesis_needs_an_evaluation_that_the_log_can_hold(answer: Any, expected: str) -> None:
    hypotheses = [Hypothesis("01", "01"), Hypothesis("11", "11")]
    assert refusal("evaluate", contracts.evaluate, Scripted(answer), hypotheses).startswith(expected)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, "gave '01' details=None; expected a dictionary of columns"),
        ({"line": 1}, "gave '01' the detail 'line'; expected the name of one of the task's columns"),
        ({"ones": "1"}, "gave '01' the detail ones=a str ('1'); expected an int or None"),
    ],
)
def test_the_origin_of_a_candidate_must_fit_the_columns_of_the_task(answer: Any, expected: str) -> None:
    scripted = Scripted(answer)
    message = refusal("trace", contracts.trace, scripted, scripted.columns, Hypothesis("01", "01"), GOOD)
    assert message.startswith(expected)


def test_the_origin_of_a_candidate_is_added_to_its_evaluation() -> None:
    scripted, evaluation = Scripted({"ones": np.int64(3)}), replace(GOOD, details={"mass": 2.0})
    traced = contracts.trace(scripted, scripted.columns, Hypothesis("01", "01"), evaluation)
    assert traced == replace(evaluation, details={"mass": 2.0, "ones": 3})


def test_a_failed_evaluation_has_neither_score_nor_energy() -> None:
    failed = Evaluation(None, None, valid=False, error="timed_out")
    assert contracts.evaluate(Scripted([failed]), [Hypothesis("01", "01")]) == [failed]


def test_numbers_of_other_libraries_are_converted_to_python_numbers() -> None:
    given = Evaluation(
        np.float32(0.5),  # type: ignore[arg-type]
        np.int64(-1),  # type: ignore[arg-type]
        valid=np.True_,  # type: ignore[arg-type]
        details={"ones": np.int8(3), "mass": 2, "name": np.str_("x")},  # type: ignore[dict-item]
    )
    (plain,) = contracts.evaluate(Scripted([given]), [Hypothesis("01", "01")])
    assert plain == Evaluation(0.5, -1.0, valid=True, details={"ones": 3, "mass": 2.0, "name": "x"})
    values = [plain.score, plain.energy, plain.valid, *plain.details.values()]
    assert [type(value) for value in values] == [float, float, bool, int, float, str]


def test_an_evaluation_of_plain_values_is_returned_unchanged() -> None:
    given = Evaluation(0.5, -1.0, details={"ones": 3, "mass": None, "name": "β"})
    assert contracts.evaluate(Scripted((given,)), [Hypothesis("01", "01")]) == [given]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, "returned None; expected a list of one Proposal for each request"),
        ([], "returned 0 answers for 1 request; expected one Proposal for each, in order"),
        (["01"], "answered a request with a str ('01'); expected a Proposal"),
        ([Proposal(5, "mine")], "returned an int (5) as the genotype of a Proposal; expected a str, or None for no"),  # type: ignore[arg-type]
        ([Proposal("01", None)], "returned None as the operator of a Proposal; expected a str"),  # type: ignore[arg-type]
    ],
)
def test_each_request_needs_a_proposal(answer: Any, expected: str) -> None:
    assert refusal("propose", contracts.propose, Scripted(answer), [REQUEST]).startswith(expected)


@pytest.mark.parametrize("answer", [None, "hello", (), ("hello",), (Message("user", 3),)])  # type: ignore[arg-type]
def test_a_prompt_must_be_a_tuple_of_messages(answer: Any) -> None:
    assert refusal("messages", contracts.messages, Scripted(answer), REQUEST).startswith("returned ")


def test_a_reply_must_be_read_as_a_genotype_or_a_rejection() -> None:
    expected = "returned None; expected a genotype, which is a str, or a Rejection"
    assert refusal("read", contracts.read, Scripted(None), REQUEST, "hello") == expected
    assert refusal("read", contracts.read, Scripted(Rejection("odd")), REQUEST, "hello").endswith(REASONS)  # type: ignore[arg-type]


def test_a_summary_must_be_a_number() -> None:
    expected = "returned None; expected a number, NaN for no candidates"
    assert refusal("summarize", contracts.summarize, Scripted(None), []) == expected
    assert math.isnan(contracts.summarize(Scripted(np.float32("nan")), []))


PAIR = (Hypothesis("a", "a"), Hypothesis("b", "b"))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, "returned an answer of type object and shape (); expected 2 numbers, one for each hypothesis"),
        ([0.5], "returned an answer of type float64 and shape (1,); expected 2 numbers, one for each hypothesis"),
        (["a", "b"], "returned an answer of type <U1 and shape (2,); expected 2 numbers, one for each hypothesis"),
        ([[0.5], [0.5, 1]], "expected 2 numbers, one for each hypothesis"),
        ([0.5, 1.5], "returned 1.5; expected a number from 0 to 1 for each"),
        ([0.5, -0.1], "returned -0.1; expected a number from 0 to 1 for each"),
        ([math.nan, 0.5], "returned nan; expected a number from 0 to 1 for each"),
    ],
)
def test_similarities_must_be_between_0_and_1(answer: Any, expected: str) -> None:
    assert refusal("similarities", contracts.similarities, Scripted(answer), PAIR[0], PAIR).endswith(expected)


def test_similarities_may_be_of_any_kind_of_number() -> None:
    assert contracts.similarities(Scripted([True, 0]), PAIR[0], PAIR).tolist() == [1.0, 0.0]
    assert contracts.similarities(Scripted([]), PAIR[0], ()).tolist() == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            [1, 2],
            "returned an answer of type int64 and shape (2,); expected 2 rows of numbers, one for each hypothesis",
        ),
        (
            [[1]],
            "returned an answer of type int64 and shape (1, 1); expected 2 rows of numbers, one for each hypothesis",
        ),
        ([[1], [1, 2]], "expected 2 rows of numbers, one for each hypothesis"),
        ([[1], [None]], "expected 2 rows of numbers, one for each hypothesis"),
        ([[1], [math.inf]], "returned a number that is not finite; expected finite numbers, as float32"),
        ([[1], [1e39]], "returned a number that is not finite; expected finite numbers, as float32"),
    ],
)
def test_features_must_be_a_row_of_finite_numbers_for_each_hypothesis(answer: Any, expected: str) -> None:
    assert refusal("features", contracts.features, Scripted(answer), PAIR).endswith(expected)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, "returned None; expected a dictionary of file names and their content"),
        ({"a.txt": "text"}, "returned a str ('text') as the file a.txt; expected bytes under a name that is a str"),
        ({3: b""}, "returned a bytes (b'') as the file 3; expected bytes under a name that is a str"),
    ],
)
def test_files_must_be_bytes_by_name(answer: Any, expected: str) -> None:
    assert refusal("show_best", contracts.present, Scripted(answer).show_best, []) == expected


def test_none_stands_for_a_file_that_must_not_exist() -> None:
    assert contracts.present(Scripted({"a.png": None}).show_best, []) == {"a.png": None}


@pytest.mark.parametrize("answer", [None, 1.0, True, "3"])
def test_a_grade_must_be_an_integer(answer: Any) -> None:
    assert refusal("grade", contracts.grade, Scripted(answer), PAIR[0]).endswith("; expected an int")
    assert contracts.grade(Scripted(np.int32(7)), PAIR[0]) == 7


def test_a_headline_must_be_a_string_and_becomes_one_line() -> None:
    assert (
        refusal("headline", contracts.headline, Scripted(None), []) == "returned None as the headline; expected a str"
    )
    assert contracts.headline(Scripted("y = x\n  (exact)"), []) == "y = x (exact)"


class Raising(Scripted):
    """A domain with a bug."""

    def parse(self, genotypes: Sequence[str]) -> Any:
        return [{}[genotype] for genotype in genotypes]


def test_an_error_that_a_domain_raises_is_reported_with_its_place() -> None:
    with pytest.raises(ServiceError, match=r"Raising\.parse raised KeyError: '01' \(.*test_contracts\.py, line \d+\)"):
        contracts.parse(Raising(None), ["01"])
