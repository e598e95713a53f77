"""What the molecule domain offers to the rest of EvoDiverse (see `evodiverse.ports.Domain`)."""

import hashlib
import importlib
import logging
from collections.abc import Callable
from pathlib import Path

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.initial import Library, read_published, read_smi
from evodiverse.tasks.molecules.operators import GraphGA
from evodiverse.tasks.molecules.oracle import ForestOracle
from evodiverse.tasks.molecules.settings import MoleculeSettings, Oracle, find_setting_violations
from evodiverse.tasks.molecules.task import MoleculeTask, OracleFunction

__all__ = ["build_operator", "build_task", "count_initial", "find_violations", "is_shared", "settings"]

settings = MoleculeSettings

_LOG = logging.getLogger("evodiverse.tasks.molecules")


def find_violations(settings: MoleculeSettings) -> list[str]:
    """Return what is wrong with the values of ``task.*`` and with the user's own files that they name."""
    violations = find_setting_violations(settings)
    checks: list[Callable[[], object]] = []
    if settings.initial.path is not None:
        checks.append(lambda: _read_user_library(settings))
    if settings.oracle.path is not None or settings.oracle._target_ is not None:
        checks.append(lambda: _build_user_oracle(settings.oracle))
    for check in checks:
        try:
            check()
        except InputError as error:
            violations += error.violations
    return violations


def count_initial(settings: MoleculeSettings) -> int:
    """Return how many molecules a pool starts from at most."""
    if settings.initial.path is None:
        return settings.initial.size
    try:
        return min(settings.initial.size, len(_read_user_library(settings).smiles))
    except InputError:  # `find_violations` says what is wrong with it
        return 0


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
    if settings.oracle._target_ is not None or settings.oracle.path is not None:
        return _build_user_oracle(settings.oracle)
    name = str(settings.oracle.published)
    forest = ForestOracle.published(name, artefact(name))
    forest.check_pinned()
    return forest, forest.sha256


def _build_user_oracle(oracle: Oracle) -> tuple[OracleFunction, str]:
    if oracle._target_ is not None:
        return _locate(oracle._target_)
    forest = ForestOracle.from_file(str(oracle.path))
    return forest, forest.sha256


def _read_library(settings: MoleculeSettings, artefact: Callable[[str], Path]) -> tuple[Library, str]:
    if settings.initial.path is None:
        path = artefact("zinc250k")
        return read_published(path), _sha256(path)
    library = _read_user_library(settings)
    if library.n_skipped:
        _LOG.warning("%s: passed over %d malformed lines", settings.initial.path, library.n_skipped)
    return library, _sha256(Path(settings.initial.path).expanduser())


def _read_user_library(settings: MoleculeSettings) -> Library:
    initial = settings.initial
    return read_smi(Path(str(initial.path)), settings.max_heavy_atoms, skip_invalid=initial.skip_invalid)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _locate(target: str) -> tuple[OracleFunction, str]:
    """Return the callable with this dotted name, and the SHA-256 of its module's file (its name, if it has none).

    A class is called without arguments to give the callable.
    """
    module_name, _, name = target.rpartition(".")
    try:
        module = importlib.import_module(module_name)
        found = getattr(module, name)
        oracle: OracleFunction = found() if isinstance(found, type) else found
    except (Exception, SystemExit) as error:
        raise InputError(
            f"task.oracle._target_={target} cannot be used ({type(error).__name__}: {error}); name a function, or a "
            "class without arguments, as module.name, its module in the current folder or installed"
        ) from error
    if not callable(oracle):
        raise InputError(f"task.oracle._target_={target} is no function and no class whose objects can be called")
    source = Path(getattr(module, "__file__", None) or "")
    return oracle, _sha256(source) if source.is_file() else target
