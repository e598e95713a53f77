"""The frozen records that every part of EvoDiverse shares.

A *genotype* is what a search manipulates (a SMILES string, a program text); a *hypothesis* is a genotype that parsed,
with its canonical *key*; a *candidate* is a hypothesis with its evaluation. Scores are higher-is-better everywhere;
energies, which the paper calls ``h``, are lower-is-better. The exchange between pools compares energies. A surrogate
model that chooses which proposals to evaluate predicts negative energies.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import DTypeLike, NDArray

Detail: TypeAlias = float | int | bool | str | None
Number = TypeVar("Number", int, float)


class _Key(ISeedSequence):
    """The key of a Philox generator as a seed sequence, so that numpy reads no entropy from the operating system."""

    def __init__(self, *words: int) -> None:
        self._words = np.array(words, dtype=np.uint64)

    def generate_state(self, n_words: int, dtype: DTypeLike = np.uint32) -> NDArray[np.uint64]:  # noqa: ARG002
        return self._words


class Stream(NamedTuple):
    """The address of one random stream: equal addresses give equal draws, different addresses independent ones.

    The generator (Philox) computes its draws from the address alone, so a resumed run needs no saved state to repeat
    them. Each address has 2**64 draws of its own.

    Attributes:
        seed: The seed of the run.
        purpose: The kind of decision that the numbers are drawn for, see `evodiverse.search.streams.Purpose`.
        iteration: The iteration of the decision.
        pool: The pool that the decision is for.
        slot: The number of the offspring in the pool, or another number that tells the decisions of a purpose apart.
        attempt: The number of the attempt at this offspring.
    """

    seed: int
    purpose: int
    iteration: int = 0
    pool: int = 0
    slot: int = 0
    attempt: int = 0

    def rng(self) -> np.random.Generator:
        """Return a new generator at the start of this stream."""
        counter = np.array([0, self.iteration, self.pool << 32 | self.slot, self.attempt], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(_Key(self.seed, self.purpose), counter=counter))  # type: ignore[arg-type]


class Outcome(StrEnum):
    """How an attempt at an offspring ended (the column ``outcome`` of ``evaluations``).

    * *evaluated*: The proposal is new in the run, and its evaluation is counted as an oracle call.
    * *reused*: The proposal was evaluated earlier in the run, but is new to the pool. It joins the pool without another
      oracle call if it has a score and, without ``search.keep_failed``, did not fail.
    * *duplicate*: The proposal is already in the pool or among the pool's new offspring.
    * *rejected*: The proposal is not valid, or too similar to a member of the pool.

    In an iteration in which a surrogate model screens the proposals (``method.screen``), no evaluation is reused: a
    proposal that was evaluated earlier in the run is a duplicate. Iterations before the surrogate's first fit are not
    screened.
    """

    EVALUATED = "evaluated"
    REUSED = "reused"
    DUPLICATE = "duplicate"
    REJECTED = "rejected"


class Reason(StrEnum):
    """Why a genotype was rejected or an evaluation failed. The set is closed, so that tables can count each reason."""

    NO_OFFSPRING = "no_offspring"
    NO_ANSWER = "no_answer"
    MODEL_ERROR = "model_error"
    EMPTY = "empty"
    UNPARSABLE = "unparsable"
    MULTI_FRAGMENT = "multi_fragment"
    TOO_LARGE = "too_large"
    FILTERED = "filtered"
    TOO_SIMILAR = "too_similar"
    NO_MATCH = "no_match"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    WRONG_RESULT = "wrong_result"
    NON_FINITE = "non_finite"
    INVALID = "invalid"
    RAISED = "raised"
    BELOW_THRESHOLD = "below_threshold"


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a genotype cannot be evaluated, or why a program failed.

    A rejected genotype uses up an attempt at an offspring, but never an oracle call.
    """

    reason: Reason
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else str(self.reason)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A genotype that parsed, in the form in which it is evaluated.

    Attributes:
        genotype: The text that is evaluated.
        key: The canonical identity: equal keys mean the same hypothesis.
    """

    genotype: str
    key: str


CHARGED: Final = "charged"
"""The detail, and column of the log, that is false for a candidate whose score was known, so that it cost no call."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of one oracle call.

    Attributes:
        score: The score, higher is better. None if the evaluation failed without a score, in which case the candidate
            joins no pool.
        energy: The energy, lower is better; None if and only if the score is None.
        valid: Whether the evaluation succeeded by the rules of the domain. A failed program, for instance, is not valid
            but may have a score.
        error: Why the evaluation failed; empty if it did not.
        details: The values of the domain's own log columns.
    """

    score: float | None
    energy: float | None
    valid: bool = True
    error: str = ""
    details: Mapping[str, Detail] = field(default_factory=dict)


class OwnColumn(NamedTuple):
    """A column that a domain adds to the log's dataset ``evaluations``.

    Attributes:
        kind: The type of the values: float, int, bool or str.
        meaning: The meaning of a value, as a phrase in Markdown.
        unit: The unit of a number; empty for a count, a name or a truth value.
        null: The case in which a candidate has no value although its evaluation succeeded; empty if there is none.
    """

    kind: type
    meaning: str
    unit: str = ""
    null: str = ""


def column_types(columns: Mapping[str, OwnColumn]) -> Mapping[str, type]:
    """Return the type of each column by name, in the form of `Task.columns`."""
    return MappingProxyType({name: column.kind for name, column in columns.items()})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hypothesis with its evaluation.

    Attributes:
        call: The number of its oracle call, from 1, in the order in which calls are counted against the budget.
        genotype: The text that was evaluated.
        key: The canonical identity.
        score: The score, higher is better. None if the evaluation failed without a score, in which case the candidate
            joins no pool.
        energy: The energy, lower is better; None if and only if the score is None.
        error: Why the evaluation failed; empty if it did not.
        details: The values of the domain's own log columns.
    """

    call: int
    genotype: str
    key: str
    score: float | None
    energy: float | None
    error: str = ""
    details: "Mapping[str, Detail]" = field(default_factory=dict)


