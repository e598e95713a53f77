"""Where a run's seconds went."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Clock:
    """A run's seconds, up to now in this process and up to their last commits in those before it."""

    began: float = field(default_factory=time.perf_counter)
    before: float = 0.0
    operator: float = 0.0
    oracle: float = 0.0

    def resume(self, seconds: Mapping[str, float]) -> None:
        """Go on from what `seconds` gave in an earlier process."""
        self.before, self.operator, self.oracle = seconds["wall"], seconds["operator"], seconds["oracle"]

    @property
    def here(self) -> float:
        """Wall time in this process."""
        return time.perf_counter() - self.began

    @property
    def seconds(self) -> dict[str, float]:
        """Wall time of the loop, and how much of it the operator and the oracle took."""
        return {"wall": self.before + self.here, "operator": self.operator, "oracle": self.oracle}
