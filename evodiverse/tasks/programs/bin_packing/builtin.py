"""The built-in task of online bin packing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from evodiverse.errors import InputError
from evodiverse.kit.inputs import expanded
from evodiverse.tasks.programs.bin_packing.evaluator import BinPacking, load_seed
from evodiverse.tasks.programs.bin_packing.instances import SETS, find_instances
from evodiverse.tasks.programs.bin_packing.moves import bin_packing_moves
from evodiverse.tasks.programs.builtin import Builtin
from evodiverse.tasks.programs.metrics import TaskMetrics
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.vocabulary import Limits


def find_violations(settings: ProgramSettings) -> list[str]:
    """Return everything that is wrong with ``task.instances``."""
    if not settings.instances:
        return [f"task.instances has no value; expected {', '.join(SETS)}, or a file in OR-Library's format"]
    try:
        find_instances(settings.instances)
    except InputError as error:
        return list(error.violations)
    return []


def build_evaluator(settings: ProgramSettings, limits: Limits) -> BinPacking:
    """Return the evaluator for settings that passed `find_violations`."""
    named = settings.instances or SETS[0]
    return BinPacking(named, find_instances(named), limits)


def find_sources(settings: ProgramSettings) -> Mapping[str, Path]:
    """Return the path of the user's file of instances under the key ``instances``; empty for a built-in set."""
    named = settings.instances or SETS[0]
    return {} if named in SETS else {"instances": expanded(named).absolute()}


BIN_PACKING: Final = Builtin(
    find_violations=find_violations,
    build_evaluator=build_evaluator,
    load_start=lambda settings: load_seed(),  # noqa: ARG005 (the same program for all instances)
    build_moves=bin_packing_moves,
    build_metrics=TaskMetrics,
    find_sources=find_sources,
)