class Prompt(StrEnum):
    """Which of the domain's prompts a language model gets for a pool. Classical operators need none.

    The coldest pool uses ``cold``; ``method.hot_prompt`` sets the prompt of all others.
    """

    COLD = "cold"
    HOT = "hot"


@dataclass(frozen=True, slots=True)
class Request:
    """A request to an operator for one offspring of given parents.

    Attributes:
        iteration: The iteration that the offspring is for.
        pool: The pool whose slot it fills.
        slot: The number of the slot (the place of one offspring) in the pool, counted from 0.
        attempt: The number of the attempt at this slot, counted from 1.
        parents: The parents, all distinct. A request that an operator gets has at least one. Only the request that
            stands for an initial candidate, which is made without an operator, has none.
        prompt: Which prompt a language model is given.
        stream: The source of all randomness of the operator.
        best: The best member of the pool that the parents come from; None for an initial candidate.
        ancestors: The calls of the parents. In place of a parent that was never evaluated, which has call 0, those of
            its own ancestors are listed. Each call is listed once.
    """

    iteration: int
    pool: int
    slot: int
    attempt: int
    parents: tuple[Candidate, ...]
    prompt: Prompt
    stream: Stream
    best: Candidate | None = None
    ancestors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """An operator's answer, before validation.

    Attributes:
        genotype: The proposed genotype, or None if there is none.
        operator: The name of the operator, or of the part of it that made the proposal.
        error: Why a classical operator gave no genotype; otherwise empty.
        llm_call: The number of the request to a language model that gave the proposal; None for a classical operator.
    """

    genotype: str | None
    operator: str
    error: str = ""
    llm_call: int | None = None


class Message(NamedTuple):
    """One message to a language model; ``role`` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a language model samples. A parameter that is None is left out of the request.

    Attributes:
        temperature: The sampling temperature.
        top_p: The probability mass of nucleus sampling, in (0, 1].
        max_tokens: The largest number of tokens of a reply.
        seed: The seed for providers that take one.
        extra: Further parameters that only this provider knows.
    """

    temperature: float | None
    top_p: float | None
    max_tokens: int
    seed: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


LENGTH_PARAMETERS: Final = ("max_tokens", "max_completion_tokens")
"""The names under which a request may send `Decoding.max_tokens`."""


@dataclass(frozen=True, slots=True)
class Sampler:
    """A language model and its sampling parameters. Each pool has at least one sampler.

    Attributes:
        model: The name of the model, as it appears in the log.
        decoding: The sampling parameters.
        weight: The share of the pool's requests that it gets, relative to the weights of the pool's other samplers.
    """

    model: str
    decoding: Decoding
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Query:
    """A request to a language model. Queries that differ only in ``stream`` get separate replies."""

    model: str
    messages: tuple[Message, ...]
    decoding: Decoding
    stream: Stream


class Array(NamedTuple):
    """The shape of a float64 array that a program must return; ``()`` is a single number."""

    shape: tuple[int, ...]


