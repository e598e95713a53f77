"""Which parts may import which (DESIGN.md, "How data flows"), checked in the syntax trees."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(ROOT.joinpath("evodiverse").rglob("*.py"))

BOTTOM = {"vocabulary", "ports", "errors", "text", "kit"}
# Which parts each part may import besides itself. Each domain (tasks/x) is a separate part. None allows all parts.
ALLOWED: dict[str, set[str] | None] = {
    "__init__": {"api", "estimator"},
    "api": None,
    "estimator": {"api", "errors", "kit", "tasks"},
    "vocabulary": set(),
    "text": set(),
    "errors": {"text"},
    "kit": {"errors", "text", "vocabulary", "kit/documented"},
    "kit/documented": set(),
    "ports": {"vocabulary", "errors", "runlog"},
    "search": {"vocabulary", "kit/documented", "search/pareto"},
    "search/pareto": {"vocabulary", "search"},
    "diversity": BOTTOM,
    "tasks": BOTTOM | {"runlog", "diversity"},
    "llm": BOTTOM,
    "sandbox": BOTTOM,
    "runlog": {"errors", "text", "kit", "vocabulary"},
    "store": BOTTOM | {"runlog"},
    "data": BOTTOM,
    "docking": BOTTOM | {"runlog", "store"},
    "data/cli": BOTTOM | {"data", "tasks", "runner", "commands/frame"},
    "runner": BOTTOM | {"search"},
    "runner/loop": BOTTOM | {"search", "runner", "store"},
    "runner/overview": BOTTOM | {"runlog", "runner"},
    "results": BOTTOM | {"runlog", "diversity", "search/pareto"},
    "settings": BOTTOM | {"runlog", "search", "settings/schema"},
    "settings/schema": BOTTOM | {"search", "llm", "runner"},
    "settings/plan": BOTTOM | {"search", "settings", "llm", "store", "runlog", "runner"},
    "settings/going_further": BOTTOM | {"runlog", "runner", "search", "settings", "store"},
    "settings/sweep": BOTTOM | {"settings", "data", "store"},
    "settings/assembly": None,
    "commands": None,
    "commands/frame": BOTTOM | {"runner"},
    "cli": None,
    "__main__": {"cli"},
}
SEARCH_OUTSIDE = {"numpy", "scipy"}
SEARCH_REFUSES = {"time", "random", "os", "logging", "subprocess"}


def imported(source: str, path: Path) -> set[str]:
    """Return the dotted names of all modules and objects that a module imports, at any depth of its code."""
    package = path.with_suffix("").parts[:-1]
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            names |= {f"{base}.{alias.name}" for alias in node.names}
    return names


def part_of(parts: tuple[str, ...]) -> str:
    """Return the part of EvoDiverse to which a module belongs, given the parts of its path or dotted name."""
    if parts[:1] == ("tasks",) and len(parts) > 1:
        return "/".join(parts[:2])
    return "/".join(parts[:2]) if "/".join(parts[:2]) in ALLOWED else parts[0]


def violations(source: str, path: Path) -> list[str]:
    """Return every import that the part of a module may not make; ``path`` starts with evodiverse/."""
    part = part_of(path.with_suffix("").parts[1:])
    allowed = ALLOWED.get(part, ALLOWED.get(part.split("/")[0], set()))
    found = []
    for name in sorted(imported(source, path)):
        root, *rest = name.split(".")
        if root != "evodiverse":
            known = root in SEARCH_OUTSIDE or (root in sys.stdlib_module_names and root not in SEARCH_REFUSES)
            if part == "search" and not known:
                found.append(f"{path} imports {root}")
        elif rest != ["__version__"] and allowed is not None:
            target = part_of(tuple(rest)) if rest else "evodiverse"
            if target != part and not {target, target.split("/")[0]} & allowed:
                found.append(f"{path} imports {name}")
    return found


def test_a_module_imports_only_what_its_part_may() -> None:
    found = (violations(module.read_text(encoding="utf-8"), module.relative_to(ROOT)) for module in MODULES)
    assert [line for lines in found for line in lines] == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("search/advance.py", "import time"),
        ("search/advance.py", "from os import path"),
        ("search/advance.py", "import pandas"),
        ("search/advance.py", "from evodiverse.ports import Task"),
        ("search/advance.py", "from evodiverse import runner"),
        ("search/advance.py", "def f():\n    from ..runner.loop import run"),
        ("tasks/molecules/task.py", "import evodiverse.search.exchange as exchange"),
        ("tasks/molecules/task.py", "from evodiverse.tasks.programs.task import ProgramTask"),
        ("tasks/molecules/task.py", "from ..programs import task"),
        ("store/writer.py", "from evodiverse.runner import loop"),
        ("runner/view.py", "from evodiverse.store.writer import Writer"),
        ("runner/loop.py", "from evodiverse.tasks.molecules.task import MoleculeTask"),
        ("results/tables.py", "from evodiverse.runner.ledger import Ledger"),
        ("results/tables.py", "from evodiverse.tasks.equations.problems import PROBLEMS"),
        ("settings/compose.py", "from evodiverse.runner.ledger import Ledger"),
        ("vocabulary.py", "from evodiverse import ports"),
        ("new_part.py", "from evodiverse.vocabulary import Candidate"),
    ],
)
def test_an_import_against_the_rules_is_detected(path: str, source: str) -> None:
    assert len(violations(source, Path("evodiverse", path))) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("search/advance.py", "import heapq, numpy.typing\nfrom scipy import stats\nfrom .archive import Archive"),
        ("tasks/molecules/task.py", "from rdkit import Chem\nfrom evodiverse.tasks.molecules.parsing import parse"),
        ("runner/loop.py", "from evodiverse.search.advance import advance\nfrom evodiverse import __version__"),
        ("results/metrics.py", "from evodiverse.runlog.log import Log"),
        ("tasks/molecules/metrics.py", "from evodiverse.diversity.distances import Encode"),
        (
            "settings/assembly.py",
            "from evodiverse.tasks.molecules.task import MoleculeTask\nimport evodiverse.runner.loop",
        ),
    ],
)
def test_an_import_within_the_rules_passes(path: str, source: str) -> None:
    assert violations(source, Path("evodiverse", path)) == []


KINDS_OF_FIGURES = ("bars", "curves", "lineage", "packings", "projections", "space", "sweep")
COUNTING = """
import importlib, sys
for kind in sys.argv[1:]:
    importlib.import_module(f"evodiverse.results.figures.{kind}")
    ours = [name for name in sys.modules if name.split(".")[0] == "evodiverse"]
    print(kind, len(ours))
    for name in ours:
        del sys.modules[name]
"""


def test_a_figure_can_be_changed_without_reading_half_of_the_package() -> None:
    command = [sys.executable, "-c", COUNTING, *KINDS_OF_FIGURES]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    counts = {kind: int(number) for kind, number in map(str.split, told.splitlines())}
    assert [*counts] == [*KINDS_OF_FIGURES]
    assert {kind: number for kind, number in counts.items() if number > 14} == {}
