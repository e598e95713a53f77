"""The molecule domain as the rest of EvoDiverse sees it (see `evodiverse.ports.Domain`)."""

import logging
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from evodiverse.errors import InputError
from evodiverse.kit.inputs import expanded
from evodiverse.ports import Metrics, Sandbox
from evodiverse.tasks.molecules import choosing, prompts
from evodiverse.tasks.molecules.decorating import ScaffoldLibrary
from evodiverse.tasks.molecules.filters.filters import admit_known, build_filters
from evodiverse.tasks.molecules.filters.settings import read_filters
from evodiverse.tasks.molecules.initial import AnyLibrary, Library, open_library, read_published
from evodiverse.tasks.molecules.objective.components import Smarts
from evodiverse.tasks.molecules.objective.objective import Objective, read_objective
from evodiverse.tasks.molecules.operators import GraphGA
from evodiverse.tasks.molecules.oracle import TargetOracle, find_oracle_source, find_oracle_violations, open_oracle
from evodiverse.tasks.molecules.parsing import Reader, find_smarts_violations
from evodiverse.tasks.molecules.scaffold import read_scaffold
from evodiverse.tasks.molecules.settings import SKIP, MoleculeSettings
from evodiverse.tasks.molecules.task import MoleculeTask, OwnScoreTask

settings = MoleculeSettings
libraries = ("rdkit",)

_LOG = logging.getLogger("evodiverse.tasks.molecules")


def find_violations(settings: MoleculeSettings) -> list[str]:
    """Return what is wrong with the values of ``task.*`` and with the user's files that they name."""
    violations = [*_find_score_violations(settings), *choosing.find_violations(settings.initial)]
    violations += _find_highlight_violations([] if settings.highlight is None else settings.highlight)
    checks: list[Callable[[], object]] = [
        lambda: settings.objective and read_objective(settings.objective),
        lambda: build_filters(settings.filters),
        lambda: read_scaffold(settings.scaffold, settings.max_heavy_atoms),
        lambda: prompts.read_templates(settings.prompts.dir),
        lambda: settings.initial.path is None or _open_user_library(settings),
    ]
    for check in checks:
        try:
            check()
        except InputError as error:
            violations += error.violations
    return violations


def count_initial(settings: MoleculeSettings) -> int:
    """Return the maximum number of molecules that a pool starts from.

    A pool may start from fewer if filters reject many, or if a large file holds few valid molecules.

    Raises:
        InputError: The user's file cannot be used.
    """
    if settings.initial.path is None or settings.scaffold is not None:
        return settings.initial.size
    return min(settings.initial.size, len(_open_user_library(settings)))


def count_charged(settings: MoleculeSettings, n_draws: int) -> int:
    """Return the largest number of oracle calls that so many draws of initial molecules can cost.

    If the user's file cannot be used, which `find_violations` reports, the number is 0.
    """
    if settings.initial.path is None or settings.scaffold is not None:
        return settings.initial.size * n_draws
    try:
        return min(settings.initial.size * n_draws, _open_user_library(settings).n_new)
    except InputError:  # reported by `find_violations`
        return 0


def is_shared(settings: MoleculeSettings) -> bool:
    """Return whether all pools start from the same molecules."""
    return settings.initial.shared


def build_operator(settings: MoleculeSettings) -> GraphGA:
    """Return Graph GA, the operator that makes offspring without a language model."""
    return GraphGA(settings.mutation_rate, read_scaffold(settings.scaffold, settings.max_heavy_atoms))


def build_metrics(settings: Mapping[str, Any]) -> Metrics:  # noqa: ARG001 (all runs have the same metrics)
    """Return the metrics of molecule runs."""
    from evodiverse.tasks.molecules.metrics import MoleculeMetrics  # here so that a run does not load it

    return MoleculeMetrics()


def choose_problems(groups: Collection[str | None]) -> list[str]:  # noqa: ARG001
    """Return an empty list, since a molecule task has no list of problems to choose from.

    ``groups`` is not used (see `Measured.choose_problems`).
    """
    return []


def build_prompts(settings: MoleculeSettings) -> prompts.MoleculePrompts:
    """Return the prompts for a language model.

    Raises:
        InputError: The user's templates cannot be used, or ``task.prompts.target`` or ``.meaning`` is required but not
            set. Both are required for a user's own oracle, unless ``task.prompts.name_target`` is false.
    """
    return prompts.build(settings)


