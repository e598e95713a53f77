"""Calls to the code of a domain (a kind of problem, such as molecules), with each answer checked.

The answers must fit the interface in `evodiverse.ports`. A check takes a few microseconds. Without it, a wrong answer
would surface far from the function that gave it, or never.
"""

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from evodiverse import ports
from evodiverse.errors import ContractError
from evodiverse.kit.own_code import broken, call, show
from evodiverse.text import count_of
from evodiverse.vocabulary import (
    Candidate,
    Detail,
    Evaluation,
    Hypothesis,
    Message,
    Proposal,
    Reason,
    Rejection,
    Request,
    Stream,
)

Function: TypeAlias = Callable[..., object]
Argument = TypeVar("Argument")
Answer = TypeVar("Answer")
_KINDS: Mapping[type, type] = {float: numbers.Real, int: numbers.Integral, bool: bool, str: str}
_MAX_SHOWN = 40


def draw_initial(task: ports.Task, stream: Stream, at_most: int) -> list[str]:
    """Return the genotypes that a pool starts from.

    Args:
        task: The task that draws them.
        stream: The random stream of the draw.
        at_most: The number that the domain's ``count_initial`` announced.

    Raises:
        ContractError: The answer is not a list of strings, or is longer than ``at_most``.
    """
    genotypes = _listed(task.initial, call(task.initial, stream), "a list of genotypes, each a str")
    for genotype in genotypes:
        _check_text(task.initial, genotype, "a genotype")
    if len(genotypes) > at_most:
        drawn = count_of(len(genotypes), "genotype")
        raise broken(task.initial, f"returned {drawn}", f"at most {at_most}, as count_initial says")
    return list(genotypes)


def parse(task: ports.Task, genotypes: Sequence[str], *, are_initial: bool = False) -> list[Hypothesis | Rejection]:
    """Return the hypothesis for each genotype, or why it is not valid as a proposal or as an initial candidate.

    Raises:
        ContractError: The task does not answer each genotype with a hypothesis or a rejection.
    """
    function = task.parse_initial if are_initial and isinstance(task, ports.Admitting) else task.parse
    parsed = _one_each(function, call(function, genotypes), len(genotypes), "Hypothesis or Rejection", "genotype")
    for genotype, answer in zip(genotypes, parsed, strict=True):
        if not isinstance(answer, Hypothesis | Rejection):
            raise broken(function, f"answered {_quote(genotype)} with {show(answer)}", "a Hypothesis or a Rejection")
        _check_reason(function, answer, _quote(genotype))
        _check_texts(function, answer, f"a {type(answer).__name__} for {_quote(genotype)}")
    return parsed


def evaluate(task: ports.Task, hypotheses: Sequence[Hypothesis]) -> list[Evaluation]:
    """Return the evaluation of each hypothesis, with numpy's numbers converted to Python's.

    Raises:
        ContractError: The task does not answer each hypothesis with an evaluation, or the log cannot hold one of them;
            see `_checked_evaluation`.
    """
    function = task.evaluate
    answers = _one_each(function, call(function, hypotheses), len(hypotheses), "Evaluation", "hypothesis")
    columns = task.columns
    return [
        _checked_evaluation(function, hypothesis, answer, columns)
        for hypothesis, answer in zip(hypotheses, answers, strict=True)
    ]


def rate(task: ports.Measurable, hypothesis: Hypothesis, score: float) -> Evaluation:
    """Return the task's evaluation of a hypothesis whose score comes from outside the run.

    Raises:
        ContractError: The task does not answer with an evaluation that the log can hold.
        InputError: The task does not accept this number as a score.
    """
    return _checked_evaluation(task.rate, hypothesis, call(task.rate, hypothesis, score), task.columns)


def trace(
    task: ports.Tracing, columns: Mapping[str, type], hypothesis: Hypothesis, evaluation: Evaluation
) -> Evaluation:
    """Return the evaluation of an initial candidate, extended with the task's details about the candidate's origin.

    Raises:
        ContractError: The log cannot hold these details.
    """
    function = task.trace
    details = _plain_details(function, hypothesis, call(function, hypothesis), columns)
    return replace(evaluation, details={**evaluation.details, **details}) if details else evaluation


