"""Everything evaluated in a run: the one place where oracle calls are counted."""

import heapq
from math import fsum, isfinite, nan

import numpy as np

from evodiverse.search.sampling import FloatArray
from evodiverse.vocabulary import Candidate, Evaluation, Hypothesis


class Archive:
    """All candidates of a run by call and by key; it only ever grows.

    Scores and energies are kept as arrays too, with NaN for failed evaluations. A call is counted when it is
    reserved, before the evaluation is made.

    Args:
        top: How many of the best scores `top_mean` averages; 0 keeps none.
    """

    def __init__(self, top: int = 0) -> None:
        self._top = top
        self._top_scores: list[float] = []
        self._best: Candidate | None = None
        self._candidates: list[Candidate] = []
        self._evaluations: list[Evaluation] = []
        self._hypotheses: list[Hypothesis] = []
        self._call_of_key: dict[str, int] = {}
        self._scores = np.full(1024, np.nan)
        self._energies = np.full(1024, np.nan)

    @property
    def n_calls(self) -> int:
        """Oracle calls charged so far."""
        return len(self._call_of_key)

    @property
    def scores(self) -> FloatArray:
        """``(n,)`` scores of the evaluated candidates; call ``c`` stands at ``c - 1``."""
        return self._scores[: len(self._candidates)]

    @property
    def energies(self) -> FloatArray:
        """``(n,)`` energies, like `scores`."""
        return self._energies[: len(self._candidates)]

    def call_of(self, key: str) -> int | None:
        """Return the call that this key was charged as, None if it never was."""
        return self._call_of_key.get(key)

    def candidate(self, call: int) -> Candidate:
        """Return the candidate evaluated by this call."""
        return self._candidates[call - 1]

    def hypothesis(self, call: int) -> Hypothesis:
        """Return what this call evaluated."""
        return self._hypotheses[call - 1]

    def evaluation(self, call: int) -> Evaluation:
        """Return what this call returned."""
        return self._evaluations[call - 1]

    def reserve(self, key: str) -> int:
        """Charge an oracle call for a key that has none and return its number.

        Raises:
            ValueError: The key was charged before.
        """
        if key in self._call_of_key:
            raise ValueError(f"{key!r} was charged before")
        call = self.n_calls + 1
        self._call_of_key[key] = call
        return call

    def record(self, hypothesis: Hypothesis, evaluation: Evaluation) -> None:
        """Store the result of the oldest reserved call that has none yet, which must be this hypothesis'.

        Raises:
            ValueError: It is not, or its score and energy are neither both finite nor both None: a NaN would win every
                swap.
        """
        call = len(self._candidates) + 1
        if self._call_of_key.get(hypothesis.key) != call:
            raise ValueError(f"expected the evaluation of call {call}, got that of {hypothesis.key!r}")
        score, energy = evaluation.score, evaluation.energy
        if (score is None) != (energy is None):
            raise ValueError(f"expected both or neither of score and energy, got {score} and {energy} (call {call})")
        if score is not None and energy is not None and not (isfinite(score) and isfinite(energy)):
            raise ValueError(f"expected a finite score and energy, got {score} and {energy} (call {call})")
        if call > self._scores.size:
            self._scores = np.concatenate([self._scores, np.full_like(self._scores, np.nan)])
            self._energies = np.concatenate([self._energies, np.full_like(self._energies, np.nan)])
        known = Candidate(
            call, hypothesis.genotype, hypothesis.key, score, energy, evaluation.error, evaluation.details
        )
        self._candidates.append(known)
        self._evaluations.append(evaluation)
        self._hypotheses.append(hypothesis)
        if score is None or energy is None:
            return
        self._scores[call - 1], self._energies[call - 1] = score, energy
        if self._best is None or self._best.score is None or score > self._best.score:
            self._best = self._candidates[-1]
        if len(self._top_scores) < self._top:
            heapq.heappush(self._top_scores, score)
        elif self._top:
            heapq.heappushpop(self._top_scores, score)

    def best(self) -> Candidate | None:
        """Return the candidate with the highest score, the oldest of several, None when all failed."""
        return self._best

    def top_mean(self) -> float:
        """Return the mean of the best ``top`` scores, NaN as long as there are fewer.

        The sum is exactly rounded, so that it does not depend on the order in which scores came.
        """
        return fsum(self._top_scores) / self._top if self._top and len(self._top_scores) == self._top else nan
