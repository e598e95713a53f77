"""What the molecule domain offers to the rest of EvoDiverse (see `evodiverse.ports.Domain`)."""

import hashlib
import importlib
import logging
from collections.abc import Callable
from pathlib import Path

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.initial import Library, count_lines, read_published, read_smi
from evodiverse.tasks.molecules.operators import GraphGA
from evodiverse.tasks.molecules.oracle import ForestOracle
from evodiverse.tasks.molecules.settings import MoleculeSettings, find_violations
from evodiverse.tasks.molecules.task import MoleculeTask, OracleFunction

__all__ = ["build_operator", "build_task", "count_initial", "find_violations", "is_shared", "settings"]

settings = MoleculeSettings

_LOG = logging.getLogger("evodiverse.tasks.molecules")


def count_initial(settings: MoleculeSettings) -> int:
    """Return how many molecules a pool starts from at most."""
    path = settings.initial.path
    return settings.initial.size if path is None else min(settings.initial.size, count_lines(Path(path)))


def is_shared(settings: MoleculeSettings) -> bool:
    """Return whether all pools start from the same molecules."""
    return settings.initial.shared


def build_operator(settings: MoleculeSettings) -> GraphGA:
    """Return the Graph GA."""
    return GraphGA(settings.mutation_rate)


def build_task(settings: MoleculeSettings, artefact: Callable[[str], Path]) -> MoleculeTask:
    """Return the task, with its oracle checked and its library read."""
    oracle, oracle_source = _build_oracle(settings, artefact)
    library, library_source = _read_library(settings, artefact)
    sources = {"oracle": oracle_source, "initial": library_source}
    return MoleculeTask(oracle, library, settings.initial.size, settings.max_heavy_atoms, sources)


def _build_oracle(settings: MoleculeSettings, artefact: Callable[[str], Path]) -> tuple[OracleFunction, str]:
    if settings.oracle._target_ is not None:
        return _locate(settings.oracle._target_), settings.oracle._target_
    if settings.oracle.path is not None:
        forest = ForestOracle.from_file(settings.oracle.path)
    else:
        name = str(settings.oracle.published)
        forest = ForestOracle.published(name, artefact(name))
    forest.check_pinned()
    return forest, forest.sha256


def _read_library(settings: MoleculeSettings, artefact: Callable[[str], Path]) -> tuple[Library, str]:
    initial = settings.initial
    if initial.path is None:
        path = artefact("zinc250k")
        library = read_published(path)
    else:
        path = Path(initial.path)
        library = read_smi(path, settings.max_heavy_atoms, skip_invalid=initial.skip_invalid)
    if library.n_skipped:
        _LOG.warning("%s: passed over %d malformed lines", path, library.n_skipped)
    return library, hashlib.sha256(path.read_bytes()).hexdigest()


def _locate(target: str) -> OracleFunction:
    """Return the callable with this dotted name; a class is called without arguments to give one."""
    module_name, _, name = target.rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"task.oracle._target_={target} cannot be imported ({error}); name a function as module.function, "
            "its module in the current folder or installed"
        ) from error
    oracle = found() if isinstance(found, type) else found
    if not callable(oracle):
        raise InputError(f"task.oracle._target_={target} is no function and no class whose objects can be called")
    return oracle  # type: ignore[no-any-return]
