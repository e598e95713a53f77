"""Every seam of EvoDiverse on one page.

All of them work on batches: one answer per item, in the order of the items. An item that is bad is answered by a value
(`Rejection`, a failed `Evaluation`); an exception means that the service itself is broken and ends the run.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evodiverse.kit.markup import Markup
from evodiverse.runlog.values import Measurement
from evodiverse.vocabulary import (
    Candidate,
    CostBound,
    Detail,
    Evaluation,
    Execution,
    Hypothesis,
    Job,
    Message,
    Proposal,
    Query,
    Rejection,
    Reply,
    Request,
    Stream,
    Usage,
)

if TYPE_CHECKING:
    from evodiverse.runlog.log import Log


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


class LanguageModel(Protocol):
    """Answers queries, all of an iteration's at once. What it answered it answers again, for nothing."""

    def bound_costs(self, queries: Sequence[Query]) -> list[CostBound]:
        """Return what each query costs at most; one that was answered before, as when it was bought."""

    def complete(self, queries: Sequence[Query], report: Callable[[int], object]) -> list[Reply]:
        """Return one reply per query.

        ``report`` is told now and then how many more are there, 0 while none comes, and stops the rest by raising.
        """


class Prompts(Protocol):
    """How a domain speaks with a language model.

    ``sha256`` is that of its templates; ``example`` a genotype of usual length, from which costs are estimated.
    """

    sha256: str
    example: str

    def messages(self, request: Request) -> tuple[Message, ...]:
        """Return what a model is asked for a request, a function of the request alone."""

    def read(self, request: Request, reply: str) -> str | Rejection:
        """Return the genotype that a reply proposes, or why it proposes none."""


class Sandbox(Protocol):
    """Runs untrusted programs, confined, one after the other in each thread that asks."""

    def run(self, jobs: Sequence[Job]) -> list[Execution]:
        """Return how each call ended. Whatever a program does is a value; an exception means a broken sandbox."""

    def prepare(self) -> None:
        """Get ready to run programs in this thread."""

    def close(self) -> None:
        """End whatever runs, in all threads."""


@runtime_checkable
class Summarizer(Protocol):
    """A task that can say in one number how good and how different a set of candidates is."""

    summary_name: str

    def summarize(self, candidates: Sequence[Candidate]) -> float:
        """Return the number shown under ``summary_name`` while a run goes on; NaN for no candidates."""


Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Discovery:
    """A candidate, and where the search found it; ``pool`` is None for one that all pools share."""

    candidate: Candidate
    iteration: int
    pool: int | None

    @property
    def details(self) -> Mapping[str, Detail]:
        """The domain's own columns of it."""
        return self.candidate.details


@runtime_checkable
class ThreadedTask(Protocol):
    """A task that evaluates in processes of its own: several threads call it at once."""

    def prepare(self) -> None:
        """Start what this thread will evaluate with."""

    def abandon(self) -> None:
        """End all evaluations under way, in whatever thread, with a `ServiceError`."""


@runtime_checkable
class Measurable(Protocol):
    """A task whose hypotheses may be scored by somebody else: a program, or a laboratory."""

    @property
    def columns(self) -> Mapping[str, type]:
        """The keys of `Evaluation.details`, as of `Task`."""

    def rate(self, hypothesis: Hypothesis, score: float) -> Evaluation:
        """Return the evaluation of a hypothesis that somebody else has given a finite score.

        Raises:
            InputError: A score cannot be this number.
        """


class Evaluator(Protocol):
    """Evaluates what a round has charged, wherever that is done."""

    def evaluate(
        self, hypotheses: Sequence[Hypothesis], report: Callable[[int], object]
    ) -> list[tuple[Evaluation, float]]:
        """Return for each hypothesis its evaluation, which the journal holds by then, and the seconds it took.

        ``report`` is told now and then how many more are there, and stops the rest by raising.
        """


@runtime_checkable
class Batching(Protocol):
    """A task whose evaluations are cheaper together; a kill loses those that are under way together.

    ``batch_size`` is how many are made at a time.
    """

    batch_size: int


@runtime_checkable
class Comparable(Protocol):
    """A task that can say how alike hypotheses are, which niches and screening need."""

    def similarities(self, hypothesis: Hypothesis, others: Sequence[Hypothesis]) -> NDArray[np.float64]:
        """Return ``(n,)`` similarities in [0, 1] of one to others, 1 to itself, whatever was evaluated before."""


@runtime_checkable
class Featured(Protocol):
    """A task that can describe hypotheses to a surrogate, which screening needs."""

    def features(self, hypotheses: Sequence[Hypothesis]) -> NDArray[np.float32]:
        """Return ``(n, d)`` finite numbers, a row for each hypothesis, whatever was evaluated before."""


@runtime_checkable
class Choosing(Protocol):
    """A task that weighs something else against the score when it chooses what a person is told of."""

    def grade(self, hypothesis: Hypothesis) -> int:
        """Return what is weighed, such as how complex a hypothesis is; it chooses among the best of each grade."""

    def headline(self, discoveries: Sequence[Discovery]) -> str:
        """Return a line about the one that it chooses of the best of each grade, of which there is at least one."""


