"""What an evaluator of programs offers: the call that it makes of a program, and the score of what came back."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from evodiverse.ports import Discovery
from evodiverse.tasks.programs.verified import Verified
from evodiverse.vocabulary import Detail, Job, Rejection


class Scored(NamedTuple):
    """A score, finite and at least 0, and the evaluator's own columns of ``evaluations``."""

    score: float
    details: Mapping[str, Detail]


class Evaluator(Protocol):
    """Says what is asked of a program and how good the answer is; it works outside the sandbox, on data alone.

    ``columns`` names its own columns of ``evaluations`` and their types; ``entry_point`` the function that a program
    must define; ``description`` is what a language model is told of the task.
    """

    entry_point: str
    description: str
    columns: Mapping[str, type]

    def job(self, source: str) -> Job:
        """Return the call of a program."""

    def score(self, value: Any) -> Scored | Rejection:
        """Return the score and the own columns of what a program returned, or why that is no answer.

        The value has the shapes and types that the job asked for, and its numbers are finite. A failed program scores
        0.
        """


@runtime_checkable
class Illustrated(Protocol):
    """An evaluator that can show what a program made, one that has a score above 0."""

    def report(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return files by name that hold what it made."""

    def illustrate(self, discovery: Discovery) -> Mapping[str, bytes | None]:
        """Return pictures by name, which take their time; None for one of an earlier program that has to go."""


@runtime_checkable
class Verifiable(Protocol):
    """An evaluator whose results can be verified apart from their score; nothing else may be called a record."""

    def verify(self, discovery: Discovery) -> Verified:
        """Return the exact value of what a program made, one that has a score above 0.

        Raises:
            ServiceError: It is not what the score says it is, which is a bug of the evaluator's.
        """
