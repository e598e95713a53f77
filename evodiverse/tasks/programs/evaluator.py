"""The interface of an evaluator of programs: how a program is called, and how its result is scored."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from evodiverse.ports import Discovery
from evodiverse.tasks.programs.verified import Verified
from evodiverse.vocabulary import Detail, Job, Rejection


class Scored(NamedTuple):
    """The score of a program.

    Attributes:
        score: A finite number, at least 0; higher is better.
        details: The values of the columns that the evaluator adds to the log's dataset ``evaluations``, by the name of
            the column.
    """

    score: float
    details: Mapping[str, Detail]


class Evaluator(Protocol):
    """An object that defines how programs are called, and that scores their results outside the sandbox.

    Attributes:
        entry_point: The name of the function that a program must define.
        description: The description of the task in the prompts for a language model.
        columns: The types of the columns that the evaluator adds to the log's dataset ``evaluations``, by the name of
            the column.
    """

    entry_point: str
    description: str
    columns: Mapping[str, type]

    def job(self, source: str) -> Job:
        """Return the job with which the sandbox loads the program ``source`` and calls its entry point."""

    def score(self, value: Any) -> Scored | Rejection:
        """Return the score of a program's result, or the reason why the result is invalid; the program then scores 0.

        Args:
            value: The result as plain data, in the shapes and types that the job asked for, with finite numbers.
                A program that returned no such result scores 0, and this method is not called for it.
        """


@runtime_checkable
class Stoppable(Protocol):
    """An evaluator that scores results in a process of its own."""

    def abandon(self) -> None:
        """Stop the call of `Evaluator.score` that is running; it raises a `ServiceError`."""


@runtime_checkable
class Illustrated(Protocol):
    """An evaluator that can show the results of programs as files.

    Its methods are called only for programs with a score above 0, since a program that failed has no result.
    """

    def report(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return the program's result as files: the content of each, by file name.

        This is called for the best program and for every program that is better than all before it.
        """

    def illustrate(self, discovery: Discovery) -> Mapping[str, bytes | None]:
        """Return pictures of the program's result, by file name; None removes the picture of an earlier program.

        Drawing may be slow, so only the best program is illustrated.
        """


@runtime_checkable
class Verifiable(Protocol):
    """An evaluator that can verify the result of a program, with code that shares nothing with the scoring.

    Only a value that was verified in this way can be reported as better than the best known one.
    """

    def verify(self, discovery: Discovery) -> Verified | None:
        """Return the value of a program's result as an exact fraction, for ``best/verified.json``, or None.

        Args:
            discovery: The best program so far. Its score must be above 0: a program that failed scores 0 and has no
                result that could be measured.

        Raises:
            ServiceError: The result is invalid or differs from the log, which means that the evaluator has a bug.
        """
