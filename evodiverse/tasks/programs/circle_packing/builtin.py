"""The built-in task of circle packing."""

from typing import Final

from evodiverse.tasks.programs.builtin import Builtin
from evodiverse.tasks.programs.circle_packing.evaluator import CirclePacking, load_seed
from evodiverse.tasks.programs.circle_packing.moves import packing_moves
from evodiverse.tasks.programs.metrics import PackingMetrics
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.vocabulary import Limits

PAPER_N: Final = 26
PAPER_REFERENCE: Final = 2.635


def find_violations(settings: ProgramSettings) -> list[str]:
    """Return everything that is wrong with ``task.n`` and with ``task.reference``, the sum of radii that scores 1."""
    violations = []
    if settings.n is None:
        violations.append("task.n has no value; task=circle_packing sets it")
    if settings.reference is None:
        violations.append("task.reference has no value; give the sum of radii that scores 1")
    if settings.n not in {None, PAPER_N} and settings.reference == PAPER_REFERENCE:
        violations.append(f"task.reference=2.635 is for 26 circles; give the one for task.n={settings.n}")
    return violations


def build_evaluator(settings: ProgramSettings, limits: Limits) -> CirclePacking:
    """Return the evaluator for settings that passed `find_violations`."""
    return CirclePacking(settings.n or PAPER_N, settings.reference or PAPER_REFERENCE, limits)


CIRCLE_PACKING: Final = Builtin(
    find_violations=find_violations,
    build_evaluator=build_evaluator,
    load_start=lambda settings: load_seed(settings.n or PAPER_N),
    build_moves=packing_moves,
    build_metrics=PackingMetrics,
)
