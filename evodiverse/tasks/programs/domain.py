"""The program domain's implementation of `evodiverse.ports.Domain`."""

import hashlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from evodiverse.errors import InputError
from evodiverse.kit.inputs import expanded
from evodiverse.ports import Metrics, Sandbox
from evodiverse.tasks.programs import prompts
from evodiverse.tasks.programs.builtins import BUILTINS, find_builtin, find_folder, load_start
from evodiverse.tasks.programs.evaluator import Evaluator
from evodiverse.tasks.programs.initial import read_programs
from evodiverse.tasks.programs.metrics import choose_metrics
from evodiverse.tasks.programs.operators.moves import BLOCKS, MOVES, read_moves
from evodiverse.tasks.programs.operators.operator import MAX_CHARACTERS, ProgramOperator
from evodiverse.tasks.programs.operators.reseeding import Reseeder
from evodiverse.tasks.programs.settings import RESEED, ProgramSettings, initial_paths
from evodiverse.tasks.programs.task import ProgramTask
from evodiverse.tasks.programs.user_evaluator import UserEvaluator
from evodiverse.vocabulary import Limits

__all__ = [
    "build_metrics",
    "build_operator",
    "build_prompts",
    "build_task",
    "choose_problems",
    "count_initial",
    "find_violations",
    "is_shared",
    "libraries",
    "settings",
    "sources",
]

settings = ProgramSettings
libraries = ("scipy",)


def find_violations(settings: ProgramSettings) -> list[str]:
    """Return what is wrong with ``task.*`` and with the user files named there; one message per fault.

    The initial programs are checked only if the settings are valid, and the prompt templates only if these programs are
    valid too.
    """
    violations = _find_setting_violations(settings)
    checks: list[Callable[[], object]] = []
    if not violations:
        checks = [lambda: _read_initial(settings), lambda: build_prompts(settings), lambda: build_operator(settings)]
    elif settings.evaluator and settings.evaluator not in BUILTINS:
        checks = [lambda: _build_evaluator(settings)]
    for check in checks:
        try:
            check()
        except InputError as error:
            violations += [violation for violation in error.violations if violation not in violations]
    return violations


def count_initial(settings: ProgramSettings) -> int:
    """Return how many programs a search starts from."""
    return max(1, len(initial_paths(settings)))


def is_shared(settings: ProgramSettings) -> bool:  # noqa: ARG001
    """Return True: all pools start from the same programs."""
    return True


def sources(settings: ProgramSettings, artifact_sha256: Callable[[str], str]) -> dict[str, str | Path]:  # noqa: ARG001
    """Return the data that the results depend on, by role. A run is resumed only with the same data.

    The role ``initial`` has the SHA-256 of the initial programs. For a user's evaluator, the role ``evaluator`` has
    the path of the file, and ``moves`` and ``blocks`` have those of the files with its moves, if there are any. For a
    built-in task, each user file that the task reads has a role of its own, such as ``instances`` for
    bin packing. ``artifact_sha256`` is not used, because program tasks read no published files.
    """
    initial = hashlib.sha256("\0".join(_read_initial(settings)).encode()).hexdigest()
    builtin = find_builtin(settings.evaluator)
    if builtin is not None:
        return {"initial": initial, **(builtin.find_sources(settings) if hasattr(builtin, "find_sources") else {})}
    folder = find_folder(settings.evaluator)
    files = {"moves": folder / MOVES, "blocks": folder / BLOCKS} if (folder / MOVES).is_file() else {}
    own = {role: file for role, file in files.items() if file.is_file()}
    return {"initial": initial, "evaluator": _evaluator_path(settings), **own}


def build_task(
    settings: ProgramSettings,
    artifact: Callable[[str], Path],  # noqa: ARG001 (nothing is fetched)
    sandbox: Callable[[], Sandbox],
) -> ProgramTask:
    """Read the task's files and return the task, with a new sandbox to run programs in; ``artifact`` is not used."""
    return ProgramTask(_build_evaluator(settings), sandbox(), _read_initial(settings), settings.max_characters)


def build_operator(settings: ProgramSettings) -> ProgramOperator | Reseeder:
    """Return the operator that ``task.operator`` selects, by default `ProgramOperator` with the task's own moves.

    Moves are mutations that make sense only for this task; see `read_moves`.
    """
    if settings.operator == RESEED:
        return Reseeder()
    moves = read_moves(find_folder(settings.evaluator))
    longest = min(MAX_CHARACTERS, settings.max_characters)
    return ProgramOperator(_build_evaluator(settings).entry_point, moves, longest)


def build_metrics(settings: Mapping[str, Any]) -> Metrics:
    """Return the object that measures runs; see `choose_metrics`."""
    return choose_metrics(str(settings.get("task.evaluator")))


def choose_problems(groups: Collection[str | None]) -> list[str]:  # noqa: ARG001
    """Return an empty list, because program tasks have no problems to choose from.

    ``groups`` is not used (see `Measured.choose_problems`).
    """
    return []


def build_prompts(settings: ProgramSettings) -> prompts.ProgramPrompts:
    """Return the prompts for a language model."""
    evaluator = _build_evaluator(settings)
    return prompts.build(
        settings.prompts.dir,
        description=evaluator.description,
        entry_point=evaluator.entry_point,
        mode=settings.prompts.mode,
        hot=settings.prompts.hot,
        max_characters=settings.max_characters,
        example=_read_initial(settings)[0],
    )


def _build_evaluator(settings: ProgramSettings) -> Evaluator:
    limits = Limits(settings.timeout, settings.memory)
    builtin = find_builtin(settings.evaluator)
    if builtin is None:
        return UserEvaluator(_evaluator_path(settings), limits, settings.score_timeout)
    evaluator: Evaluator = builtin.build_evaluator(settings, limits)
    return evaluator


def _evaluator_path(settings: ProgramSettings) -> Path:
    return expanded(settings.evaluator).absolute()


def _read_initial(settings: ProgramSettings) -> list[str]:
    paths = initial_paths(settings)
    if not paths:
        return [load_start(settings)]
    return read_programs(paths, _build_evaluator(settings).entry_point, settings.max_characters)


def _find_setting_violations(settings: ProgramSettings) -> list[str]:
    builtin = find_builtin(settings.evaluator)
    violations = [] if builtin is None else list(builtin.find_violations(settings))
    if not settings.evaluator:
        violations.append("task.evaluator has no value; name your own evaluator.py")
    if not (builtin is not None and settings.initial.path is None) and not initial_paths(settings):
        violations.append("task.initial.path has no value; name the program that the search starts from")
    return violations
