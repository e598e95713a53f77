"""Finding runs, and reading their records, columns and docking scores."""

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from evodiverse.errors import InputError, reason
from evodiverse.kit.files import read_json
from evodiverse.runlog.datasets import find_own_columns, read_parts
from evodiverse.runlog.record import MOST_BYTES, RECORD, SETTINGS, check_record

CAPS = frozenset({"budget.llm_calls", "budget.tokens", "budget.usd", "budget.seconds"})
"""The settings that limit what a run may spend besides oracle calls."""

DOCKING: Final = "docking"
"""The dataset with the docking scores of a run, which is added to a complete run."""

DOCKING_RECORD: Final = "docking.json"
"""The file in the folder `DOCKING` that records the docking target and the docking settings."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run.

    Attributes:
        path: The run directory.
        record: The content of its ``run.json``.
    """

    path: Path
    record: Mapping[str, Any] = field(repr=False)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The values of all settings that can change the log, by dotted key."""
        settings: Mapping[str, Any] = self.record["settings"]
        return settings

    @property
    def overrides(self) -> Mapping[str, Any] | None:
        """The settings that differ from the defaults of the chosen task, method and llm.

        The value is None if an older log lacks these settings.
        """
        return self.record.get("overrides")

    def without_idle_caps(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``settings`` without the `CAPS`, or unchanged if one of the `CAPS` ended the run.

        So two runs compare as equal if they differ only in caps that had no effect.
        """
        is_capped = f"budget.{self.record.get('stopped_by')}" in CAPS
        return {key: value for key, value in settings.items() if is_capped or key not in CAPS}

    @property
    def versions(self) -> list[str]:
        """The version of EvoDiverse in each entry of ``versions`` in the record; see `record.MEANINGS`."""
        return [str(session.get("evodiverse")) for session in self.record.get("versions", [])]

    @property
    def started(self) -> str:
        """The time at which the run was started, as text that sorts by time."""
        return str(self.record.get("started"))

    @property
    def seconds(self) -> Mapping[str, float]:
        """The times of the run, as in its record; empty if they are unknown.

        They are unknown for a run that an older version started from a shorter run, since it did not know the time of
        the part that it took over.
        """
        first, *_ = self.record.get("versions") or [{}]
        is_known = "begun_from" not in self.record or "code" in first
        times: Mapping[str, float] = self.record.get("seconds", {}) if is_known else {}
        return times

    @property
    def task(self) -> str:
        """The name of the task."""
        return str(self.settings["task.name"])

    @property
    def domain(self) -> str:
        """The package of the task's domain."""
        return str(self.settings["task.domain"])

    @property
    def method(self) -> str:
        """The name of the method."""
        return str(self.settings["method.name"])

    @property
    def llm(self) -> str:
        """The name of the ``llm`` option that was chosen for the run, such as ``litellm``."""
        return str(self.settings["llm.name"])

    @property
    def seed(self) -> int:
        """The seed of all random draws."""
        return int(self.settings["seed"])

    def columns(
        self, dataset: str, names: Sequence[str], own: Mapping[str, type] = MappingProxyType({})
    ) -> dict[str, list[Any]]:
        """Return columns of a dataset over all its parts, in the order in which the rows were committed.

        Args:
            dataset: The name of the dataset.
            names: The columns to read. Every part must have them.
            own: Further columns to read, such as the domain's, each with its type, float or str. A column is None
                throughout each part that lacks it.

        Raises:
            InputError: The dataset has no part yet, or a part cannot be read; the message names it.
        """
        if not self._parts(dataset):
            raise InputError(f"{self.path / dataset} has no parts; run it again with overwrite=true")
        return self.columns_so_far(dataset, names, own)

    def columns_so_far(
        self, dataset: str, names: Sequence[str], own: Mapping[str, type] = MappingProxyType({})
    ) -> dict[str, list[Any]]:
        """Return the same as `columns`, but empty columns for a dataset that has no part (a Parquet file) yet.

        Raises:
            InputError: A part cannot be read; the message names it.
        """
        columns: dict[str, list[Any]] = {name: [] for name in (*names, *own)}
        for part in read_parts(dataset, list(columns), own, self._parts(dataset)):
            for name, values in part.items():
                columns[name] += values
        return columns

    def own_columns(self) -> dict[str, type]:
        """Return the type, float or str, of each column that the domain added to ``evaluations``.

        Columns of other types are left out. The result is empty if there is no part yet.

        Raises:
            InputError: The first part cannot be read; the message names it.
        """
        first = self._parts("evaluations")[:1]
        return find_own_columns(*first) if first else {}

    def _parts(self, dataset: str) -> list[Path]:
        if (self.path / dataset).is_symlink():
            raise InputError(f"{self.path / dataset} is a link; put the folder itself in its place")
        return sorted((self.path / dataset).glob("part-*.parquet"))


