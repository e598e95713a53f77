"""Reports of a run's progress to services that track many runs. The log on disk stays authoritative."""

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any, Final

from evodiverse.errors import Asked, Interrupted, describe
from evodiverse.kit.files import read_json, write_file
from evodiverse.ports import Snapshot, TrackedRun, Tracker

_LOG = logging.getLogger("evodiverse.runner")
NONE: Final = "none"
TRACKERS: Final = ("mlflow",)
NAMES: Final = "tracking.json"
"""The file of a run directory that holds the name of the run at each service."""
_MOST_BYTES: Final = 1 << 16
_NUMBERS: Final = ("oracle_calls", "best", "summary", "xi", "rejected", "duplicate")

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
    from evodiverse.runner.mlflow_tracker import MlflowTracker

    return MlflowTracker(uri, experiment, outputs)


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
    tracker: Tracker | None = None
    place = ""

    @contextmanager
    def attempt() -> Iterator[None]:
        nonlocal tracker
        try:
            yield
        except Exception as error:  # noqa: BLE001 (no failure of an outside service may end a search)
            tracker = None
            _LOG.warning(
                "tracking%s failed (%s); the run continues without it, and its log is complete", place, describe(error)
            )

    def note(snapshot: Callable[[], Snapshot]) -> None:
        if tracker is not None:
            now = snapshot()
            with attempt():
                tracker.log(now.iteration, read_numbers(now))

    with attempt():
        if (opened := open_it()) is not None:
            place = " at " + re.sub(r"//[^/@]*@", "//", opened.place)  # without a password
            names = read_json(file, _MOST_BYTES) if (file := path / NAMES).exists() else {}
            known = names.get(opened.place)
            name = opened.begin(TrackedRun(path, settings, known if isinstance(known, str) else None))
            if name != known:
                write_file(file, json.dumps(names | {opened.place: name}, indent=2).encode())
            tracker = opened
    status = "failed"
    try:
        yield note
        status = "complete"
    except (Asked, Interrupted):
        status = "interrupted"
        raise
    finally:
        if tracker is not None:
            with attempt():
                tracker.end(status, path / "best")


def read_numbers(snapshot: Snapshot) -> dict[str, float]:
    """Return the metrics that are reported to a tracker, by name, without those that are unknown or not finite."""
    numbers: dict[str, float | None] = {
        **{name: getattr(snapshot, name) for name in _NUMBERS},
        "swap_rate": snapshot.swap_rates[-1] if snapshot.swap_rates else None,
        "wall_seconds": snapshot.seconds.get("wall"),
    }
    for at, pool in enumerate(snapshot.pools):
        numbers |= {f"pool{at}.best": pool.best, f"pool{at}.median": pool.median, f"pool{at}.size": pool.size}
    if snapshot.llm is not None:
        numbers |= {f"llm.{name}": value for name, value in asdict(snapshot.llm).items()}
    return {name: float(value) for name, value in numbers.items() if value is not None and isfinite(value)}
