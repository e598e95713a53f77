"""Complete runs, read from their logs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from evodiverse.errors import InputError


@dataclass(frozen=True, slots=True)
class Run:
    """One complete run: its folder, and the flat settings from its ``run.json``."""

    path: Path
    settings: dict[str, Any]

    @property
    def task(self) -> str:
        """Name of the task."""
        return str(self.settings["task.name"])

    @property
    def domain(self) -> str:
        """Package of the task's domain."""
        return str(self.settings["task.domain"])

    @property
    def method(self) -> str:
        """Name of the method."""
        return str(self.settings["method.name"])

    @property
    def llm(self) -> str:
        """Name of the language model option."""
        return str(self.settings["llm.name"])

    @property
    def seed(self) -> int:
        """Seed of every random draw."""
        return int(self.settings["seed"])

    def columns(self, dataset: str, names: Sequence[str]) -> dict[str, list[Any]]:
        """Return columns of a dataset in the order committed, those of all its parts.

        Raises:
            InputError: The dataset cannot be read.
        """
        parts = sorted(map(str, (self.path / dataset).glob("part-*.parquet")))
        if not parts:
            raise InputError(f"{self.path / dataset} holds no part; run it again with overwrite=true")
        try:
            table = ds.dataset(parts, format="parquet").to_table(columns=list(names))
        except (OSError, ValueError) as error:
            raise InputError(
                f"{self.path / dataset} cannot be read ({error}); run it again with overwrite=true"
            ) from error
        return dict(table.to_pydict())

    def candidates(self) -> dict[int, tuple[str, float]]:
        """Return the key and the score of every charged call that has a score."""
        rows = self.columns("evaluations", ["call", "key", "score"])
        charged = zip(rows["call"], rows["key"], rows["score"], strict=True)
        return {call: (key, score) for call, key, score in charged if call is not None and score is not None}


def find_runs(outputs: Path) -> Iterator[Run]:
    """Yield all complete runs below a folder, in the order of their paths.

    Raises:
        InputError: A ``run.json`` is not that of a run; names it.
    """
    for record_path in sorted(outputs.rglob("run.json")):
        try:
            record = json.loads(record_path.read_text(encoding="utf-8"))
            absent = {"task.name", "task.domain", "method.name", "llm.name", "seed"} - set(record["settings"])
            is_complete = record["status"] == "complete"
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{record_path} is no record of a run ({error!r}); move it away") from error
        if absent:
            raise InputError(f"{record_path} is no record of a run (no {', '.join(sorted(absent))}); move it away")
        if is_complete:
            yield Run(record_path.parent, record["settings"])
