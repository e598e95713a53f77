"""Configuration keys of the program tasks (``task.*``)."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evodiverse.kit.documented import documented
from evodiverse.kit.inputs import expanded
from evodiverse.vocabulary import MAX_MEMORY_MB, MIN_MEMORY_MB

CIRCLE_PACKING = "circle_packing"
MODES = ("diff", "rewrite", "mixed")
HOT = ("same", "explore")
MAX_CIRCLES = 500
"""More would take seconds to score, which no limit of the sandbox bounds."""
MIN_REFERENCE, MAX_REFERENCE = 1e-3, 1e6


@dataclass
class Initial:
    """``task.initial``: where the pools start."""

    path: Any = documented("program to start from, or a list of several; null is the task's own", default=None)


@dataclass
class PromptSettings:
    """``task.prompts``: how a language model is asked."""

    dir: str | None = documented("folder of your own templates", default=None)
    mode: str = documented(
        "what is asked for: SEARCH/REPLACE blocks, a whole program, or either", default="diff", choices=MODES
    )
    hot: str = documented("prompt of hot pools; explore asks for another construction", default="same", choices=HOT)


@dataclass
class ProgramSettings:
    """``task``, for programs."""

    evaluator: str = documented("what scores programs: circle_packing, or your own evaluator.py", default="")
    n: int | None = documented("circles to be packed", default=None, unit="circles", least=1, most=MAX_CIRCLES)
    reference: float | None = documented(
        "sum of radii that scores 1; 2.635 for 26 circles", default=None, least=MIN_REFERENCE, most=MAX_REFERENCE
    )
    timeout: float = documented(
        "CPU time of a program, three times of wall time at most", default=30.0, unit="s", above=0, below=1e6
    )
    memory: int = documented(
        "address space of a program, libraries included",
        default=2048,
        unit="MB",
        least=MIN_MEMORY_MB,
        most=MAX_MEMORY_MB,
    )
    max_characters: int = documented("longer programs are rejected", default=10_000, unit="characters", least=1)
    initial: Initial = field(default_factory=Initial)
    prompts: PromptSettings = field(default_factory=PromptSettings)

    @property
    def is_circle_packing(self) -> bool:
        """Whether the evaluator is the one that packs circles."""
        return self.evaluator == CIRCLE_PACKING


def initial_paths(settings: ProgramSettings) -> list[Path]:
    """Return the user's own programs to start from."""
    given = settings.initial.path
    if given is None:
        return []
    return [expanded(str(path)) for path in (given if isinstance(given, list | tuple) else [given])]


def find_setting_violations(settings: ProgramSettings) -> list[str]:
    """Return what is wrong with the values, each with its key."""
    rules = [
        (bool(settings.evaluator), "task.evaluator has no value; name your own evaluator.py"),
        (
            (settings.is_circle_packing and settings.initial.path is None) or bool(initial_paths(settings)),
            "task.initial.path has no value; name the program that the search starts from",
        ),
    ]
    return [message for holds, message in rules if not holds] + _packing_violations(settings)


def _packing_violations(settings: ProgramSettings) -> list[str]:
    if not settings.is_circle_packing:
        return []
    violations = []
    if settings.n is None:
        violations.append("task.n has no value; task=circle_packing sets it")
    if settings.reference is None:
        violations.append("task.reference has no value; give the sum of radii that scores 1")
    if settings.n not in {None, 26} and settings.reference == 2.635:
        violations.append(f"task.reference=2.635 is for 26 circles; give the one for task.n={settings.n}")
    return violations
