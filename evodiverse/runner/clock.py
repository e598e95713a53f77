"""The wall time of a run and of its parts."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Clock:
    """The wall time of a run: that of this process, and that of each earlier process.

    If an earlier process was killed, its time after its last commit is unknown and does not count.

    Attributes:
        began: The value of `time.perf_counter` when this process began the run.
        before: The wall time of earlier processes, in seconds.
        operator: The time spent waiting for proposals in all processes, in seconds.
        oracle: The time spent waiting for evaluations in all processes, in seconds.
    """

    began: float = field(default_factory=time.perf_counter)
    before: float = 0.0
    operator: float = 0.0
    oracle: float = 0.0

    def resume(self, seconds: Mapping[str, float]) -> None:
        """Continue from ``seconds``, the value that the property `seconds` had in an earlier process."""
        self.before, self.operator, self.oracle = seconds["wall"], seconds["operator"], seconds["oracle"]

    @property
    def here(self) -> float:
        """The wall time in this process, in seconds."""
        return time.perf_counter() - self.began

    @property
    def seconds(self) -> dict[str, float]:
        """The wall time of the run (``wall``) and its parts spent on ``operator`` and ``oracle``, in seconds."""
        return {"wall": self.before + self.here, "operator": self.operator, "oracle": self.oracle}