def known(task: ports.KnowsScores, columns: Mapping[str, type], hypothesis: Hypothesis) -> Evaluation | None:
    """Return the evaluation of an initial candidate whose score the task knows; None if it does not know it.

    Raises:
        ContractError: The answer is neither None nor a sound evaluation.
    """
    answer = call(task.known, hypothesis)
    return None if answer is None else _checked_evaluation(task.known, hypothesis, answer, columns)


def propose(operator: ports.Operator, requests: Sequence[Request]) -> list[Proposal]:
    """Return the operator's proposal for each request.

    Raises:
        ContractError: The operator does not answer each request with a proposal.
    """
    function = operator.propose
    proposals = _one_each(function, call(function, requests), len(requests), "Proposal", "request")
    for proposal in proposals:
        if not isinstance(proposal, Proposal):
            raise broken(function, f"answered a request with {show(proposal)}", "a Proposal")
        if proposal.genotype is not None:
            _check_text(function, proposal.genotype, "the genotype of a Proposal", "a str, or None for no offspring")
        _check_texts(function, proposal, "a Proposal")
    return proposals


def messages(prompts: ports.Prompts, request: Request) -> tuple[Message, ...]:
    """Return the messages that ask a model to answer a request.

    Raises:
        ContractError: The answer is not a sequence of at least one message.
    """
    asked = _listed(prompts.messages, call(prompts.messages, request), "a tuple of Message")
    if not asked or not all(isinstance(message, Message) for message in asked):
        raise broken(prompts.messages, f"returned {show(asked)}", "a tuple of Message, at least one")
    for message in asked:
        _check_texts(prompts.messages, message, "a Message")
    return tuple(asked)


def read(prompts: ports.Prompts, request: Request, reply: str) -> str | Rejection:
    """Return the genotype that a language model's reply proposes, or why it proposes none.

    Raises:
        ContractError: The answer is neither a genotype nor a rejection.
    """
    found = call(prompts.read, request, reply)
    if not isinstance(found, str | Rejection):
        raise broken(prompts.read, f"returned {show(found)}", "a genotype, which is a str, or a Rejection")
    _check_reason(prompts.read, found, "a reply")
    return found


def summarize(task: ports.Summarizer, candidates: Sequence[Candidate]) -> float:
    """Return the number with which the task summarizes a set of candidates for the display.

    Raises:
        ContractError: The answer is not a number.
    """
    number = call(task.summarize, candidates)
    if not _is_number(number):
        raise broken(task.summarize, f"returned {show(number)}", "a number, NaN for no candidates")
    return float(number)


def similarities(task: ports.Comparable, hypothesis: Hypothesis, others: Sequence[Hypothesis]) -> NDArray[np.float64]:
    """Return the ``(n,)`` float64 similarities, in [0, 1], of a hypothesis to ``n`` others.

    Raises:
        ContractError: The answer is not one number in [0, 1] for each of the others.
    """
    function = task.similarities
    answer = _as_array(function, call(function, hypothesis, others), 1, len(others)).astype(np.float64, copy=False)
    outside = ~((answer >= 0) & (answer <= 1))  # NaN too
    if outside.any():
        raise broken(function, f"returned {_brief(answer[outside][0])}", "a number from 0 to 1 for each")
    return answer


def features(task: ports.Featured, hypotheses: Sequence[Hypothesis]) -> NDArray[np.float32]:
    """Return the ``(n, d)`` float32 features that describe ``n`` hypotheses to a surrogate.

    Raises:
        ContractError: The answer is not one row of finite numbers for each hypothesis.
    """
    function = task.features
    answer = _as_array(function, call(function, hypotheses), 2, len(hypotheses))
    with np.errstate(over="ignore"):  # a number too large for a float32 becomes infinite and is refused below
        rows = answer.astype(np.float32, copy=False)
    if not np.isfinite(rows).all():
        raise broken(function, "returned a number that is not finite", "finite numbers, as float32")
    return rows


