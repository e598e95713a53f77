"""All evaluated candidates of a run, and the only place where oracle calls are counted."""

import heapq
from array import array
from collections.abc import Sequence
from math import fsum, isfinite, isnan, nan

import numpy as np

from evodiverse.search.pareto import SCORE, Objective, measure_objectives
from evodiverse.search.sampling import BoolArray, FloatArray, IntArray
from evodiverse.vocabulary import CHARGED, Candidate, Detail, Evaluation, Hypothesis


class Archive:
    """All candidates of a run, found by their keys or by the numbers of their calls (evaluations). It only ever grows.

    Results are kept in arrays, so that each call takes only a few hundred bytes, even in a run of a million calls.
    Records such as `Candidate` are built on request. The score and the energy of a call that gave neither are NaN. A
    call counts as soon as `reserve` gives it a number, before the candidate is evaluated.

    Args:
        top: The number of best scores that `top_mean` averages; if it is 0, there is no mean.
        keep_failed: Whether candidates that failed may join pools, if they have a score.

    Attributes:
        n_free: How many calls were not charged, as the candidate's score was known (`CHARGED`).
    """

    def __init__(self, top: int = 0, *, keep_failed: bool = True) -> None:
        self._top = top
        self._keep_failed = keep_failed
        self._top_scores: list[float] = []
        self._best_call: int | None = None
        self._pools = array("h")
        self._genotypes: list[str] = []
        self._keys: list[str] = []
        self._is_valid = bytearray()
        self._errors: dict[int, str] = {}
        # Most calls have details of the same names, so each combination of names is stored only once.
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._details: list[tuple[tuple[str, ...], tuple[Detail | None, ...]]] = []
        self._call_of_key: dict[str, int] = {}
        self.n_free = 0
        self._numbers = np.full((2, 1024), np.nan)  # the scores, and the energies

    @property
    def n_calls(self) -> int:
        """The number of oracle calls so far; a call counts from the moment it is reserved, before it is evaluated."""
        return len(self._call_of_key)

    @property
    def scores(self) -> FloatArray:
        """``(n,)`` scores of the evaluated candidates, NaN for those without one.

        The candidate evaluated by oracle call number ``c``, counted from 1, is at index ``c - 1``.
        """
        return self._numbers[0, : len(self._keys)]

    @property
    def energies(self) -> FloatArray:
        """``(n,)`` energies of the evaluated candidates, in the same order as `scores`; NaN where there is no score.

        The energy is the number by which candidates are compared in swaps between pools; lower is better.
        """
        return self._numbers[1, : len(self._keys)]

    @property
    def pools(self) -> IntArray:
        """``(n,)`` pools that the calls were made for, in the order of `scores`; -1 for initial candidates."""
        return np.array(self._pools, dtype=np.int64)

    def may_join(self, calls: IntArray) -> BoolArray:
        """Return which of ``(n,)`` candidates, given by the numbers of their calls, may join pools, as ``(n,)``."""
        has_score = self.has_score(calls)
        return has_score if self._keep_failed else has_score & np.frombuffer(self._is_valid, np.bool_)[calls - 1]

    def has_score(self, calls: IntArray) -> BoolArray:
        """Return which of ``(n,)`` candidates, given by the numbers of their calls, have a score, as ``(n,)``."""
        has_score: BoolArray = ~np.isnan(self._numbers[0, calls - 1])
        return has_score

    def call_of(self, key: str) -> int | None:
        """Return the number of the oracle call counted for the candidate with this key; None if there is none."""
        return self._call_of_key.get(key)

    def candidate(self, call: int) -> Candidate:
        """Return the candidate that was evaluated by the oracle call with this number, counted from 1."""
        found = self.evaluation(call)
        genotype, key = self._genotypes[call - 1], self._keys[call - 1]
        return Candidate(call, genotype, key, found.score, found.energy, found.error, found.details)

    def hypothesis(self, call: int) -> Hypothesis:
        """Return the hypothesis that a call evaluated."""
        return Hypothesis(self._genotypes[call - 1], self._keys[call - 1])

    def evaluation(self, call: int) -> Evaluation:
        """Return the result of the oracle call with this number, counted from 1."""
        numbers = (float(self.scores[call - 1]), float(self.energies[call - 1]))
        score, energy = (None if isnan(number) else number for number in numbers)
        details = dict(zip(*self._details[call - 1], strict=True))
        return Evaluation(score, energy, bool(self._is_valid[call - 1]), self._errors.get(call, ""), details)

    def values(self, calls: Sequence[int], objectives: Sequence[Objective]) -> FloatArray:
        """Return the ``(n, d)`` values of the candidates of ``n`` calls in ``d`` objectives (`measure_objectives`)."""
        found = map(self.evaluation, calls)
        return measure_objectives([{**one.details, SCORE: one.score} for one in found], objectives)

    def reserve(self, key: str, pool: int = -1) -> int:
        """Count an oracle call for the candidate with a new key, and return the number of the call, from 1.

        Args:
            key: The key.
            pool: The pool that the call is made for; -1 for an initial candidate.

        Raises:
            ValueError: A call was counted for this key before.
        """
        if key in self._call_of_key:
            raise ValueError(f"{key!r} was charged before")
        call = self.n_calls + 1
        self._call_of_key[key] = call
        self._pools.append(pool)
        return call

    def record(self, hypothesis: Hypothesis, evaluation: Evaluation) -> None:
        """Store the result of the next oracle call, which must be the call of this hypothesis.

        Results are stored in the order in which `reserve` numbered the calls.

        Raises:
            ValueError: The call belongs to another hypothesis, only one of score and energy is None, or one of them is
                NaN or infinite. If an energy were NaN, the test whether two pools exchange candidates would always say
                yes.
        """
        call = len(self._keys) + 1
        if self._call_of_key.get(hypothesis.key) != call:
            raise ValueError(f"expected the evaluation of call {call}, got that of {hypothesis.key!r}")
        score, energy = evaluation.score, evaluation.energy
        if (score is None) != (energy is None):
            raise ValueError(f"expected both or neither of score and energy, got {score} and {energy} (call {call})")
        if score is not None and energy is not None and not (isfinite(score) and isfinite(energy)):
            raise ValueError(f"expected a finite score and energy, got {score} and {energy} (call {call})")
        if call > self._numbers.shape[1]:
            self._numbers = np.concatenate([self._numbers, np.full_like(self._numbers, np.nan)], axis=1)
        self._genotypes.append(hypothesis.genotype)
        self._keys.append(hypothesis.genotype if hypothesis.key == hypothesis.genotype else hypothesis.key)
        self._is_valid.append(evaluation.valid)
        if evaluation.error:
            self._errors[call] = evaluation.error
        self.n_free += evaluation.details.get(CHARGED) is False
        names = tuple(evaluation.details)
        self._details.append((self._names.setdefault(names, names), tuple(evaluation.details.values())))
        if score is None or energy is None:
            return
        self._numbers[:, call - 1] = score, energy
        if self._best_call is None or score > self.scores[self._best_call - 1]:
            self._best_call = call
        heapq.heappush(self._top_scores, score)
        if len(self._top_scores) > self._top:
            heapq.heappop(self._top_scores)

    def best(self) -> Candidate | None:
        """Return the candidate with the highest score, the oldest of several with that score; None if there is none."""
        return None if self._best_call is None else self.candidate(self._best_call)

    def top_mean(self) -> float:
        """Return the mean of the best ``top`` scores; NaN while there are fewer, or if ``top`` is 0.

        The exact sum is rounded only once, so the mean does not depend on the order of the scores.
        """
        return fsum(self._top_scores) / self._top if self._top and len(self._top_scores) == self._top else nan
