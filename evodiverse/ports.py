"""Every seam of EvoDiverse on one page.

All of them work on batches: one answer per item, in the order of the items. An item that is bad is answered by a value
(`Rejection`, a failed `Evaluation`); an exception means that the service itself is broken and ends the run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from evodiverse.vocabulary import Candidate, Evaluation, Hypothesis, Proposal, Rejection, Request, Stream


class Task(Protocol):
    """A domain: where a search starts, what is a valid hypothesis, and how good it is.

    ``columns`` names the domain's own columns of ``evaluations`` and their types: float, int or str.
    """

    @property
    def columns(self) -> Mapping[str, type]:
        """The keys of `Evaluation.details`."""

    def initial(self, stream: Stream) -> list[str]:
        """Return the genotypes a pool starts from, drawn with ``stream``."""

    def parse(self, genotypes: Sequence[str]) -> list[Hypothesis | Rejection]:
        """Return for each genotype the hypothesis it stands for or why it is none. Charges nothing."""

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> list[Evaluation]:
        """Return one evaluation per hypothesis. Each is an oracle call."""


class Operator(Protocol):
    """Makes offspring from parents: a language model or a classical operator."""

    def propose(self, requests: Sequence[Request]) -> list[Proposal]:
        """Return one proposal per request, a function of the request alone."""


@runtime_checkable
class Summarizer(Protocol):
    """A task that can say in one number how good and how different a set of candidates is."""

    summary_name: str

    def summarize(self, candidates: Sequence[Candidate]) -> float:
        """Return the number shown under ``summary_name`` while a run goes on; NaN for no candidates."""


Row = Mapping[str, object]


class Journal(Protocol):
    """Keeps evaluations as they finish. It is sent to worker processes, so that none waits for another to be kept."""

    def append(self, records: Sequence[Mapping[str, object]]) -> None:
        """Add records, which survive the death of the process."""

    def read(self) -> list[dict[str, Any]]:
        """Return the records since the last commit."""


class Store(Protocol):
    """Where the log of one run is kept. What was committed survives the death of the process."""

    @property
    def journal(self) -> Journal:
        """What was evaluated since the last commit; a commit empties it."""

    def commit(self, iteration: int, rows: Mapping[str, Sequence[Row]], checkpoint: Mapping[str, object]) -> None:
        """Add the rows of one iteration, by dataset, and what is needed to go on from there; all of it or nothing."""

    def checkpoint(self) -> Mapping[str, Any] | None:
        """Return the last committed checkpoint, None before the first commit."""

    def rows(self, dataset: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Return all committed rows of a dataset in the order committed."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How a run stands after an iteration. ``swap_rate`` is that of the last exchange, None before the first."""

    iteration: int
    oracle_calls: int
    budget: int
    best: float | None
    summary_name: str | None
    summary: float | None
    swap_rate: float | None
    xi: float | None
    calls_per_second: float
    seconds_left: float | None


class Display(Protocol):
    """Shows a run to a person. It may look at a snapshot or let it pass; ``snapshot`` is only called when it looks."""

    def update(self, snapshot: Callable[[], Snapshot], *, final: bool = False) -> None:
        """Take note that an iteration was committed; ``final`` is the last one."""


class Domain(Protocol):
    """What the module ``domain`` of a domain's folder offers."""

    settings: type

    def find_violations(self, settings: Any) -> list[str]:
        """Return what is wrong with the values of ``task.*``, each with its key."""

    def count_initial(self, settings: Any) -> int:
        """Return how many candidates a pool starts from at most."""

    def is_shared(self, settings: Any) -> bool:
        """Return whether all pools start from the same candidates."""

    def sources(self, settings: Any, artefact_sha256: Callable[[str], str]) -> Mapping[str, str]:
        """Return the SHA-256 of each data file that the results depend on, by its role; a run keeps to the same ones.

        ``artefact_sha256`` gives that of a published file by its name.
        """

    def build_task(self, settings: Any, artefact: Callable[[str], Path]) -> Task:
        """Return the task, with its data checked; ``artefact`` gives the path of a published file by its name."""

    def build_operator(self, settings: Any) -> Operator:
        """Return the classical operator, which ``llm=off`` uses."""
