"""The program domain's implementation of `evodiverse.ports.Domain`."""

import hashlib
import sys
from collections.abc import Callable, Collection
from importlib import import_module
from pathlib import Path

from evodiverse.errors import InputError
from evodiverse.kit.inputs import expanded
from evodiverse.ports import Sandbox
from evodiverse.tasks.programs.evaluator import Evaluator
from evodiverse.tasks.programs.initial import read_programs
from evodiverse.tasks.programs.metrics import choose_metrics
from evodiverse.tasks.programs.openevolve import OpenEvolveEvaluator, has_interface
from evodiverse.tasks.programs.operators.moves import read_moves
from evodiverse.tasks.programs.operators.operator import MAX_CHARACTERS, ProgramOperator
from evodiverse.tasks.programs.operators.reseeding import Reseeder
from evodiverse.tasks.programs.prompts import ProgramPrompts
from evodiverse.tasks.programs.settings import BUILTINS, RESEED, ProgramSettings, find_folder, initial_paths
from evodiverse.tasks.programs.task import ProgramTask
from evodiverse.tasks.programs.user_evaluator import UserEvaluator

settings = ProgramSettings
libraries = ("scipy",)


def find_violations(settings: ProgramSettings) -> list[str]:
    """Return what is wrong with ``task.*`` and with the user files named there; one message per fault.

    The initial programs are checked only if the settings are valid, and the prompt templates only if these programs are
    valid too.
    """
    task = _find_task(settings)
    violations = list(task.find_violations(settings))
    if settings.trust and task is not OpenEvolveEvaluator:
        violations.append("task.trust=true: only evaluators with OpenEvolve's interface run outside of the sandbox")
    checks: list[Callable[[ProgramSettings], object]] = [] if violations else [task]
    if not initial_paths(settings) and (settings.initial.path is not None or settings.initial.run is None):
        violations.append("task.initial.path has no value; name the program that the search starts from")
    elif not violations:
        checks += [_read_initial, build_prompts, build_operator]
    for check in checks:
        try:
            check(settings)
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

    The role ``initial`` has the SHA-256 of the initial programs; the other roles are those of `Evaluator.find_sources`.
    ``artifact_sha256`` is not used, because program tasks read no published files.
    """
    initial = hashlib.sha256("\0".join(_read_initial(settings)).encode()).hexdigest()
    return {"initial": initial, **_find_task(settings).find_sources(settings)}


def build_task(
    settings: ProgramSettings,
    artifact: Callable[[str], Path],  # noqa: ARG001 (nothing is fetched)
    sandbox: Callable[..., Sandbox],
) -> ProgramTask:
    """Read the task's files and return the task, with a new sandbox to run programs in; ``artifact`` is not used."""
    evaluator = _find_task(settings)(settings)
    runner = sandbox(*evaluator.libraries, **({"confines": False} if settings.trust else {}))
    return ProgramTask(evaluator, runner, _read_initial(settings), settings.max_characters)


def build_operator(settings: ProgramSettings) -> ProgramOperator | Reseeder:
    """Return the operator that ``task.operator`` selects, by default `ProgramOperator` with the task's own moves.

    Moves are mutations that make sense only for this task; see `read_moves`.
    """
    if settings.operator == RESEED:
        return Reseeder()
    moves = read_moves(find_folder(settings.evaluator))
    longest = min(MAX_CHARACTERS, settings.max_characters)
    return ProgramOperator(_find_task(settings)(settings).entry_point, moves, longest)


build_metrics = choose_metrics


def choose_problems(groups: Collection[str | None]) -> list[str]:  # noqa: ARG001
    """Return an empty list, because program tasks have no problems to choose from.

    ``groups`` is not used (see `Measured.choose_problems`).
    """
    return []


def build_prompts(settings: ProgramSettings) -> ProgramPrompts:
    """Return the prompts for a language model."""
    task = _find_task(settings)(settings)
    example = "".join(_read_initial(settings)[:1])
    return ProgramPrompts(settings, task.description, task.entry_point, example, task.metrics)


def _find_task(settings: ProgramSettings) -> type[Evaluator]:
    """Return the class of the evaluator: that of a task that comes with EvoDiverse, or that of the user's file."""
    if settings.evaluator not in BUILTINS:
        is_foreign = has_interface(expanded(settings.evaluator))
        return OpenEvolveEvaluator if is_foreign else UserEvaluator
    import_module(f"{__package__}.{settings.evaluator}.evaluator")
    return Evaluator.built_in[settings.evaluator]


def _read_initial(settings: ProgramSettings) -> list[str]:
    paths = initial_paths(settings)
    entry_point = _find_task(settings)(settings).entry_point if paths else ""
    is_own = settings.initial.path is None and settings.evaluator in BUILTINS
    longest = sys.maxsize if is_own else settings.max_characters  # the user cannot shorten the task's own start
    return read_programs(paths, entry_point, longest, settings.n)
