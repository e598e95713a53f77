"""Reports of a run's progress to services that track many runs. The log on disk stays authoritative."""

import importlib
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from evodiverse.errors import Asked, Interrupted, describe
from evodiverse.kit.files import read_json, write_file
from evodiverse.ports import Snapshot, TrackedRun, Tracker

_LOG = logging.getLogger("evodiverse.runner")
NONE: Final = "none"
TRACKERS: Final[Mapping[str, str]] = MappingProxyType({"mlflow": "evodiverse.runner.mlflow_tracker"})
"""The modules of the trackers by name; each has a function ``open_tracker(uri, experiment, outputs)``."""

NAMES: Final = "tracking.json"
"""The file of a run directory that holds the name of the run at each service."""
_MOST_BYTES: Final = 1 << 16

Committed = Callable[[Callable[[], Snapshot]], None]


def open_tracker(name: str, uri: str | None, experiment: str, outputs: Path) -> Tracker | None:
    """Return the tracker of this name, or None for ``none``.

    Args:
        name: ``none``, or one of `TRACKERS`.
        uri: The address of the service, or None for its default.
        experiment: The name of the group of runs in the service.
        outputs: The folder of all runs.
    """
    if name == NONE:
        return None
    tracker: Tracker = importlib.import_module(TRACKERS[name]).open_tracker(uri, experiment, outputs)
    return tracker


@contextmanager
def followed(open_it: Callable[[], Tracker | None], path: Path, settings: Mapping[str, Any]) -> Iterator[Committed]:
    """Track a run within this context. If the tracker raises, one warning is logged and the run continues without it.

    Args:
        open_it: A function that opens the tracker; it returns None for no tracking.
        path: The open run directory. A file there stores the name that the service gave the run, so that a resumed run
            continues under this name.
        settings: The settings of the run, by dotted key.

    Yields:
        The function that the loop calls after each commit, which reports the iteration to the tracker. Its argument, a
        function that returns a snapshot of the run, is called only if the run is tracked.
    """
    follower = _Follower(path)
    follower.begin(open_it, settings)
    status = "failed"
    try:
        yield follower.note
        status = "complete"
    except (Asked, Interrupted):
        status = "interrupted"
        raise
    finally:
        follower.end(status)


class _Follower:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._tracker: Tracker | None = None
        self._place = ""

    def begin(self, open_it: Callable[[], Tracker | None], settings: Mapping[str, Any]) -> None:
        def begin() -> None:
            tracker = open_it()
            if tracker is None:
                return
            self._place = re.sub(r"//[^/@]*@", "//", tracker.place)  # without a password
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
        except Exception as error:  # noqa: BLE001 (no failure of an outside service may end a search)
            self._tracker = None
            at = f" at {self._place}" if self._place else ""
            _LOG.warning(
                "tracking%s failed (%s); the run continues without it, and its log is complete", at, describe(error)
            )


def read_numbers(snapshot: Snapshot) -> dict[str, float]:
    """Return the metrics that are reported to a tracker, by name, without those that are unknown or not finite."""
    numbers: dict[str, float | None] = {
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
        numbers |= {f"pool{at}.best": pool.best, f"pool{at}.median": pool.median, f"pool{at}.size": pool.size}
    if snapshot.llm is not None:
        numbers |= {
            "llm.calls": snapshot.llm.calls,
            "llm.prompt_tokens": snapshot.llm.prompt_tokens,
            "llm.completion_tokens": snapshot.llm.completion_tokens,
            "llm.cost_usd": snapshot.llm.cost_usd,
        }
    return {name: float(value) for name, value in numbers.items() if value is not None and isfinite(value)}
