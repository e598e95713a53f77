import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import InputError
from evodiverse.vocabulary import Evaluation, Hypothesis, Reason, Rejection, Stream


class BitTask:
    """Strings of ``length`` bits; bit i of value 1 is worth i + 1, and the score is the worth over the greatest worth.

    The last bit makes a string unfit to be scored when all others are 0.
    """

    columns: Mapping[str, type] = {"n_ones": int}

    def __init__(self, length: int, start: int, spoiled: str = "nothing", pause: float = 0.0, diary: str = "") -> None:
        self.length = length
        self.start = start
        self.spoiled = spoiled
        self.pause = pause
        self.diary = diary
        self.n_evaluated = 0

    def initial(self, stream: Stream) -> list[str]:
        if self.spoiled == "start":
            return ["no bits"] * self.start
        rng = stream.rng()
        return ["".join(rng.choice(["0", "1"], size=self.length, p=[0.7, 0.3]).tolist()) for _ in range(self.start)]

    def parse(self, genotypes: Sequence[str]) -> list[Hypothesis | Rejection]:
        return [
            Hypothesis(text, text)
            if len(text) == self.length and set(text) <= {"0", "1"}
            else Rejection(Reason.UNPARSABLE, f"{len(text)} characters")
            for text in genotypes
        ]

    def similarities(self, hypothesis: Hypothesis, others: Sequence[Hypothesis]) -> NDArray[np.float64]:
        bits = int(hypothesis.key, 2)
        n_different = [(bits ^ int(other.key, 2)).bit_count() for other in others]
        return np.array([(self.length - n) / self.length for n in n_different])

    def features(self, hypotheses: Sequence[Hypothesis]) -> NDArray[np.float32]:
        return np.array([list(map(int, hypothesis.key)) for hypothesis in hypotheses], dtype=np.float32)

    def evaluate(self, hypotheses: Sequence[Hypothesis]) -> list[Evaluation]:
        self.n_evaluated += len(hypotheses)
        if self.spoiled == "oracle" and hypotheses:
            raise RuntimeError("the toy oracle is spoiled")
        if self.spoiled == "bug" and hypotheses:
            raise ValueError("the toy oracle has a bug")
        if self.spoiled == "worker" and hypotheses:
            os._exit(3)
        return [self._evaluate(hypothesis.key) for hypothesis in hypotheses]

    def rate(self, hypothesis: Hypothesis, score: float) -> Evaluation:
        if not 0 <= score <= 1:
            raise InputError(f"{hypothesis.genotype} was scored {score:g}; a score must lie in [0, 1]")
        return Evaluation(score, math.log(1 - min(score, 1 - 1e-6)), details={"n_ones": hypothesis.key.count("1")})

    def _take_time(self, key: str) -> None:
        time.sleep(self.pause)
        if self.diary:
            with Path(self.diary).open("a") as diary:
                diary.write(f"{key}\n")

    def _evaluate(self, key: str) -> Evaluation:
        self._take_time(key)
        if self.spoiled == "failing":
            return Evaluation(0.0, 0.0, valid=False, error=str(Rejection(Reason.CRASHED, "the toy\nis broken")))
        if self.spoiled == "some" and key[0] == "1":
            return Evaluation(0.0, 0.0, valid=False, error=str(Rejection(Reason.CRASHED, "the first bit")))
        n_ones = key.count("1")
        if n_ones == 1 and key[-1] == "1":
            return Evaluation(None, None, valid=False, error=str(Reason.NON_FINITE), details={"n_ones": n_ones})
        worth = sum(index + 1 for index, bit in enumerate(key) if bit == "1")
        score = worth / (self.length * (self.length + 1) / 2)
        return Evaluation(score, math.log(1 - min(score, 1 - 1e-6)), details={"n_ones": n_ones})


class StockedBitTask(BitTask):
    """Bit strings with a library of ``size`` strings, of which the first has the highest score."""

    def __init__(self, size: int, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.size = size

    def library(self) -> Sequence[str]:
        rng = np.random.default_rng(5)
        return [
            "1" * self.length,
            *("".join(bits) for bits in rng.choice(["0", "1"], size=(self.size - 1, self.length))),
        ]

    def library_digest(self) -> str:
        return f"{self.size} strings of {self.length} bits"