MIN_MEMORY_MB, MAX_MEMORY_MB = 500, 1_000_000
"""The range of ``memory_mb`` in `Limits`: numerical libraries need at least the first value."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of an untrusted program.

    Attributes:
        cpu_seconds: The CPU time of all its threads together, in seconds. Wall time is limited to three times this.
        memory_mb: The address space of its process in MB, which includes about 250 MB for the libraries.
        result_bytes: The largest size of its result, in bytes.
        output_bytes: The number of bytes that are kept from the end of its stdout, and from the end of its stderr.
    """

    cpu_seconds: float
    memory_mb: int = 2048
    result_bytes: int = 1_000_000
    output_bytes: int = 4_000

    @property
    def wall_seconds(self) -> float:
        """The limit on the wall time of the program, in seconds. It also stops a program that only waits."""
        return 3 * self.cpu_seconds


@dataclass(frozen=True, slots=True)
class Job:
    """One call to an untrusted program.

    Attributes:
        source: The source code of the program.
        entry_point: The name of the function that the program must define; None if the driver loads the program.
        arguments: The arguments of the function: numpy arrays of float64, and any values that JSON can express.
        returns: One `Array` for each element of the tuple that the function must return, or None if it may return
            anything that JSON can express.
        limits: The limits of the program.
        driver: Trusted source code that defines ``drive(function, *arguments)``. The driver is confined like the
            program and calls the program's function; what ``drive`` returns is the result of the job. If None, the
            function is called directly. Without an entry point, ``drive`` gets the source in place of the function.
        folder: A folder of the task that the program may read, and import modules from; None for no such folder.
    """

    source: str
    entry_point: str | None
    arguments: tuple[Any, ...]
    returns: tuple[Array, ...] | None
    limits: Limits
    driver: str | None = None
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class Execution:
    """How a call to an untrusted program ended.

    Attributes:
        value: The arrays or the JSON value that the program returned; None after a failure. Only type and shape have
            been checked: the program may have returned anything of that form.
        failure: Why there is no value; None if there is one.
        stdout: The end of what the program printed on standard output.
        stderr: The end of what it printed on standard error.
        cpu_seconds: The CPU time used, in seconds.
        wall_seconds: The wall time taken, in seconds.
    """

    value: Any = None
    failure: Rejection | None = None
    stdout: str = ""
    stderr: str = ""
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0


class Finish(StrEnum):
    """How a reply ended."""

    STOP = "stop"
    LENGTH = "length"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Reply:
    """A language model's answer.

    Attributes:
        text: The text of the answer; empty if there is none.
        finish: STOP for a complete answer, LENGTH for a truncated one, ERROR if there is none or it was withheld (by a
            content filter, for example).
        error: Why there is no answer or it was withheld, or what came instead of a text, such as ``only reasoning``;
            otherwise empty.
        prompt_tokens: The tokens of the prompt as the provider counted them; None if it did not.
        completion_tokens: The tokens of the answer as the provider counted them; None if it did not.
        cost_usd: The cost in USD; None if the price is unknown.
        seconds: The time from sending the successful request to its answer, in seconds.
        retries: How many requests failed before the successful one.
        cached: Whether the reply was paid for earlier and came from the cache.
        cached_tokens: The tokens of the prompt that were in the provider's cache; None if it did not say.
        reasoning: What the model thought before the answer, where that is told apart from it; otherwise empty.
    """

    text: str
    finish: Finish
    error: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float = 0.0
    retries: int = 0
    cached: bool = False
    cached_tokens: int | None = None
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class CostBound:
    """The most that a query can cost, in tokens and in USD; ``usd`` is None if the price is unknown."""

    tokens: int
    usd: float | None


@dataclass(frozen=True, slots=True)
class Usage:
    """The number of requests to a language model, and their tokens and cost.

    The tokens or the cost are None if they are unknown for any of the requests.
    """

    calls: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost_usd: float | None = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            _sum(self.prompt_tokens, other.prompt_tokens),
            _sum(self.completion_tokens, other.completion_tokens),
            _sum(self.cost_usd, other.cost_usd),
        )

    @property
    def spent(self) -> str:
        """The tokens of the prompts, the tokens of the replies, and the cost of both, as human-readable text."""
        known = self.prompt_tokens is not None and self.completion_tokens is not None
        tokens = f"{self.prompt_tokens:,} + {self.completion_tokens:,}" if known else "unknown"
        if not self.calls:
            return "nothing spent yet"
        cost = "unknown cost" if self.cost_usd is None else f"${self.cost_usd:,.4f}"
        return f"{tokens} tokens, {cost}"


def _sum(one: Number | None, other: Number | None) -> Number | None:
    return None if one is None or other is None else one + other
