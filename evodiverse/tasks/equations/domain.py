"""The interface of the equation domain to the rest of EvoDiverse (see `evodiverse.ports.Domain`)."""

from collections.abc import Callable, Collection
from pathlib import Path

from evodiverse.errors import InputError
from evodiverse.kit.documented import find_beyond
from evodiverse.ports import Sandbox
from evodiverse.tasks.equations import prompts
from evodiverse.tasks.equations.data import find_sources, hold_back, read_dataset, warn_of_rows
from evodiverse.tasks.equations.in_sandbox import fitting
from evodiverse.tasks.equations.initial import initial_skeletons, read_equations
from evodiverse.tasks.equations.metrics import OF_PROBLEM, EquationMetrics
from evodiverse.tasks.equations.operators.operator import EquationOperator
from evodiverse.tasks.equations.problems import PROBLEMS
from evodiverse.tasks.equations.requirements import Requirements, describe, has_requirements
from evodiverse.tasks.equations.settings import BUILTIN, CSV, EquationSettings, find_setting_violations
from evodiverse.tasks.equations.task import EquationTask

settings = EquationSettings
libraries = ("scipy", "sympy")


def find_violations(settings: EquationSettings) -> list[str]:
    """Return what is wrong with the values of ``task.*`` and with the user's own files that these values name."""
    if violations := find_setting_violations(settings):
        return violations
    try:
        build_prompts(settings)
        _initial(settings)
        if has_requirements(settings):
            Requirements(read_dataset(settings), settings)
    except InputError as error:
        return list(error.violations)
    return []


def count_initial(settings: EquationSettings) -> int:
    """Return the number of skeletons (equations with free parameters) that a search starts from.

    If the settings name a file of equations, and the file or a setting is invalid, the number is 0.
    """
    if settings.initial.path is None:
        return len(initial_skeletons(["x"]))
    is_wrong = any(find_beyond(settings, "task.")) or find_violations(settings)
    return 0 if is_wrong else len(_initial(settings))


def _initial(settings: EquationSettings) -> list[str]:
    names, path = read_dataset(settings).names, settings.initial.path
    permitted = settings.permitted
    return initial_skeletons(names, permitted) if path is None else read_equations(path, names, permitted)


def is_shared(settings: EquationSettings) -> bool:  # noqa: ARG001
    """Return True, since all pools start from the same skeletons, which are equations with free parameters."""
    return True


def sources(settings: EquationSettings, artifact_sha256: Callable[[str], str]) -> dict[str, str | Path]:  # noqa: ARG001
    """Return paths or hashes of the data that the results depend on.

    Each key is the role of the data, such as ``initial``. The value is the path of a user's file, or the SHA-256 of any
    other data. ``artifact_sha256`` is unused, since no published file is needed.
    """
    return find_sources(settings)


def name_problem(settings: EquationSettings) -> tuple[str, tuple[str, ...]] | None:
    """Return the name of a problem with a user's own data, and the prefixes of the keys that it stands for."""
    return (settings.name, OF_PROBLEM) if settings.source == CSV else None


def build_task(
    settings: EquationSettings,
    artifact: Callable[[str], Path],  # noqa: ARG001 (nothing is fetched)
    sandbox: Callable[..., Sandbox],
) -> EquationTask:
    """Return the task with its data loaded.

    Args:
        settings: The settings under ``task``.
        artifact: Unused, since no published file is needed.
        sandbox: A function that opens a sandbox, given the names of the modules that the sandbox loads.
    """
    opened = sandbox(fitting.__name__)
    dataset = read_dataset(settings)
    warn_of_rows(dataset.splits.train, settings.held_back, dataset.notes)
    return EquationTask(dataset, opened, settings, _initial(settings))


def build_operator(settings: EquationSettings) -> EquationOperator:
    """Return the classical operator, which needs no language model."""
    dataset = read_dataset(settings)
    fitted, _ = hold_back(dataset.splits.train, settings.held_back)
    return EquationOperator(dataset.names, dataset.positive, fitted, settings.permitted)


build_metrics = EquationMetrics


def choose_problems(groups: Collection[str | None]) -> list[str]:
    """Return the command-line override that selects the built-in problems of some sciences.

    If a table or figure lacks runs, EvoDiverse prints the command that starts them, with this override in it.

    Args:
        groups: The sciences; None among them stands for all.
    """
    names = [name for name, problem in PROBLEMS.items() if None in groups or problem.domain in groups]
    return [f"task.problem={','.join(f'{BUILTIN}/{name}' for name in names)}"]


def build_prompts(settings: EquationSettings) -> prompts.EquationPrompts:
    """Return the prompts for a language model."""
    dataset = read_dataset(settings)
    units = {"target": "in units of the target's variance", "none": "in squared units of the target"}
    unit, known = units[settings.data.normalize], describe(settings)
    templates = prompts.read_chosen(settings.prompts.dir)
    return prompts.EquationPrompts(templates, dataset.target, dataset.variables, unit, settings.permitted, known)