@runtime_checkable
class Tracing(Protocol):
    """A task that knows where its initial candidates come from."""

    def trace(self, hypothesis: Hypothesis) -> Mapping[str, Detail]:
        """Return where a candidate comes from that `Task.initial` has returned, in columns of the task's own."""


@runtime_checkable
class ShowsBest(Protocol):
    """A task that can lay out its best candidates for a person to look at."""

    def show_best(self, discoveries: Sequence[Discovery]) -> Mapping[str, bytes | None]:
        """Return files by name, made of the best candidates of the whole run, and of each grade, best first.

        None stands for a file that must not be there, such as a picture of what was the best before.
        """


@runtime_checkable
class ShowsImprovements(Protocol):
    """A task that keeps every candidate that was better than all before it."""

    def show_improvement(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return files by name, which may lie in a folder, about such a candidate."""


class Journal(Protocol):
    """Keeps evaluations as they finish. It is sent to worker processes, so that none waits for another to be kept."""

    def append(self, records: Sequence[Mapping[str, object]]) -> None:
        """Add records, which survive the death of the process."""

    def read(self) -> list[dict[str, Any]]:
        """Return the records."""


class Store(Protocol):
    """Where the log of one run is kept. What was written survives the death of the process."""

    @property
    def journal(self) -> Journal:
        """What was evaluated and is not written yet."""

    def commit(
        self,
        iteration: int,
        rows: Mapping[str, Sequence[Row]],
        checkpoint: Mapping[str, object],
        journalled: Sequence[Row] = (),
    ) -> None:
        """Add the rows of one iteration, by dataset, and what is needed to go on from there; all of it or nothing.

        It is written at once or together with the next ones, soon. ``journalled`` are the records of the journal that
        no iteration holds yet.
        """

    def write(self, journalled: Sequence[Row] | None = None) -> None:
        """Write what was committed and still waits, and keep these records of the journal alone, or all of them."""

    def checkpoint(self) -> Mapping[str, Any] | None:
        """Return the last checkpoint written, None before the first."""

    def write_best(self, files: Mapping[str, bytes | None], chosen: str | None = None) -> None:
        """Replace files by name of what a person wants to look at, and what is said of the candidate chosen.

        Those whose content is None are removed.
        """

    def rows(self, dataset: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Return all rows of a dataset that are written, in the order committed."""

    def batches(self, dataset: str, columns: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
        """Yield the same rows, those of some whole iterations at a time."""


@dataclass(frozen=True, slots=True)
class PoolView:
    """One pool as a person sees it; ``best`` and ``median`` are scores, None for an empty pool."""

    beta: float
    best: float | None
    median: float | None
    size: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How a run stands.

    Attributes:
        iteration: The last one committed.
        oracle_calls: Evaluations there are, those of the iteration under way among them.
        budget: Oracle calls the run may charge.
        best: Highest score, None before the first.
        best_genotype: What has it, None if that takes several lines.
        headline: What a `Choosing` task says of the candidate that it chooses, None for another one.
        summary_name: Of `Summarizer`, None for a task that is none.
        summary: Its number.
        pools: In the order of the ladder.
        swap_rates: Share accepted at each of the last exchanges; None where none could be tried.
        xis: ξ after each of them.
        xi: ξ now, None for a rule without.
        rejected: Share of all attempts.
        duplicate: Share of all attempts.
        calls_per_second: In this process.
        seconds_left: If the budget is spent at that speed, None where there is no telling.
        seconds: Wall time of the run and how much of it its parts took.
        llm: What the language model was used for, None without one.
        awaited: Replies of the round under way that are there, and how many it asked for.
        stopped_by: Why the run ended, None while it goes on.
    """

    iteration: int
    oracle_calls: int
    budget: int
    best: float | None
    best_genotype: str | None
    headline: str | None
    summary_name: str | None
    summary: float | None
    pools: tuple[PoolView, ...]
    swap_rates: tuple[float | None, ...]
    xis: tuple[float, ...]
    xi: float | None
    rejected: float
    duplicate: float
    calls_per_second: float
    seconds_left: float | None
    seconds: Mapping[str, float]
    llm: Usage | None = None
    awaited: tuple[int, int] | None = None
    stopped_by: str | None = None


class Display(AbstractContextManager["Display"], Protocol):
    """Shows a run to a person, as a context manager around it."""

    def update(self, snapshot: Callable[[], Snapshot]) -> None:
        """Take note that the run went on. ``snapshot`` may be called or not: it costs something."""

    def finish(self, snapshot: Snapshot) -> None:
        """Show how the run ended."""


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """A run that a tracker is to follow.

    Attributes:
        path: The run directory.
        settings: The flat settings that make the run the run it is.
        name: What `Tracker.begin` returned when the run began, None for one that begins.
    """

    path: Path
    settings: Mapping[str, Any]
    name: str | None


class Tracker(Protocol):
    """Follows one run for a service of others. Whatever it raises is a warning, and it is asked nothing more.

    Attributes:
        place: Where the service is; a run has a name at each.
    """

    place: str

    def begin(self, run: TrackedRun) -> str:
        """Make a tracked run, or go on with the one that there is, and return what the service calls it."""

    def log(self, iteration: int, numbers: Mapping[str, float]) -> None:
        """Write the numbers of a committed iteration; after a resume some may come again."""

    def end(self, status: str, best: Path) -> None:
        """Keep the files of the folder ``best``, if it is there; ``status`` is complete, interrupted or failed."""


class Domain(Protocol):
    """What the module ``domain`` of a domain's folder offers."""

    settings: type

    def find_violations(self, settings: Any) -> list[str]:
        """Return what is wrong with the values of ``task.*``, each with its key."""

    def count_initial(self, settings: Any) -> int:
        """Return how many candidates a pool starts from at most."""

    def is_shared(self, settings: Any) -> bool:
        """Return whether all pools start from the same candidates."""

    def sources(self, settings: Any, artifact_sha256: Callable[[str], str]) -> Mapping[str, str | Path]:
        """Return the data that the results depend on, by their role: a file, or the SHA-256 of what is none.

        A run keeps to the same data. ``artifact_sha256`` gives the SHA-256 of a published file by its name.
        """

    def build_task(self, settings: Any, artifact: Callable[[str], Path], sandbox: Callable[..., Sandbox]) -> Task:
        """Return the task, with its data checked.

        ``artifact`` gives the path of a published file by its name, ``sandbox`` what runs untrusted programs; the
        modules whose names it is called with are loaded there before any program.
        """

    def build_operator(self, settings: Any) -> Operator:
        """Return the classical operator, which ``llm=off`` uses."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a run is about, where a task has many problems.

    Attributes:
        problem: Its own problem. Methods are compared on the same ones.
        group: The problems that tables take together with it, None where nobody said which.
        fit: The way in which candidates are fitted, where each has rows of its own.
        keys: What the settings begin with that say all this; they are not overrides.
        counts_proposals: Whether the paper seems to count what a model proposes, and not what is evaluated.
    """

    problem: str | None = None
    group: str | None = None
    fit: str | None = None
    keys: tuple[str, ...] = ()
    counts_proposals: bool = False


@dataclass(frozen=True, slots=True)
class Tools:
    """What runs are measured with.

    Attributes:
        folder: Where a domain may keep what it computed.
        encoders: What gives the vectors of texts, by name.
    """

    folder: Path
    encoders: Mapping[str, Callable[[Sequence[str]], Any]]


class Metrics(Protocol):
    """The metrics of some runs of a domain."""

    @property
    def kind(self) -> str:
        """The name of the tables that they fill."""

    @property
    def columns(self) -> Mapping[str, type]:
        """The further columns of ``evaluations`` that they are computed from, float or str; a log may lack them."""

    @property
    def targets(self) -> Sequence[float]:
        """The scores whose time to be reached is measured."""

    @property
    def libraries(self) -> Sequence[str]:
        """The packages whose versions count: with another one, all runs are measured again."""

    @property
    def reads_texts(self) -> bool:
        """Whether they need vectors of texts: with another encoder, the runs are measured again."""

    @property
    def subject(self) -> Subject:
        """What the runs are about."""

    def measure(self, log: "Log", tools: Tools) -> Measurement:
        """Return the metrics of a complete run by name.

        Raises:
            InputError: Its log is damaged; names what.
        """


@runtime_checkable
class Versioned(Protocol):
    """A domain whose results depend on packages of others; a resume with other versions of them is told.

    ``libraries`` are their names, numpy's apart.
    """

    libraries: Sequence[str]


@runtime_checkable
class Measured(Protocol):
    """A domain with metrics of its own; the file ``tables.yaml`` next to its module ``domain`` has tables of them."""

    def build_metrics(self, settings: Mapping[str, Any]) -> Metrics:
        """Return the metrics of runs with these flat settings, such as ``task.problem``."""

    def choose_problems(self, groups: Collection[str | None]) -> Sequence[str]:
        """Return what chooses the problems of these groups on the command line, None being all; maybe nothing."""


@runtime_checkable
class Drawable(Protocol):
    """A domain that can draw its candidates in a report, and say what changed between two of them.

    What a log holds may be somebody else's: None is the answer where it cannot be drawn.
    """

    def report_columns(self, settings: Mapping[str, Any]) -> Mapping[str, type]:
        """Return the columns of ``evaluations`` that a report reads beyond those of every domain; a log may lack them.

        Columns of str are for `portray` alone, those of float are also shown in the table of candidates.

        Args:
            settings: The flat settings of the run, such as ``task.problem``.
        """

    def portray(self, genotype: str, details: Mapping[str, Any]) -> Markup | None:
        """Return a candidate as a person wants to see it."""

    def tell_change(self, parents: Sequence[str], genotype: str) -> Markup | None:
        """Return what became of the first parent, of which there is one at least, in its child."""


@runtime_checkable
class Prompted(Protocol):
    """A domain whose offspring a language model can make."""

    def build_prompts(self, settings: Any) -> Prompts:
        """Return the domain's prompts."""
