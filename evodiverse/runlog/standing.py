"""How runs stand, read from the two small files that say so, while they go on or later."""

import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evodiverse.kit.files import read_file, read_json
from evodiverse.runlog.record import CHECKPOINT, LOCK, MOST_BYTES, RECORD

_HOLDER: Final = re.compile(r"process (\d+) on (\S+)")
_MOST_BYTES: Final = 1 << 26


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run stands.

    Attributes:
        state: The status in its record; "waiting" before there is one, "killed" where its process is gone.
        calls: Oracle calls charged and committed.
        budget: Oracle calls it may charge, None before there is a record.
        best: The highest score so far, None as long as there is none.
        seconds: Wall time until the last commit.
        stopped_by: What ended it.
        error: What it failed with.
        is_alive: Whether the process that writes it goes on; None where nobody here can tell.
    """

    state: str
    calls: int = 0
    budget: int | None = None
    best: float | None = None
    seconds: float = 0.0
    stopped_by: str | None = None
    error: str | None = None
    is_alive: bool | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes until somebody starts it again."""
        return self.state not in ("waiting", "running")

    @property
    def seconds_left(self) -> float | None:
        """How long it goes on if it charges its whole budget as fast as before; None if nobody can tell."""
        if self.state != "running" or self.budget is None or not self.calls:
            return None
        return self.seconds / self.calls * (self.budget - self.calls)


def read_standing(path: Path) -> Standing:
    """Return how the run in a folder stands; a file that is just being made, or is damaged, says nothing.

    Args:
        path: The run directory, which need not be there yet.
    """
    record = _read(path / RECORD, MOST_BYTES)
    if record is None:
        return Standing("waiting")
    saved = _read(path / CHECKPOINT, _MOST_BYTES) or {}
    state = str(record.get("status"))
    is_alive = _is_alive(path) if state == "running" else False
    if state == "running" and is_alive is False:
        state = "killed"
    budget, calls = record.get("settings", {}).get("budget.oracle_calls"), saved.get("oracle_calls")
    seconds = saved.get("seconds", {}).get("wall")
    best = saved.get("best_score")
    return Standing(
        state=state,
        calls=calls if isinstance(calls, int) else 0,
        budget=budget if isinstance(budget, int) else None,
        best=best if isinstance(best, int | float) else None,
        seconds=seconds if isinstance(seconds, int | float) else 0.0,
        stopped_by=record.get("stopped_by"),
        error=record.get("error"),
        is_alive=is_alive,
    )


def _read(path: Path, most_bytes: int) -> dict[str, Any] | None:
    try:
        return read_json(path, most_bytes)
    except (OSError, ValueError):
        return None


def _is_alive(path: Path) -> bool | None:
    """Return whether the process that holds a run goes on, None if it is on another machine or does not say."""
    try:
        held = _HOLDER.fullmatch(read_file(path / LOCK, 1000).decode(errors="replace").strip())
    except (OSError, ValueError):
        return None
    if held is None or held[2] != socket.gethostname():
        return None
    try:
        os.kill(int(held[1]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True
