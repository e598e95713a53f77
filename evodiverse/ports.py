"""The interfaces between the parts of EvoDiverse, and those that a domain of your own implements.

Methods that take a batch (of genotypes, hypotheses, requests, queries or jobs) return one answer per item, in the order
of the items. The answer to a bad item is a value (a `Rejection` or a failed `Evaluation`); an exception means that the
service itself is broken, and ends the run.

The interfaces marked with ``@runtime_checkable`` are optional. A task or domain implements such an interface if it
defines all its members.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

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
    from matplotlib.axes import Axes

    from evodiverse.runlog.log import Log, Measurement


class Task(Protocol):
    """A problem to search: it supplies initial candidates, decides which genotypes are valid, and evaluates them."""

    @property
    def columns(self) -> Mapping[str, type]:
        """The columns that the domain adds to the dataset ``evaluations`` of the log: the type of each, by name.

        The types are float, int and str. `Evaluation.details` and `Tracing.trace` supply the values.
        """

    def initial(self, stream: Stream) -> list[str]:
        """Return the genotypes that a pool starts from, drawn with ``stream``.

        A new run calls this once for each pool, or only once if `Domain.is_shared` returns True.
        """

    def parse(self, genotypes: Sequence[str]) -> list[Hypothesis | Rejection]:
        """Return the hypothesis for each genotype, or why it is not valid.

        The run calls this for the initial genotypes and for every proposal. It does not count as an oracle call.
        """

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> list[Evaluation]:
        """Return one evaluation per hypothesis.

        The run calls this, usually in a worker process, with hypotheses whose keys it has not evaluated yet. Each
        evaluation counts as one oracle call.
        """


class Operator(Protocol):
    """Makes offspring from parents without a language model.

    It is used with ``llm=off``. With ``llm.fallback=classical``, it also makes the offspring that a language model
    failed to make.
    """

    def propose(self, requests: Sequence[Request]) -> list[Proposal]:
        """Return one proposal per request. A proposal depends only on its request.

        In each round, the worker processes call this with the requests for all open slots (the places of the offspring
        that are still missing), split into batches.
        """


class LanguageModel(Protocol):
    """Answers several queries at once. Asking the same query again gives the same answer at no cost."""

    def bound_costs(self, queries: Sequence[Query]) -> list[CostBound]:
        """Return the most that each query can cost. The run does not send queries that might exceed its budget.

        An answer from the cache counts against the budget as if the run bought it again at its original price. If the
        cache has the answer to a query, the bound therefore uses the price per token at which that answer was bought.
        """

    def begin(
        self,
        queries: Sequence[Query],
        report: Callable[[int], object],
        follow: Callable[[Query, Reply], Query | None] | None = None,
    ) -> Callable[[Callable[[], object]], list[Reply]]:
        """Send queries, and return a function that waits for the replies and returns one per query, in order.

        While it waits, that function periodically calls the function that it is given.

        Args:
            queries: The queries to answer.
            report: A function that is called periodically, in any thread, with the number of replies that have arrived
                since it was last called, which may be 0. If it raises, the remaining queries are canceled.
            follow: A function that is called with each query that was sent and its reply, in any thread. It returns a
                query to send at once, whose reply is passed to it in turn, or None. What a model answers from a cache
                need not be passed to it.
        """


class Prompts(Protocol):
    """Turns requests into prompts for a language model, and the model's replies into genotypes.

    Attributes:
        sha256: The SHA-256 of the templates of the prompts. A run is resumed only with the same templates.
        example: A genotype of typical length. It stands in for parents when the cost of a run is estimated.
    """

    sha256: str
    example: str

    def messages(self, request: Request) -> tuple[Message, ...]:
        """Return the messages that ask the model for the offspring. They depend only on the request."""

    def read(self, request: Request, reply: str) -> str | Rejection:
        """Return the genotype that a reply proposes, or why there is none."""


class Sandbox(Protocol):
    """Runs untrusted programs in confinement, for tasks whose candidates are code.

    Each thread that uses the sandbox runs one program at a time.
    """

    def run(self, jobs: Sequence[Job]) -> list[Execution]:
        """Return how each job ended.

        The failure of a program is returned as `Execution.failure`; an exception means that the sandbox is broken.
        """

    def prepare(self) -> None:
        """Start the processes of this thread in advance, so that the first program does not have to wait for them."""

    def close(self) -> None:
        """Stop all programs, in all threads."""


@runtime_checkable
class Summarizer(Protocol):
    """A task that can summarize in one number how good and how diverse a set of candidates is.

    Attributes:
        summary_name: The name under which displays show the number.
    """

    summary_name: str

    def summarize(self, candidates: Sequence[Candidate]) -> float:
        """Return the number that displays show as ``summary_name`` during a run; NaN if there are no candidates.

        The run calls this at most once per iteration, with the members of all pools, each once.
        """


Row = Mapping[str, object]
"""One row of a dataset of the log: the values by column."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """A candidate with the iteration and the pool that found it.

    Attributes:
        candidate: The candidate that was found.
        iteration: The iteration in which it was found; 0 for an initial candidate.
        pool: The number of the pool that found it, counted from 0, the coldest; None for an initial candidate that all
            pools share.
        place: With several objectives (``task.pareto``), its place on the front, counted from 0, the least crowded;
            None for a candidate that is not among the first of the front.
    """

    candidate: Candidate
    iteration: int
    pool: int | None
    place: int | None = None

    @property
    def details(self) -> Mapping[str, Detail]:
        """The candidate's values in the columns that its domain, such as molecules, adds to the log, by column."""
        return self.candidate.details