def grade(task: ports.Choosing, hypothesis: Hypothesis) -> int:
    """Return the grade of a hypothesis, the integer that the task weighs against its score, such as its complexity.

    See `evodiverse.ports.Choosing`.

    Raises:
        ContractError: The answer is not an integer.
    """
    answer: object = call(task.grade, hypothesis)
    if isinstance(answer, bool) or not isinstance(answer, int | np.integer):
        raise broken(task.grade, f"returned {show(answer)}", "an int")
    return int(answer)


def headline(task: ports.Choosing, discoveries: Sequence[ports.Discovery]) -> str:
    """Return one line of text about the candidate that the task chooses among ``discoveries``.

    Args:
        task: The task that chooses.
        discoveries: The best candidate of each grade (see `grade`), at least one.

    Raises:
        ContractError: The answer is not a string.
    """
    answer = call(task.headline, discoveries)
    _check_text(task.headline, answer, "the headline")
    return " ".join(answer.split())


def present(function: Callable[[Argument], Mapping[str, bytes | None]], found: Argument) -> Mapping[str, bytes | None]:
    """Return the content of files about the best candidates, by file name; None stands for a file to delete.

    Args:
        function: `ShowsBest.show_best` or `ShowsImprovements.show_improvement` of the task.
        found: What the function presents.

    Raises:
        ContractError: The answer does not map names to bytes or None.
    """
    files: object = call(function, found)
    if not isinstance(files, Mapping):
        raise broken(function, f"returned {show(files)}", "a dictionary of file names and their content")
    for name, content in files.items():
        if not (isinstance(name, str) and name and isinstance(content, bytes | None)):
            raise broken(function, f"returned {show(content)} as the file {name}", "bytes under a name that is a str")
    return files


def _checked_evaluation(
    function: Function, hypothesis: Hypothesis, answer: object, columns: Mapping[str, type]
) -> Evaluation:
    """Return the evaluation in Python's own types, with score and energy both finite or both None.

    Args:
        function: The function that gave the answer, named in errors.
        hypothesis: The hypothesis that was evaluated.
        answer: The function's answer.
        columns: The names and types of the task's own columns.
    """
    if not isinstance(answer, Evaluation):
        raise broken(function, f"answered {_quote(hypothesis.genotype)} with {show(answer)}", "an Evaluation")
    score, energy = answer.score, answer.energy
    if score is not None or energy is not None:
        score, energy = map(_as_float, (score, energy))
        if not (isfinite(score) and isfinite(energy)):
            given = f"score {_brief(answer.score)} and energy {_brief(answer.energy)}"
            expected = "a finite number for each, or None for both if the evaluation failed"
            raise _unfit(function, hypothesis, given, expected)
    if not isinstance(answer.valid, bool | np.bool_):
        raise _unfit(function, hypothesis, f"valid={show(answer.valid)}", "True or False")
    _check_texts(function, answer, f"the Evaluation of {_quote(hypothesis.genotype)}")
    details = _plain_details(function, hypothesis, answer.details, columns)
    return replace(answer, score=score, energy=energy, valid=bool(answer.valid), details=details)


def _plain_details(
    function: Function, hypothesis: Hypothesis, details: object, columns: Mapping[str, type]
) -> dict[str, Detail]:
    """Return the details as Python values of the types of their columns."""
    if not isinstance(details, Mapping):
        raise _unfit(function, hypothesis, f"details={show(details)}", "a dictionary of columns")
    plain: dict[str, Detail] = {}
    for name, value in details.items():
        kind = columns.get(name)
        if kind is None:
            named = ", ".join(f"{column} ({columns[column].__name__})" for column in columns) or "none"
            expected = f"the name of one of the task's columns ({named}); add it there, or leave it out"
            raise _unfit(function, hypothesis, f"the detail {_quote(str(name))}", expected)
        if value is None:
            plain[name] = None
            continue
        if isinstance(value, bool | np.bool_) != (kind is bool) or not isinstance(value, _KINDS[kind]):
            expected = f"{'an int' if kind is int else f'a {kind.__name__}'} or None, the type of the task's column"
            raise _unfit(function, hypothesis, f"the detail {name}={_brief(value)}", expected)
        plain[name] = converted = _as_float(value) if kind is float else kind(value)
        if kind is int and not -(2**63) <= converted < 2**63:
            raise _unfit(function, hypothesis, f"the detail {name}={value}", "an int of at most 64 bits")
        if kind is str:
            _check_text(function, value, f"the detail {name} of {_quote(hypothesis.genotype)}")
    return plain


