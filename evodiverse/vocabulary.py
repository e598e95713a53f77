"""The frozen records that every part of EvoDiverse shares.

A *genotype* is what a search manipulates (a SMILES string, a program text); a *hypothesis* is a genotype that parsed,
with its canonical *key*; a *candidate* is a hypothesis with its evaluation. Scores are higher-is-better everywhere;
energies are lower-is-better and appear only where the paper's formulas use ``h``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import DTypeLike, NDArray

Detail: TypeAlias = float | int | str | None
Number = TypeVar("Number", int, float)


class _Key(ISeedSequence):
    """The key of a Philox generator as numpy takes it without asking the system for entropy first."""

    def __init__(self, *words: int) -> None:
        self._words = np.array(words, dtype=np.uint64)

    def generate_state(self, n_words: int, dtype: DTypeLike = np.uint32) -> NDArray[np.uint64]:  # noqa: ARG002
        return self._words


class Stream(NamedTuple):
    """The address of one random stream: equal addresses give equal draws, different addresses independent ones.

    The address is written into the key and the counter of a Philox generator, so no state has to be carried between
    streams. Each address owns 2**64 draws.
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
    """How an attempt at a slot ended (the column ``outcome`` of ``evaluations``)."""

    EVALUATED = "evaluated"
    REUSED = "reused"
    DUPLICATE = "duplicate"
    REJECTED = "rejected"


class Reason(StrEnum):
    """Why a genotype was rejected or an evaluation failed; a closed set, so that rates can be tabled."""

    NO_OFFSPRING = "no_offspring"
    NO_ANSWER = "no_answer"
    MODEL_ERROR = "model_error"
    EMPTY = "empty"
    UNPARSABLE = "unparsable"
    MULTI_FRAGMENT = "multi_fragment"
    TOO_LARGE = "too_large"
    FILTERED = "filtered"
    NO_MATCH = "no_match"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    WRONG_RESULT = "wrong_result"
    NON_FINITE = "non_finite"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Rejection:
    """A genotype that cannot be evaluated. It costs an attempt, never an oracle call."""

    reason: Reason
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else str(self.reason)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A genotype that parsed, in the form that is evaluated, and its canonical identity."""

    genotype: str
    key: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What one oracle call returned.

    ``score`` is higher-is-better, ``energy`` lower-is-better; both are None for a failed evaluation that must never
    enter a pool. ``details`` are the domain's own log columns.
    """

    score: float | None
    energy: float | None
    valid: bool = True
    error: str = ""
    details: Mapping[str, Detail] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hypothesis with its evaluation.

    ``call`` is its number in the order charged, counted from 1; ``error`` says why its evaluation failed, ``details``
    are what the task has noted of it.
    """

    call: int
    genotype: str
    key: str
    score: float | None
    energy: float | None
    error: str = ""
    details: "Mapping[str, Detail]" = field(default_factory=dict)


class Prompt(StrEnum):
    """Which of the domain's prompts a rung uses; classical operators need none."""

    COLD = "cold"
    HOT = "hot"


@dataclass(frozen=True, slots=True)
class Request:
    """What the search asks of an operator: one offspring of these parents, for this slot.

    ``parents`` are distinct and at least one, ``best`` is the best member of their pool. All randomness of the operator
    comes from ``stream``.
    """

    iteration: int
    pool: int
    slot: int
    attempt: int
    parents: tuple[Candidate, ...]
    prompt: Prompt
    stream: Stream
    best: Candidate | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an operator answers before validation: a genotype, or None and the ``error`` that says why not."""

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
    """How a language model samples; None leaves a parameter out of the request.

    ``max_tokens`` bounds the reply, ``extra`` holds further parameters of the provider's own.
    """

    temperature: float | None
    top_p: float | None
    max_tokens: int
    seed: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Sampler:
    """A model by its name in the log, and how it samples; a method assigns one to each rung."""

    model: str
    decoding: Decoding


@dataclass(frozen=True, slots=True)
class Query:
    """What a language model is asked. ``stream`` tells apart queries that would be alike: each has its own reply."""

    model: str
    messages: tuple[Message, ...]
    decoding: Decoding
    stream: Stream


class Array(NamedTuple):
    """That a program returns float64 numbers of this shape; ``()`` is one number."""

    shape: tuple[int, ...]


MIN_MEMORY_MB, MAX_MEMORY_MB = 500, 1_000_000
"""What ``memory_mb`` of `Limits` may be: the libraries need the least, and the kernel counts the bytes in 64 bits."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an untrusted program may use.

    Attributes:
        cpu_seconds: Of all its threads together; three times as much of wall time is a backstop.
        memory_mb: Address space of its process, the libraries' share of about 250 MB included.
        result_bytes: Of what it returns.
        output_bytes: Kept of what it prints on stdout, and on stderr: the last so many.
    """

    cpu_seconds: float
    memory_mb: int = 2048
    result_bytes: int = 1_000_000
    output_bytes: int = 4_000

    @property
    def wall_seconds(self) -> float:
        """How long it may be there, whatever it does."""
        return 3 * self.cpu_seconds


@dataclass(frozen=True, slots=True)
class Job:
    """A call of an untrusted program.

    Attributes:
        source: Of the program.
        entry_point: The function that it must define.
        arguments: What the function is called with: numpy arrays of float64, and whatever JSON can say.
        returns: One `Array` for each value of the tuple that it must return; None: anything that JSON can say.
        limits: What it may use.
        driver: Source of our own that defines ``drive(function, *arguments)``, which runs confined beside the program
            and calls its function; what ``drive`` returns is then the result. None calls the function itself.
    """

    source: str
    entry_point: str
    arguments: tuple[Any, ...]
    returns: tuple[Array, ...] | None
    limits: Limits
    driver: str | None = None


@dataclass(frozen=True, slots=True)
class Execution:
    """How a call of an untrusted program ended.

    Attributes:
        value: The arrays, or the JSON value, that it returned; None after a failure. Nothing else is known of it: the
            program may have returned whatever it liked.
        failure: Why there is no value.
        stdout: The last of what it printed.
        stderr: The same of its messages.
        cpu_seconds: What it used.
        wall_seconds: What it took.
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
    """What a language model answered.

    Attributes:
        text: The answer, empty where there is none.
        finish: STOP for a whole answer, LENGTH for one that was cut, ERROR for none (a content filter, say).
        error: Why there is no answer.
        prompt_tokens: As the provider counted them, None where it did not.
        completion_tokens: The same of the answer.
        cost_usd: None where the price is unknown.
        seconds: From sending the query that was answered to its answer.
        retries: Times it had failed before.
        cached: It was bought earlier.
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


@dataclass(frozen=True, slots=True)
class CostBound:
    """What a query costs at most; ``usd`` is None where the price is unknown."""

    tokens: int
    usd: float | None


@dataclass(frozen=True, slots=True)
class Usage:
    """What a language model has been used for; a sum is None once a part of it is unknown."""

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
        """Tokens of prompts and of replies, and what they cost, as a person reads it."""
        known = self.prompt_tokens is not None and self.completion_tokens is not None
        tokens = f"{self.prompt_tokens:,} + {self.completion_tokens:,}" if known else "unknown"
        cost = "unknown cost" if self.cost_usd is None else f"${self.cost_usd:,.4f}"
        return f"{tokens} tokens, {cost}"


def _sum(one: Number | None, other: Number | None) -> Number | None:
    return None if one is None or other is None else one + other