@runtime_checkable
class ThreadedTask(Protocol):
    """A task that starts processes of its own to evaluate in.

    The run therefore calls `Task.evaluate` from several threads at the same time, not from worker processes.
    """

    def prepare(self) -> None:
        """Start the processes in which this thread will evaluate.

        The run calls this in its threads at the start, so that the first evaluations do not have to wait.
        """

    def abandon(self) -> None:
        """Stop all running evaluations in all threads; each raises a `ServiceError`.

        The run calls this when it fails or is interrupted.
        """


@runtime_checkable
class Measurable(Protocol):
    """A task whose hypotheses can be scored externally, by a program or a laboratory.

    ``evaluator=command`` and ``evaluator=ask`` require such a task.
    """

    @property
    def columns(self) -> Mapping[str, type]:
        """The domain's own columns of ``evaluations``; see `Task.columns`."""

    def rate(self, hypothesis: Hypothesis, score: float) -> Evaluation:
        """Return the evaluation of a hypothesis from its external score, which is finite.

        The command evaluator and ``evodiverse-tell`` call this once for each score that they receive.

        Raises:
            InputError: The number is not a valid score.
        """


TimedEvaluation: TypeAlias = tuple[Evaluation, float]
"""An evaluation, and the seconds that it took."""
ReportDone: TypeAlias = Callable[[Sequence[TimedEvaluation]], object]
"""A function that is called periodically with the new evaluations, which may be none."""


class Evaluator(Protocol):
    """Evaluates new hypotheses, on this machine or elsewhere.

    In each round, the run makes proposals for all pools together. It then calls `evaluate` once, with all hypotheses
    that need an evaluation.
    """

    def evaluate(self, hypotheses: Sequence[Hypothesis], report: ReportDone) -> list[TimedEvaluation]:
        """Return the evaluation of each hypothesis and the seconds that it took.

        By the time this returns, every evaluation is in the journal, so a killed run does not have to repeat it.

        Args:
            hypotheses: What to evaluate; each has already been counted as an oracle call.
            report: A function that is called periodically with the evaluations that have finished since it was last
                called. If it raises, nothing more is submitted, but evaluations in progress may continue.
        """


@runtime_checkable
class Batching(Protocol):
    """A task whose evaluations are cheaper in batches. If the run is killed, the batches in progress are lost.

    Attributes:
        batch_size: The largest number of hypotheses that a worker passes to `Task.evaluate` at once, at least 1. The
            setting ``evaluator.batch`` takes precedence.
    """

    batch_size: int