def find_records(folder: Path) -> list[Path]:
    """Return the paths of the ``run.json`` files in and below a folder, sorted.

    The search does not go below a run directory. Links are followed. Folders whose names begin with a dot are skipped,
    since a run that is being deleted is moved into such a folder.
    """
    found, seen = [], set()
    for path, folders, files in os.walk(folder, followlinks=True):
        place = os.path.realpath(path)
        if RECORD in files or RECORD in folders:  # a folder with this name is reported as an error later
            found.append(Path(path) / RECORD)
        if place in seen or RECORD in files:
            folders.clear()
        folders[:] = [name for name in folders if not name.startswith(".") and name != RECORD]
        seen.add(place)
    return sorted(found)


def read_record(path: Path) -> dict[str, Any]:
    """Return the content of a ``run.json``, which has at least a status and the settings that every record must have.

    Raises:
        InputError: The file is damaged, is not the record of a run, or is from a newer EvoDiverse. The message names
            it.
    """
    try:
        record = read_json(path, MOST_BYTES)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not the record of a run ({reason(error)}); move it away") from error
    check_record(path, record, [("status",), *SETTINGS])
    return record


@dataclass(frozen=True, slots=True)
class Survey:
    """All runs below a folder, in the order of their paths.

    Attributes:
        complete: The complete runs, without those in ``repeated`` and ``replayed``.
        unfinished: The runs that are running, were interrupted, failed, or wait for scores.
        repeated: The runs that are left out since a later one has the same settings, seed and data. The settings in
            `CAPS` are compared only for a run that one of these settings ended.
        replayed: The runs that are left out since they got the same replies of a language model as another run, from
            the reply cache, and so have the same log. The settings of the model may differ, such as ``llm.client``.
        damaged: One error for each ``run.json`` that is damaged or not the record of a run.
    """

    complete: tuple[Run, ...]
    unfinished: tuple[Run, ...]
    repeated: tuple[Run, ...]
    replayed: tuple[Run, ...]
    damaged: tuple[InputError, ...]


def survey_runs(*folders: Path) -> Survey:
    """Return all runs below some folders, each once, grouped by their state."""
    paths = {path.resolve(): path for folder in folders for path in find_records(folder)}
    runs: list[Run] = []
    damaged: list[InputError] = []
    for path in sorted(paths.values()):
        try:
            runs.append(Run(path.parent, read_record(path)))
        except InputError as error:
            damaged.append(error)
    kept, repeated, replayed = find_distinct(run for run in runs if run.record["status"] == "complete")
    unfinished = tuple(run for run in runs if run.record["status"] != "complete")
    return Survey(kept, unfinished, repeated, replayed, tuple(damaged))


def find_distinct(runs: Iterable[Run]) -> tuple[tuple[Run, ...], ...]:
    """Return the runs that are observations of their own, the repeated ones and the replayed ones (see `Survey`).

    Means and deviations can be taken over the first, which are in the order of their paths like the others.
    """
    latest: dict[str, Run] = {}
    alike: dict[str, list[Run]] = defaultdict(list)
    kept, repeated, replayed = list[Run](), list[Run](), list[Run]()
    for run in sorted(runs, key=lambda run: run.started, reverse=True):
        identity = json.dumps([run.without_idle_caps(run.settings), run.record.get("sources")], sort_keys=True)
        if latest.setdefault(identity, run) is not run:
            repeated.append(run)
    for run in latest.values():
        (kept if run.llm == "off" else alike[_identify_but_model(run)]).append(run)
    for some in alike.values():
        courses: list[Any] = []
        for run in sorted(some, key=lambda run: (run.settings.get("llm.client") == "replay", run.started)):
            course = None
            with suppress(InputError):  # reported by those who read the whole log
                course = run.columns("evaluations", ["iteration", "outcome", "key"]) if len(some) > 1 else None
            (replayed if course is not None and course in courses else kept).append(run)
            courses.append(course)
    return tuple(tuple(sorted(some, key=lambda run: run.path)) for some in (kept, repeated, replayed))


def _identify_but_model(run: Run) -> str:
    """Return a text that runs have in common if they differ only in their settings of the model."""
    settings = {k: value for k, value in run.without_idle_caps(run.settings).items() if not k.startswith("llm.")}
    sources = {role: sha256 for role, sha256 in run.record.get("sources", {}).items() if role != "model"}
    return json.dumps([settings, sources, run.record.get("totals")], sort_keys=True)


def read_docking(run: Run) -> dict[str, float | None] | None:
    """Return the docking scores of a run.

    Returns:
        For each molecule's key, its score in kcal/mol (lower is better), or None if the molecule could not be docked.
        If nothing was docked, or the docking target is not that of the run's task, the whole result is None.

    Raises:
        InputError: The dataset is damaged.
    """
    folder = run.path / DOCKING
    if not folder.is_dir():
        return None
    try:
        target = read_json(folder / DOCKING_RECORD, MOST_BYTES).get("target")
    except FileNotFoundError:  # a dataset that the user added
        target = run.task
    except (OSError, ValueError) as error:
        raise InputError(f"{folder / DOCKING_RECORD} is damaged ({error}); dock the run again") from error
    if target != run.task:
        return None
    rows = run.columns(DOCKING, ["key", "score"])
    return dict(zip(rows["key"], rows["score"], strict=True))


def write_setting(value: Any) -> str:
    """Return a value as it is written on the command line."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
