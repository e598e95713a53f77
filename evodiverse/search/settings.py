"""The frozen settings of the search. Meanings and units are those of the configuration keys of the same names."""

from dataclasses import dataclass

from evodiverse.vocabulary import Prompt


@dataclass(frozen=True, slots=True)
class MatingPool:
    """How parents are preselected: ``size`` draws by the weight rule named ``weight``."""

    size: int
    replacement: bool
    weight: str


@dataclass(frozen=True, slots=True)
class Survivors:
    """Which survivor rule makes the next pool, and the weight rule it samples by."""

    rule: str
    weight: str


@dataclass(frozen=True, slots=True)
class Swap:
    """The exchange between pools, and how ξ adapts; the paper's τ is ``target``, ε ``tolerance``, L ``window``."""

    rule: str
    schedule: str
    period: int
    size: int
    xi: float
    target: float
    tolerance: float
    window: int


@dataclass(frozen=True, slots=True)
class Niche:
    """How many of a pool's members may be alike: ``share`` of them, by rung, at a similarity of ``radius`` or more."""

    radius: float
    share: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Screen:
    """Which of ``proposals`` a slot are paid for: those of high prediction plus ``explore`` times its spread.

    At most ``at_most`` of a round are alike, at a similarity of ``radius`` or more, as long as there are others.
    """

    proposals: int
    explore: float
    radius: float
    at_most: int


@dataclass(frozen=True, slots=True)
class Method:
    """One method. ``ladder`` holds one inverse temperature a pool, cold to hot."""

    ladder: tuple[float, ...]
    capacity: int
    offspring: int
    parents: int
    elites: int
    hot_prompt: Prompt
    mating_pool: MatingPool
    survivors: Survivors
    swap: Swap
    niche: Niche | None = None
    screen: Screen | None = None

    @property
    def n_pools(self) -> int:
        """Number of pools."""
        return len(self.ladder)


@dataclass(frozen=True, slots=True)
class EarlyStop:
    """Stop when the mean score of the best ``top`` gains less than ``gain`` for ``patience`` iterations in a row."""

    top: int
    gain: float
    patience: int


@dataclass(frozen=True, slots=True)
class Search:
    """Limits of the search that do not depend on the method.

    A score above ``target`` ends it; so does a start from failed candidates alone, unless ``continue_on_failed_start``.
    """

    attempts: int
    patience: int
    early_stop: EarlyStop | None
    target: float | None = None
    continue_on_failed_start: bool = False
