"""The state of runs, whether running or ended, read from their records, checkpoints and lock files."""

import os
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evodiverse.kit.files import read_file, read_json
from evodiverse.runlog.record import CHECKPOINT, LOCK, MOST_BYTES, RECORD

_HOLDER: Final = re.compile(r"process (\d+) on (\S+)")
_MOST_BYTES: Final = 1 << 26
_CAPS: Final = {
    "llm_calls": ("ledger", "calls"),
    "tokens": ("ledger", "counted_tokens"),
    "usd": ("ledger", "counted_usd"),
    "seconds": ("seconds", "wall"),
}
"""The place in a checkpoint of what counts against each cap ``budget.*``."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a run.

    Attributes:
        state: The status in ``run.json``; ``waiting`` if there is no such file yet, ``killed`` if the status is
            ``running`` but the process no longer exists.
        calls: The number of oracle calls up to the last commit.
        budget: The number of oracle calls that the run may make; None if there is no ``run.json`` yet.
        best: The highest score so far; None before the first.
        seconds: The wall time up to the last commit, in seconds.
        stopped_by: The reason why the run ended; None before that.
        error: The message of the error that a failed run ended with; None otherwise.
        is_alive: Whether the process that writes the run exists; None if unknown, as for a process on another machine.
        caps: What counts so far against each cap that is set, and the cap.
    """

    state: str
    calls: int = 0
    budget: int | None = None
    best: float | None = None
    seconds: float = 0.0
    stopped_by: str | None = None
    error: str | None = None
    is_alive: bool | None = None
    caps: Sequence[tuple[float, float]] = ()

    @property
    def is_over(self) -> bool:
        """Whether the state of the run is neither ``waiting`` nor ``running``.

        Such a run makes no further progress unless it is started again.
        """
        return self.state not in ("waiting", "running")

    @property
    def seconds_left(self) -> float | None:
        """The time until the budget or a cap is spent, whichever is first, in seconds; None if it cannot be estimated.

        The estimate assumes the rate so far.
        """
        if self.state != "running" or self.budget is None or not self.calls:
            return None
        limits = [(self.calls, self.budget), *self.caps]
        return min(self.seconds / spent * max(limit - spent, 0) for spent, limit in limits if spent > 0)


def read_standing(path: Path) -> Standing:
    """Return the state of the run in a folder. A damaged file counts as missing.

    Args:
        path: The run directory, which may not exist yet.
    """
    record = _read(path / RECORD, MOST_BYTES)
    if record is None:
        return Standing("waiting")
    saved = _read(path / CHECKPOINT, _MOST_BYTES) or {}
    state = str(record.get("status"))
    is_alive = _is_alive(path) if state == "running" else False
    if state == "running" and is_alive is False:
        state = "killed"
    caps = [(_find_number(saved, *at), _find_number(record, "settings", f"budget.{cap}")) for cap, at in _CAPS.items()]
    return Standing(
        state=state,
        calls=_find_number(saved, "oracle_calls") or 0,
        budget=_find_number(record, "settings", "budget.oracle_calls"),
        best=_find_number(saved, "best_score"),
        seconds=_find_number(saved, "seconds", "wall") or 0.0,
        stopped_by=record.get("stopped_by"),
        error=record.get("error"),
        is_alive=is_alive,
        caps=tuple((spent, cap) for spent, cap in caps if spent is not None and cap is not None),
    )


def _find_number(content: Any, *keys: str) -> Any:
    """Return the number at a path of keys in a file's content; None if there is none."""
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content if isinstance(content, int | float) else None


def _read(path: Path, most_bytes: int) -> dict[str, Any] | None:
    try:
        return read_json(path, most_bytes)
    except (OSError, ValueError):
        return None


def _is_alive(path: Path) -> bool | None:
    """Return whether the process that locked a run exists.

    The result is None if the process is on another machine, or if the lock file is missing or its text
    has another form.
    """
    try:
        holder = _HOLDER.fullmatch(read_file(path / LOCK, 1000).decode(errors="replace").strip())
    except (OSError, ValueError):
        return None
    if holder is None or holder[2] != socket.gethostname():
        return None
    try:
        os.kill(int(holder[1]), 0)
    except (ProcessLookupError, OverflowError):  # a number too large for a process is damaged
        return False
    except PermissionError:  # the process of another user
        pass
    return True
