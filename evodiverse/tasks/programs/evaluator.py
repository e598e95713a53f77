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
        details: The values of the columns that the evaluator adds to the dataset ``evaluations``, by name.
    """

    score: float
    details: Mapping[str, Detail]


class Evaluator(Protocol):
    """An object that defines how programs are called, and that scores their results outside the sandbox.

    Attributes:
        entry_point: The name of the function that a program must define.
        description: The description of the task in the prompts for a language model.
        columns: The types of the columns that the evaluator adds to the dataset ``evaluations``, by name.
    """

    entry_point: str
    description: str
    columns: Mapping[str, type]

    def job(self, source: str) -> Job:
        """Return the sandbox job that calls a program."""

    def score(self, value: Any) -> Scored | Rejection:
        """Return the score of a program's result, or the reason why the result is invalid.

        Args:
            value: The result as plain data, in the shapes and types that the job asked for, with finite numbers.
                A program that failed scores 0, and this method is not called for it.
        """


@runtime_checkable
class Illustrated(Protocol):
    """An evaluator that can show the results of programs with a score above 0."""

    def report(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return the program's result as files: the content of each, by file name."""

    def illustrate(self, discovery: Discovery) -> Mapping[str, bytes | None]:
        """Return pictures of the program's result, by file name; None removes the picture of an earlier program.

        Drawing may be slow, so only the best program is illustrated.
        """


@runtime_checkable
class Verifiable(Protocol):
    """An evaluator whose results can be verified independently of their score. Only verified results can be records."""

    def verify(self, discovery: Discovery) -> Verified:
        """Return the exact value of the result of a program with a score above 0.

        Raises:
            ServiceError: The value differs from the logged one, which means that the evaluator has a bug.
        """