def _unfit(function: Function, hypothesis: Hypothesis, given: str, expected: str) -> ContractError:
    return broken(function, f"gave {_quote(hypothesis.genotype)} {given}", expected)


def _one_each(function: Function, answers: Sequence[Answer], n: int, kind: str, item: str) -> list[Answer]:
    listed = _listed(function, answers, f"a list of one {kind} for each {item}")
    if len(listed) != n:
        items = count_of(n, item, "hypotheses" if item == "hypothesis" else "")
        answered = f"returned {count_of(len(listed), 'answer')} for {items}"
        raise broken(function, answered, f"one {kind} for each, in order")
    return list(listed)


def _listed(function: Function, answers: Sequence[Answer], expected: str) -> Sequence[Answer]:
    if not isinstance(answers, Sequence) or isinstance(answers, str | bytes):
        raise broken(function, f"returned {show(answers)}", expected)
    return answers


def _as_array(function: Function, answer: object, n_axes: int, n: int) -> NDArray[Any]:
    """Return the answer as an array of numbers with ``n_axes`` axes, the first of length ``n``."""
    expected = f"{n} {'numbers' if n_axes == 1 else 'rows of numbers'}, one for each hypothesis"
    try:
        array = np.asarray(answer)
    except Exception as error:  # rows of different lengths, or anything that a user's objects raise
        raise broken(function, f"returned {show(answer)}", expected) from error
    if array.ndim != n_axes or len(array) != n or array.dtype.kind not in "bfiu":
        raise broken(function, f"returned an answer of type {array.dtype} and shape {array.shape}", expected)
    return array


def _check_text(function: Function, text: object, what: str, expected: str = "a str") -> None:
    """Raise a `ContractError` unless ``text`` is a string that can be written as UTF-8."""
    if not isinstance(text, str):
        raise broken(function, f"returned {show(text)} as {what}", expected)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise broken(function, f"returned {show(text)} as {what}", "text without lone surrogates") from error


def _check_texts(function: Function, record: object, what: str) -> None:
    """Check all fields of a record that are of type str."""
    for name, kind in type(record).__annotations__.items():
        if kind is str:
            _check_text(function, getattr(record, name), f"the {name} of {what}")


def _check_reason(function: Function, rejection: object, what: str) -> None:
    """Check that something was rejected, if it was, for one of the reasons."""
    given: object = rejection.reason if isinstance(rejection, Rejection) else None
    if given is not None and not isinstance(given, Reason):
        reasons = ", ".join(reason.name for reason in Reason)
        raise broken(function, f"rejected {what} with {show(given)}", f"one of evodiverse.vocabulary.Reason: {reasons}")


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _as_float(value: Any) -> float:
    """Return a number as a float, infinity if it is too large for one, and NaN if it is not a number."""
    try:
        return float(value) if _is_number(value) else math.nan
    except OverflowError:
        return math.inf


def _brief(value: object) -> str:
    """Return a value as text for a message: a number without its type, anything else with its type."""
    return str(value) if _is_number(value) else show(value)


def _quote(text: str) -> str:
    """Return the first `_MAX_SHOWN` characters of a text on one line, in quotes."""
    line = " ".join(text.split())
    return repr(line if len(line) <= _MAX_SHOWN else f"{line[:_MAX_SHOWN]}…")
