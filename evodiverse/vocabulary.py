"""The frozen records that every part of EvoDiverse shares.

A *genotype* is what a search manipulates (a SMILES string, a program text); a *hypothesis* is a genotype that parsed,
with its canonical *key*; a *candidate* is a hypothesis with its evaluation. Scores are higher-is-better everywhere;
energies are lower-is-better and appear only where the paper's formulas use ``h``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

import numpy as np

Detail: TypeAlias = float | int | str | None


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
        key = np.array([self.seed, self.purpose], dtype=np.uint64)
        counter = np.array([0, self.iteration, self.pool << 32 | self.slot, self.attempt], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(key=key, counter=counter))


class Outcome(StrEnum):
    """How an attempt at a slot ended (the column ``outcome`` of ``evaluations``)."""

    EVALUATED = "evaluated"
    REUSED = "reused"
    DUPLICATE = "duplicate"
    REJECTED = "rejected"


class Reason(StrEnum):
    """Why a genotype was rejected or an evaluation failed; a closed set, so that rates can be tabled."""

    NO_OFFSPRING = "no_offspring"
    EMPTY = "empty"
    UNPARSABLE = "unparsable"
    MULTI_FRAGMENT = "multi_fragment"
    TOO_LARGE = "too_large"
    NON_FINITE = "non_finite"


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
    """A hypothesis with its evaluation. ``call`` is its number in the order charged, counted from 1."""

    call: int
    genotype: str
    key: str
    score: float | None
    energy: float | None


class Prompt(StrEnum):
    """Which of the domain's prompts a rung uses; classical operators need none."""

    COLD = "cold"
    HOT = "hot"


@dataclass(frozen=True, slots=True)
class Request:
    """What the search asks of an operator: one offspring of these parents, for this slot.

    ``parents`` are distinct and at least one. All randomness of the operator comes from ``stream``.
    """

    iteration: int
    pool: int
    slot: int
    attempt: int
    parents: tuple[Candidate, ...]
    prompt: Prompt
    stream: Stream


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an operator answers before validation: a genotype, or None and the ``error`` that says why not."""

    genotype: str | None
    operator: str
    error: str = ""
    llm_call: int | None = None