@runtime_checkable
class Comparable(Protocol):
    """A task that can compare hypotheses, which niches and screening require.

    Two hypotheses count as similar if their similarity is at least ``method.niche.radius`` or ``method.screen.radius``.
    """

    def similarities(self, hypothesis: Hypothesis, others: Sequence[Hypothesis]) -> NDArray[np.float64]:
        """Return the ``(n,)`` similarities, in [0, 1], of a hypothesis to ``n`` others.

        A hypothesis has similarity 1 to itself. The similarities do not depend on what was evaluated before.
        """


@runtime_checkable
class Featured(Protocol):
    """A task that can describe hypotheses by counts of their features, which screening requires.

    From these features, a Gaussian process (the surrogate) forecasts the score of each proposal. Scores below 0 count
    as 0, and scores above 1 as 1.
    """

    def features(self, hypotheses: Sequence[Hypothesis]) -> NDArray[np.float32]:
        """Return ``(n, d)`` finite counts, at least 0, one row per hypothesis, such as the counts of its parts.

        Counts above 8 are treated as 8. The features do not depend on earlier evaluations.
        """


@runtime_checkable
class Stocked(Protocol):
    """A `Featured` task with a library: candidates known before the run, which screening rates without evaluating."""

    def library(self) -> Sequence[str]:
        """Return the genotypes of the library, all valid."""

    def library_digest(self) -> str:
        """Return a digest that changes whenever the genotypes or their features do. Features are kept under it."""


@runtime_checkable
class Choosing(Protocol):
    """A task that weighs another property against the score when it chooses which candidate to present."""

    def grade(self, hypothesis: Hypothesis) -> int:
        """Return the grade of a hypothesis.

        The grade is the property that the task weighs against the score, such as the complexity of an equation.

        The run calls this for each candidate with a score, to find the candidate with the highest score of each grade.
        """

    def headline(self, discoveries: Sequence[Discovery]) -> str:
        """Choose one of ``discoveries`` and return one line about the choice.

        Displays, ``evodiverse-show`` and ``best/chosen.txt`` show this line.

        Args:
            discoveries: For each value of `grade`, the candidate with the highest score; at least one candidate.
        """


@runtime_checkable
class ChecksStart(Protocol):
    """A task whose initial candidates may take long to choose, and which can tell sooner that it would refuse to."""

    def check_initial(self, stream: Stream) -> None:
        """Raise the `InputError` that `Task.initial` would raise with this stream. A dry run calls this instead."""


@runtime_checkable
class Admitting(Protocol):
    """A task that admits initial candidates that it would reject as proposals."""

    def parse_initial(self, genotypes: Sequence[str]) -> list[Hypothesis | Rejection]:
        """Do what `Task.parse` does, for initial genotypes."""


@runtime_checkable
class Tracing(Protocol):
    """A task that knows the origin of its initial candidates."""

    def trace(self, hypothesis: Hypothesis) -> Mapping[str, Detail]:
        """Return details about the origin of a candidate that `Task.initial` returned.

        The run adds what is returned to the details of the candidate's evaluation, so its keys must be names of columns
        that the task adds to the log.
        """


@runtime_checkable
class KnowsScores(Protocol):
    """A task that knows the scores of some of its initial candidates, which then cost no oracle call."""

    def known(self, hypothesis: Hypothesis) -> Evaluation | None:
        """Return the evaluation of a candidate that `Task.initial` returned, or None if it is yet to be evaluated.

        A candidate whose score is known gets a call number, too. Its details say that it is not charged (`CHARGED`).
        """


@runtime_checkable
class ShowsBest(Protocol):
    """A task that can present its best candidates to people as files."""

    def show_best(self, discoveries: Sequence[Discovery]) -> Mapping[str, bytes | None]:
        """Return the files to keep in ``best/``, by name. The run calls this now and then, and at its end.

        Args:
            discoveries: The best candidates of the whole run (at most `evodiverse.runner.view.N_BEST`), and also the
                best of each grade of a `Choosing` task and the first of the front. All are sorted by score, the highest
                first.

        Returns:
            The content of each file; None for a file to delete, such as the picture of a former best candidate. Other
            files stay as they are.
        """