def sources(settings: MoleculeSettings, artifact_sha256: Callable[[str], str]) -> dict[str, str | Path]:
    """Return the data that a run depends on, by role: the oracle or components, the library and the known molecules.

    A user's file is given by its path, and a published file by its SHA-256. For a user's function, see
    `find_oracle_source`. A run is resumed only with the same data.
    """
    found: dict[str, str | Path | None]
    if settings.objective:
        _, parts = read_objective(settings.objective)
        found = {f"objective.{part.name}": part.component.find_source(artifact_sha256) for part in parts}
    else:
        found = {"oracle": find_oracle_source(settings.oracle, artifact_sha256)}
    path, filters = settings.initial.path, read_filters(settings.filters)
    found["initial"] = artifact_sha256("zinc250k") if path is None else expanded(path)
    if filters is not None and filters.novel is not None:
        found["filters.novel"] = expanded(filters.novel)
    return {role: source for role, source in found.items() if source is not None}


def build_task(
    settings: MoleculeSettings,
    artifact: Callable[[str], Path],
    sandbox: Callable[[], Sandbox],  # noqa: ARG001 (nothing untrusted runs here)
) -> MoleculeTask:
    """Check the oracle, open the library, and return the task.

    Args:
        settings: The settings ``task.*``, in which `find_violations` has found nothing wrong.
        artifact: A function that returns the path of a published file, given its name.
        sandbox: Not used, since a molecule task runs no untrusted programs.
    """
    oracle = (
        Objective.build(settings.objective, artifact) if settings.objective else open_oracle(settings.oracle, artifact)
    )
    choose, highlight = choosing.build(settings.initial, artifact), _choose_highlight(settings)
    filters = build_filters(settings.filters, read_scaffold(settings.scaffold, settings.max_heavy_atoms))
    library = _open_library(settings, artifact)
    origin: AnyLibrary | ScaffoldLibrary = library
    if filters is not None and filters.scaffold is not None:
        origin = ScaffoldLibrary(library, filters.scaffold, admit_known(filters), settings.max_heavy_atoms)
    size, has_scores = settings.initial.size, settings.initial.measured is not None
    arguments = (oracle, origin, size, settings.max_heavy_atoms, choose, highlight, filters, has_scores)
    functions = oracle.measures if isinstance(oracle, Objective) else (oracle,)
    own = [function for function in functions if isinstance(function, TargetOracle)]
    if settings.score_timeout is None or not own or any(each.target.startswith("__main__.") for each in own):
        return MoleculeTask(*arguments)  # other processes cannot import from __main__
    return OwnScoreTask(own, settings.score_timeout, *arguments)


def _choose_highlight(settings: MoleculeSettings) -> list[str]:
    """Return the SMARTS that pictures mark: the user's, or else the substructures that the objective rewards."""
    if settings.highlight is not None:
        return [settings.highlight] if isinstance(settings.highlight, str) else list(settings.highlight)
    _, parts = read_objective(settings.objective) if settings.objective else ("", ())
    components = [part.component for part in parts]
    return [component.smarts for component in components if isinstance(component, Smarts) and component.present]


def _find_highlight_violations(highlight: object) -> list[str]:
    """Return what is wrong with ``task.highlight``."""
    patterns = [highlight] if isinstance(highlight, str) else highlight
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
        return [f"task.highlight must be a SMARTS or a list of SMARTS, got {highlight}"]
    return [each for pattern in patterns for each in find_smarts_violations(pattern, "task.highlight")]


def _find_score_violations(settings: MoleculeSettings) -> list[str]:
    """Return what is wrong with ``task.objective``, or with ``task.oracle`` if there is no objective."""
    if not settings.objective:
        return find_oracle_violations(settings.oracle)
    violations = []
    if settings.oracle.is_own or settings.oracle.published is not None:
        violations.append(
            "task.oracle and task.objective are both set; make the oracle a component of the objective (kind: oracle) "
            "and set task.oracle.published=null"
        )
    if settings.oracle.on_error != SKIP:
        violations.append(
            f"task.oracle.on_error={settings.oracle.on_error} has no effect with task.objective; set on_error of the "
            "component"
        )
    return violations


def _open_library(settings: MoleculeSettings, artifact: Callable[[str], Path]) -> AnyLibrary:
    if settings.initial.path is None:
        return read_published(artifact("zinc250k"))
    library = _open_user_library(settings)
    if isinstance(library, Library) and library.notice:
        _LOG.warning("%s", library.notice)
    return library


def _open_user_library(settings: MoleculeSettings) -> AnyLibrary:
    initial, reader = settings.initial, Reader(settings.max_heavy_atoms)
    return open_library(
        str(initial.path), initial.column, reader, skip_invalid=initial.skip_invalid, measured=initial.measured
    )
