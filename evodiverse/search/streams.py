"""The purposes of random streams, and the streams of one run."""

from dataclasses import dataclass
from enum import IntEnum

from evodiverse.vocabulary import Stream


class Purpose(IntEnum):
    """The kind of decision that the numbers from a random stream are used for.

    Logged results depend on these values: append, but never renumber.
    """

    INITIAL = 1
    MATING_POOL = 2
    PARENTS = 3
    OPERATOR = 4
    SURVIVORS = 5
    EXCHANGE = 6
    SCHEDULE = 7
    SCREEN = 8
    SAMPLE = 9
    LIBRARY = 10
    FAMILIES = 11
    MODEL = 12
    SHARE = 13


@dataclass(frozen=True, slots=True)
class Streams:
    """All random streams of a run, whose ``seed`` is from 0 to 2**64 - 1."""

    seed: int

    def at(self, purpose: Purpose, iteration: int, *, pool: int = 0, slot: int = 0, attempt: int = 0) -> Stream:
        """Return the random stream for one decision. Equal arguments give equal draws."""
        return Stream(self.seed, purpose, iteration, pool, slot, attempt)