@runtime_checkable
class ShowsImprovements(Protocol):
    """A task that presents, as files, every candidate that is better than all before it."""

    def show_improvement(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return the content of each file about the discovery, by file name; a name may include a folder.

        After each iteration, the run calls this for each new candidate that is better than all before it, and writes
        the files to ``best/``.
        """


class Journal(Protocol):
    """Stores evaluations as soon as they finish, so that a run that was killed does not have to repeat them.

    Each worker process writes through its own copy of this object.
    """

    def append(self, records: Sequence[Mapping[str, object]]) -> None:
        """Add the records of evaluations, as `evodiverse.runner.rows.journal_record` returns them.

        Once this returns, the records survive the death of the process.
        """

    def read(self) -> list[dict[str, Any]]:
        """Return all records."""


@dataclass(frozen=True, slots=True)
class PoolView:
    """The state of one pool, for display.

    Attributes:
        beta: The inverse temperature.
        best: The highest score; None for an empty pool.
        median: The median score; None for an empty pool.
        size: The number of members.
    """

    beta: float
    best: float | None
    median: float | None
    size: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a run at one moment, for display.

    Attributes:
        iteration: The number of the last committed iteration.
        oracle_calls: The number of finished evaluations, including those of the current iteration.
        budget: The number of oracle calls that the run may make.
        best: The highest score; None before the first score.
        best_genotype: The genotype with the highest score; None before the first score, or if it takes several lines.
        headline: The last line of a `Choosing` task about the candidate that it chooses; None for other tasks, and
            before the first score.
        summary_name: The name of a `Summarizer`'s number; None for other tasks.
        summary: The number of a `Summarizer`; None for other tasks, and before the first commit.
        pools: The pools in the order of their temperatures, cold to hot; empty before the first commit.
        swap_rates: For each of the latest exchanges, oldest first, the share of its swaps that were accepted, in
            [0, 1]. Blocked swaps, after which a pool would hold a candidate twice, do not count. None for an exchange
            in which all swaps were blocked.
        xis: The powering factor ξ of each exchange in ``swap_rates``. This factor multiplies the exponent of the
            probability that a pair of candidates is swapped.
        xi: The current powering factor ξ; None if the exchange rule is not ``metropolis``, or before the first commit.
        rejected: The share of all attempts that were rejected, in [0, 1].
        duplicate: The share of all attempts that were duplicates, in [0, 1].
        calls_per_second: The rate of oracle calls in this process.
        seconds_left: The time until the budget or a cap is spent, whichever is first, at the rate so far, in seconds;
            None if it cannot be estimated.
        seconds: The wall time of the run (``wall``), and the parts of it spent waiting for proposals (``operator``) and
            for evaluations (``oracle``), in seconds.
        llm: The requests, tokens and cost of the language model so far; None if no model has been asked.
        waited: How long the last iteration waited for proposals, in seconds; None if it did not, or is unknown.
        awaited: The number of replies that have arrived for the current batch of queries to a language model, and the
            number of queries in the batch; None if no reply is outstanding.
        under_way: The number of requests to a language model that are under way, without those that wait for others to
            end.
        silent: The time for which candidates have been in evaluation without a result, in seconds; None if no candidate
            is, or only for a short time.
        stopped_by: Why the run ended; None while it is running.
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
    waited: float | None = None
    awaited: tuple[int, int] | None = None
    under_way: int = 0
    silent: float | None = None
    stopped_by: str | None = None


class Display(AbstractContextManager["Display"], Protocol):
    """Shows a run to people; a context manager around the run."""

    def update(self, snapshot: Callable[[], Snapshot]) -> None:
        """Tell the display that the run has advanced.

        The run calls this often. Calling ``snapshot`` takes time, so the display calls it only when it redraws.
        """

    def finish(self, snapshot: Snapshot) -> None:
        """Show how the run ended. The run calls this once, when it is complete."""


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """A run to be followed by a tracker.

    Attributes:
        path: The run directory.
        settings: The settings that identify the run, by dotted key.
        name: The name that `Tracker.begin` returned earlier; None if the service does not track the run yet.
    """

    path: Path
    settings: Mapping[str, Any]
    name: str | None


class Tracker(Protocol):
    """Reports one run to an external service, such as MLflow.

    The run calls `begin` when it starts, `log` after each committed iteration, and `end` when it ends. If one of them
    raises an exception, the run prints a warning and continues without the tracker.

    Attributes:
        place: The address of the service. The same run may have a different name in each service.
    """

    place: str

    def begin(self, run: TrackedRun) -> str:
        """Create the tracked run or continue the existing one, and return the name by which the service knows it.

        The run stores the name, and passes it as `TrackedRun.name` when it is resumed.
        """

    def log(self, iteration: int, numbers: Mapping[str, float]) -> None:
        """Report numbers that describe the run after a committed iteration.

        After a resume, some iterations may be reported again.

        Args:
            iteration: The number of the iteration.
            numbers: The numbers by name, as `evodiverse.runner.tracking.read_numbers` returns them.
        """

    def end(self, status: str, best: Path) -> None:
        """End the tracked run and upload the files in ``best``, if that folder exists.

        Args:
            status: One of complete, interrupted and failed. A run that waits for scores from a person is interrupted.
            best: The folder of the best candidates.
        """


class Domain(Protocol):
    """The functions of the module ``domain`` in a domain's package.

    Attributes:
        settings: The dataclass whose fields are the domain's own keys below ``task.``. The functions below get the
            settings of a run as an object of this class.
    """

    settings: type

    def find_violations(self, settings: Any) -> list[str]:
        """Return everything that is wrong with the values of ``task.*``, one line each, with the key.

        A run starts only if there is nothing wrong; otherwise the command prints the lines.
        """

    def count_initial(self, settings: Any) -> int:
        """Return the largest number of genotypes that `Task.initial` may return.

        A run starts only if the budget covers this number times the number of pools, or just this number if `is_shared`
        returns True. If the domain is `Bounding`, its other number counts instead.
        """

    def is_shared(self, settings: Any) -> bool:
        """Return whether all pools start from the same candidates.

        If so, these candidates are drawn only once, and evaluating one of them costs one oracle call for all pools.
        """

    def sources(self, settings: Any, artifact_sha256: Callable[[str], str]) -> Mapping[str, str | Path]:
        """Return the data that the results depend on, by role. A run is resumed only with the same data.

        Args:
            settings: The domain's settings.
            artifact_sha256: A function that returns the SHA-256 of a published file (`evodiverse.data.artifacts`),
                given its name.

        Returns:
            For each role, such as ``initial``, the path of a user's file, or the SHA-256 of any other data.
        """

    def build_task(self, settings: Any, artifact: Callable[[str], Path], sandbox: Callable[..., Sandbox]) -> Task:
        """Return the task of a run, after checking its data.

        Args:
            settings: The domain's settings.
            artifact: A function that returns the path of a published file (`evodiverse.data.artifacts`), given its
                name.
            sandbox: A function that returns a sandbox, for a domain whose candidates are code. Its arguments are the
                names of modules that the sandbox loads before any program; with ``confines=False`` it runs programs
                with the rights of the user's account, which only ``task.trust=true`` may ask for.
        """

    def build_operator(self, settings: Any) -> Operator:
        """Return the classical operator, which makes offspring without a language model."""


@runtime_checkable
class Bounding(Protocol):
    """A domain whose initial candidates may cost fewer oracle calls than there are."""

    def count_charged(self, settings: Any, n_draws: int) -> int:
        """Return the largest number of oracle calls that the initial candidates of so many draws can cost together.

        A candidate costs nothing if it was drawn before, or if its score is known (see `KnowsScores`).
        """


@runtime_checkable
class Named(Protocol):
    """A domain whose users may name problems of their own."""

    def name_problem(self, settings: Any) -> tuple[str, tuple[str, ...]] | None:
        """Return the name of the user's own problem, and the prefixes of the keys that define it; None for any other.

        In the name of a run's folder, the name of the problem stands for these keys.
        """


@dataclass(frozen=True, slots=True)
class Subject:
    """The problem that a run searched, and how tables treat it.

    A problem is one instance of a task that has several, such as one of the laws of the task ``equation``.

    Attributes:
        problem: The name of the problem; None if the task has only one. Methods are compared on the same problems.
        group: The group that the problem belongs to; None if it is in no group. Tables aggregate over each group.
        fit: How candidates are fitted, if tables have separate rows for each way of fitting; otherwise None.
        keys: Prefixes of the keys of the settings that define the problem, such as ``task.problem``. Tables do not
            treat these settings as changes to the task or method.
        counts_proposals: Whether the paper's budget for this problem seems to count the model's proposals instead of
            evaluations. If so, a run may also limit the proposals, by setting ``budget.llm_calls`` to the value of
            ``budget.oracle_calls``. Tables do not count this value of ``budget.llm_calls`` as a changed setting.
    """

    problem: str | None = None
    group: str | None = None
    fit: str | None = None
    keys: tuple[str, ...] = ()
    counts_proposals: bool = False


@dataclass(frozen=True, slots=True)
class Headline:
    """A metric by which tables and figures compare runs.

    Attributes:
        metric: The name of the metric.
        words: The metric in words.
        digits: The number of decimals that tables show; None for three significant digits.
        is_error: Whether the metric is an error, for which means are geometric, and tables show medians as powers of
            ten.
        arrow: An arrow that shows whether higher (↑) or lower (↓) is better; empty if that is not known.
    """

    metric: str
    words: str
    digits: int | None = 3
    is_error: bool = False
    arrow: str = "↑"


BEST_SCORE: Final = Headline("best_score", "best score", 5)
"""The metric of domains that name none. Runs of every domain have a best score."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that are passed to `Metrics.measure`.

    Attributes:
        folder: A folder in which a domain may cache what it computed.
        encoders: The functions that turn ``n`` texts into ``(n, d)`` vectors, by name, such as ``tfidf``.
    """

    folder: Path
    encoders: Mapping[str, Callable[[Sequence[str]], Any]]


class Metrics(Protocol):
    """Measures the runs of a domain that share the same settings, for tables and figures.

    The figures of molecules also call further methods of `evodiverse.tasks.molecules.metrics`.
    """

    @property
    def kind(self) -> str:
        """The name of the set of tables that these metrics fill, such as "programs"."""

    @property
    def columns(self) -> Mapping[str, type]:
        """The type (float or str) of each column that `measure` reads, by name.

        These are columns that the domain adds to the dataset ``evaluations`` of the log. A log may lack some of them.
        """

    @property
    def targets(self) -> Sequence[float]:
        """The target scores.

        For each target, EvoDiverse adds a metric: the number of the first oracle call whose score reached the target.
        """

    @property
    def libraries(self) -> Sequence[str]:
        """The packages on whose versions the metrics depend. After a change of version, runs are measured again."""

    @property
    def reads_texts(self) -> bool:
        """Whether the metrics use `Tools.encoders`. If so, runs are measured again when the set of encoders changes."""

    @property
    def subject(self) -> Subject:
        """The problem that the measured runs searched."""

    @property
    def headlines(self) -> Sequence[Headline]:
        """The metrics by which runs are compared, the most important first; a domain without these has `BEST_SCORE`."""

    def measure(self, log: "Log", tools: Tools) -> "Measurement":
        """Return the metrics of a complete run, by name. EvoDiverse adds those that are common to all domains.

        Raises:
            InputError: The log is damaged; the message names the damaged part.
        """


@runtime_checkable
class Versioned(Protocol):
    """A domain whose results depend on third-party packages. Resuming with other versions prints a warning.

    Attributes:
        libraries: The names of the packages, besides numpy.
    """

    libraries: Sequence[str]


@runtime_checkable
class Measured(Protocol):
    """A domain with its own metrics. The file ``tables.yaml`` next to its module ``domain`` defines their tables."""

    def build_metrics(self, settings: Mapping[str, Any]) -> Metrics:
        """Return the object that measures runs with these settings, given by dotted key, such as ``task.problem``."""

    def choose_problems(self, groups: Collection[str | None]) -> Sequence[str]:
        """Return the overrides that select all problems of some groups, such as ``task.problem=a,b``.

        If a table or figure lacks runs, EvoDiverse prints the command that makes them, and puts these overrides in it.

        Args:
            groups: The groups (see `Subject.group`); a None among them stands for all problems.

        Returns:
            The overrides; none if the tasks of the domain have no problems to choose from.
        """


@runtime_checkable
class Drawable(Protocol):
    """A domain that can draw candidates for ``evodiverse-report`` and describe what changed from a parent to its child.

    Logs may come from other sources, so `portray` and `tell_change` return None for anything that they cannot draw or
    describe.
    """

    def report_columns(self, settings: Mapping[str, Any], logged: Mapping[str, type]) -> Mapping[str, type]:
        """Return the domain's columns of ``evaluations`` that a report reads. A log may lack some of them.

        Columns of type str are only for `portray` and `Annotated`; those of type float are also shown for each
        candidate.

        Args:
            settings: The settings of the run, by dotted key, such as ``task.problem``.
            logged: The domain's columns in the log, and whether they hold numbers (float) or texts (str).
        """

    def portray(self, genotype: str, details: Mapping[str, Any]) -> Markup | None:
        """Return a drawing of a candidate, or None.

        Args:
            genotype: The genotype of the candidate.
            details: The row of the candidate in ``evaluations``, by column. The `report_columns` are always present;
                they are None if the log lacks them.
        """

    def tell_change(self, parents: Sequence[str], genotype: str) -> Markup | None:
        """Return what changed from the first parent to its child, or None.

        Args:
            parents: The genotypes of the parents, at least one, best first.
            genotype: The genotype of the child.
        """


@dataclass(frozen=True, slots=True)
class Highlight:
    """The candidates of a run that are shown first, since they matter more than the best by score.

    Attributes:
        title: What they are, such as "chosen equation".
        note: A text about them.
        calls: The numbers of the oracle calls that evaluated them, in the order in which they are shown.
        caption: The caption of a table about them; empty if there is none.
        names: The headings of the table; a leading ``>`` marks a column of numbers.
        lines: The rows of the table.
    """

    title: str
    note: str
    calls: Sequence[int]
    caption: str = ""
    names: Sequence[str] = ()
    lines: Sequence[Sequence[str | float | None]] = ()


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table for people.

    Attributes:
        title: What it is about, such as "stages".
        names: The headings; a leading ``>`` marks a column of numbers.
        lines: The rows.
    """

    title: str
    names: Sequence[str]
    lines: Sequence[Sequence[str | float | None]]


@runtime_checkable
class Selective(Protocol):
    """A domain that names the candidates of a run that ``evodiverse-report`` and ``evodiverse-show`` show first."""

    def highlight(self, ranked: Sequence[Mapping[str, Any]], folder: Path) -> Highlight | None:
        """Return the candidates to show first, or None.

        The log and the files may come from other sources. What is damaged is left out.

        Args:
            ranked: The best rows of ``evaluations`` with a score, at most 10,000, best first: the columns ``call``,
                ``key``, ``genotype`` and ``score``, and the `Drawable.report_columns`.
            folder: The folder ``best`` of the run, which may lack any file that `Task.show_best` writes.
        """


@runtime_checkable
class Annotated(Protocol):
    """A domain whose log has more about candidates, which ``evodiverse-report`` and ``evodiverse-show`` show.

    The log may come from other sources. What is damaged is left out.
    """

    def annotate(self, details: Mapping[str, Any]) -> Mapping[str, str]:
        """Return texts about a candidate by title, such as the feedback of an evaluator; empty if there are none.

        Args:
            details: The row of the candidate in ``evaluations``, by column, with the `Drawable.report_columns`.
        """

    def tabulate(self, evaluated: Sequence[Mapping[str, Any]]) -> Sheet | None:
        """Return a table about all evaluations of a run, or None.

        Args:
            evaluated: The rows of ``evaluations`` that were counted as oracle calls, like ``details`` above.
        """


@runtime_checkable
class Viewed(Protocol):
    """A domain that can draw candidates on axes of matplotlib, for figures."""

    def draw(self, axes: "Axes", genotype: str, details: Mapping[str, Any]) -> None:
        """Draw a candidate on axes, whose limits and frame may be replaced.

        Args:
            axes: The axes to draw on.
            genotype: The genotype of the candidate.
            details: The row of the candidate in ``evaluations``, by column.

        Raises:
            ValueError: The row holds nothing that can be drawn. Logs may come from other sources.
        """


@runtime_checkable
class Prompted(Protocol):
    """A domain for which a language model can generate offspring."""

    def build_prompts(self, settings: Any) -> Prompts:
        """Return the prompts of a task.

        Args:
            settings: The settings of the task, an object of the class `Domain.settings`.
        """
