"""A run of a smaller budget as the beginning of a larger one."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from evodiverse.errors import EvoDiverseError, InputError
from evodiverse.ports import Task
from evodiverse.runlog.record import RECORD
from evodiverse.runlog.standing import read_standing
from evodiverse.runner.rewind import find_uncut, rewind
from evodiverse.runner.rows import EVALUATION_COLUMNS, journal_record
from evodiverse.search.settings import Method, Search
from evodiverse.store.opening import Identity
from evodiverse.store.provenance import package_versions
from evodiverse.store.record import read_record
from evodiverse.store.run_directory import RunDirectory
from evodiverse.vocabulary import Evaluation, Hypothesis

_LOG = logging.getLogger("evodiverse.settings")
_BUDGET: Final = "budget.oracle_calls"
_OVER: Final = ("complete", "interrupted", "failed", "killed")
_ROWS: Final = {
    "populations": ("iteration", "pool", "members"),
    "adaptation": ("iteration", "rate"),
    "llm_calls": ("iteration", "pool", "prompt_tokens", "completion_tokens", "cost_usd"),
}


class Beginning(NamedTuple):
    """A run that begins as another one does.

    Attributes:
        path: Its directory.
        budget: Its oracle calls.
    """

    path: Path
    budget: int


def begin_from_shorter(
    this: Identity,
    shelf: Path,
    directory: RunDirectory,
    libraries: Sequence[str],
    task: Task,
    method: Method,
    search: Search,
) -> Mapping[str, Any]:
    """Fill the directory of a new run with what one of a smaller budget has done already, and return a note of it.

    The log is that of a run from scratch: it takes over the iterations that the smaller budget did not cut, and what
    was evaluated after them is kept aside, so that nothing is evaluated twice.

    Args:
        this: The new run.
        shelf: The folder of its task, method and model.
        directory: Its directory, in which nothing is committed.
        libraries: The packages whose versions may change the results.
        task: Of the run.
        method: Of the run.
        search: Of the run.

    Returns:
        What its ``run.json`` says of it: nothing where there is no such run.
    """
    versions = package_versions(libraries)
    for beginning in _find_beginnings(this, shelf, versions):
        source = RunDirectory(beginning.path, directory.columns, is_read_only=True)
        try:
            n_taken, n_aside = _take_over(beginning, source, directory, task, method, search)
        except EvoDiverseError as error:
            _LOG.warning("%s cannot be the beginning of this run (%s)", beginning.path, error)
            continue
        aside = f", and {n_aside:,} evaluations more" if n_aside else ""
        _LOG.info("begins with the first %s calls of %s%s", f"{n_taken:,}", beginning.path, aside)
        return {"begun_from": {"path": str(beginning.path), "oracle_calls": n_taken}}
    return {}


def _find_beginnings(this: Identity, shelf: Path, versions: Mapping[str, str]) -> list[Beginning]:
    """Return runs that differ in nothing but a smaller budget, the largest first."""
    found = []
    sources = {role: source.sha256 for role, source in this.sources.items()}
    for path in shelf.glob(f"*/seed{this.settings['seed']}/{RECORD}"):
        try:
            record = read_record(path.parent)
        except InputError:
            continue
        if record is None:
            continue
        settings = record["settings"]
        keys = (settings.keys() | this.settings.keys()) - {_BUDGET}  # one that there was not is as one that is null
        is_same = all(settings.get(key) == this.settings.get(key) for key in keys)
        is_made_alike = all(versions.items() <= session.items() for session in record["versions"])
        is_shorter = record["sources"] == sources and settings[_BUDGET] < this.settings[_BUDGET]
        if is_same and is_made_alike and is_shorter and read_standing(path.parent).state in _OVER:
            found.append(Beginning(path.parent, settings[_BUDGET]))
    return sorted(found, key=lambda beginning: -beginning.budget)


def _take_over(
    beginning: Beginning, source: RunDirectory, directory: RunDirectory, task: Task, method: Method, search: Search
) -> tuple[int, int]:
    """Take over what another run did, and return how many calls that are, and how many evaluations are kept aside."""
    saved = source.checkpoint()
    if saved is None:
        raise InputError("nothing is committed there")
    details = list(task.columns)
    rows = source.rows("evaluations", [*EVALUATION_COLUMNS, "seconds", *details])
    last = int(saved["iteration"])
    uncut = find_uncut(rows, last, method.offspring * method.n_pools, beginning.budget)
    kept = [row for row in rows if row["iteration"] <= uncut]
    others = {
        name: [row for row in source.rows(name, columns) if row["iteration"] <= uncut]
        for name, columns in _ROWS.items()
    }
    again = rewind(uncut, kept, **others, method=method, search=search)
    aside = [row for row in rows if row["call"] is not None and (again is None or row["iteration"] > uncut)]
    directory.journal.append([_as_record(row, details) for row in aside])
    if again is None:
        return 0, len(aside)
    directory.take_over(source, uncut, again)
    return sum(row["call"] is not None for row in kept), len(aside)


def _as_record(row: Mapping[str, Any], details: Sequence[str]) -> Mapping[str, object]:
    found = {name: row[name] for name in details if row[name] is not None}
    evaluation = Evaluation(row["score"], row["energy"], valid=row["valid"], error=row["error"] or "", details=found)
    return journal_record(Hypothesis(row["genotype"], row["key"]), evaluation, row["seconds"] or 0.0)
