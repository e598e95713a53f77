"""A copy of how a run goes, for services that follow many runs. The log on disk stays the truth."""

import importlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from evodiverse.errors import Interrupted, describe
from evodiverse.kit.files import read_json, write_file
from evodiverse.ports import Snapshot, TrackedRun, Tracker

_LOG = logging.getLogger("evodiverse.runner")
NONE: Final = "none"
TRACKERS: Final[Mapping[str, str]] = MappingProxyType({"mlflow": "evodiverse.runner.mlflow_tracker"})
"""The module of each tracker by its name; it offers ``open_tracker(uri, experiment, outputs)``."""

NAMES: Final = "tracking.json"
"""A run directory's file that says by what name a service knows the run."""
_MOST_BYTES: Final = 1 << 16

Committed = Callable[[Callable[[], Snapshot]], None]


def open_tracker(name: str, uri: str | None, experiment: str, outputs: Path) -> Tracker | None:
    """Return what follows runs, None for nothing.

    Args:
        name: ``none``, or one of `TRACKERS`.
        uri: Where the service is, None for its usual place.
        experiment: What the service calls the runs that belong together.
        outputs: The folder of all runs.
    """
    if name == NONE:
        return None
    tracker: Tracker = importlib.import_module(TRACKERS[name]).open_tracker(uri, experiment, outputs)
    return tracker


@contextmanager
def followed(open_it: Callable[[], Tracker | None], path: Path, settings: Mapping[str, Any]) -> Iterator[Committed]:
    """Let a tracker follow a run while it goes on; whatever it raises is one warning, and the run goes on without it.

    Args:
        open_it: Makes the tracker.
        path: The run directory, which is open. It keeps the name by which the tracker knows the run, so that a run that
            is resumed goes on there.
        settings: The flat settings of the run.

    Yields:
        What is to be told of each commit.
    """
    follower = _Follower(path)
    follower.begin(open_it, settings)
    status = "failed"
    try:
        yield follower.note
        status = "complete"
    except Interrupted:
        status = "interrupted"
        raise
    finally:
        follower.end(status)


class _Follower:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._tracker: Tracker | None = None

    def begin(self, open_it: Callable[[], Tracker | None], settings: Mapping[str, Any]) -> None:
        def begin() -> None:
            tracker = open_it()
            if tracker is None:
                return
            file = self._path / NAMES
            names = read_json(file, _MOST_BYTES) if file.exists() else {}
            known = names.get(tracker.place)
            name = tracker.begin(TrackedRun(self._path, settings, known if isinstance(known, str) else None))
            if name != known:
                write_file(file, json.dumps(names | {tracker.place: name}, indent=2).encode())
            self._tracker = tracker

        self._try(begin)

    def note(self, snapshot: Callable[[], Snapshot]) -> None:
        tracker = self._tracker
        if tracker is not None:
            now = snapshot()
            self._try(lambda: tracker.log(now.iteration, read_numbers(now)))

    def end(self, status: str) -> None:
        tracker = self._tracker
        if tracker is not None:
            self._try(lambda: tracker.end(status, self._path / "best"))

    def _try(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 (somebody else's service is no reason to end a search)
            self._tracker = None
            _LOG.warning(
                "tracking failed (%s); the run goes on without it, and its log has everything", describe(error)
            )


def read_numbers(snapshot: Snapshot) -> dict[str, float]:
    """Return the numbers of an iteration by name, those that there are and that are finite."""
    found: dict[str, float | None] = {
        "oracle_calls": snapshot.oracle_calls,
        "best": snapshot.best,
        "summary": snapshot.summary,
        "xi": snapshot.xi,
        "swap_rate": snapshot.swap_rates[-1] if snapshot.swap_rates else None,
        "rejected": snapshot.rejected,
        "duplicate": snapshot.duplicate,
        "wall_seconds": snapshot.seconds.get("wall"),
    }
    for at, pool in enumerate(snapshot.pools):
        found |= {f"pool{at}.best": pool.best, f"pool{at}.median": pool.median, f"pool{at}.size": pool.size}
    if snapshot.llm is not None:
        found |= {
            "llm.calls": snapshot.llm.calls,
            "llm.prompt_tokens": snapshot.llm.prompt_tokens,
            "llm.completion_tokens": snapshot.llm.completion_tokens,
            "llm.cost_usd": snapshot.llm.cost_usd,
        }
    return {name: float(value) for name, value in found.items() if value is not None and isfinite(value)}
