"""docs/paper.md names places that exist, and values that are true."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import compose, initialize_config_dir

from evodiverse.kit.typed import flatten
from evodiverse.results.figures.catalog import FIGURES
from evodiverse.results.tables.layout import paper_layouts
from evodiverse.settings.compose import resolve
from evodiverse.settings.schema import register
from tests.runs import CONF, ROOT

TEXT = (ROOT / "docs" / "paper.md").read_text()
TASKS = {
    "3 Molecules": "jnk3",
    "4 Equations": "equation",
    "5 Programs": "circle_packing",
    "6 Prompts": "circle_packing",
}
METRICS = {column.metric for layout in paper_layouts() for column in layout.columns}
KEY = re.compile(r"(?:task|method|budget|llm|search)(?:\.\w+)+(?:=\S+)?")
FILE = re.compile(r"(?:evodiverse|conf|docs|tests)/[\w./-]+(?::\w+)?")


def rows() -> Iterator[tuple[str, list[str]]]:
    """Yield each row of a table with the task of its section."""
    task = "jnk3"
    for line in TEXT.splitlines():
        if line.startswith("## "):
            task = next((name for section, name in TASKS.items() if line[3:].startswith(section)), "jnk3")
        if line.startswith("|") and not line.startswith(("| paper |", "| released code |", "|---")):
            yield task, [cell.strip() for cell in line.strip("|").split("|")]


ROWS = list(rows())


@cache
def settings(task: str) -> dict[str, Any]:
    register()
    with initialize_config_dir(config_dir=str(CONF), version_base="1.3"):
        return dict(flatten(resolve(compose("config", overrides=[f"task={task}", "method=pt", "llm=deepseek_v32"]))))


def find_fault(place: str, task: str) -> str | None:
    """Return what is wrong with a place; None if it exists and has the value that the page states."""
    if FILE.fullmatch(place):
        path, _, name = place.partition(":")
        if not (ROOT / path).exists():
            return f"{path} does not exist"
        defined = rf"^(?:def|class) {name}\b|^{name}\b *[:=]"
        return None if not name or re.search(defined, Path(ROOT, path).read_text(), re.MULTILINE) else f"no {name}"
    if KEY.fullmatch(place):
        key, is_given, value = place.partition("=")
        flat = settings(task)
        if key not in flat:
            return f"no key {key}"
        return None if not is_given or flat[key] == yaml.safe_load(value) else f"{key} is {flat[key]}"
    return None if place in METRICS else f"{place} is no file, key or metric"


def test_every_row_names_a_place_and_every_place_exists() -> None:
    assert [row[0] for _, row in ROWS if len(row) != 3] == [], "a | in a cell"
    places = [(task, row[0], re.findall(r"`([^`]+)`", row[1])) for task, row in ROWS]
    assert [about for _, about, named in places if not named] == []
    assert [row[0] for _, row in ROWS if not row[2]] == []
    faults = ((about, find_fault(place, task)) for task, about, named in places for place in named)
    assert [pair for pair in faults if pair[1]] == []


def test_files_named_elsewhere_on_the_page_exist() -> None:
    named = set(re.findall(r"(?:evodiverse|conf|docs)/[\w./-]*\w", TEXT))
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_every_table_of_the_paper_is_on_the_page() -> None:
    labels = [layout.label.removeprefix("tab:") for layout in paper_layouts()]
    assert [label for label in labels if f"`tab:{label}`" not in TEXT and f"`{label}`" not in TEXT] == []


def test_every_figure_of_the_paper_is_on_the_page() -> None:
    labels = [kind.label for kind in FIGURES if kind.label is not None]
    assert len(labels) == 14
    assert [label for label in labels if f"`{label}`" not in TEXT] == []


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        ("evodiverse/search/nowhere.py", "evodiverse/search/nowhere.py does not exist"),
        ("evodiverse/search/exchange.py:metropole", "no metropole"),
        ("task.defaults.swap.period=7", "task.defaults.swap.period is 5"),
        ("task.defaults.nothing", "no key task.defaults.nothing"),
        ("diverse_aud", "diverse_aud is no file, key or metric"),
        ("evodiverse/search/exchange.py:metropolis", None),
    ],
)
def test_a_missing_place_or_wrong_value_is_detected(place: str, fault: str | None) -> None:
    assert find_fault(place, "jnk3") == fault


@pytest.mark.parametrize("file", sorted((CONF / "task" / "defaults").glob("*.yaml")), ids=lambda file: file.stem)
def test_each_default_of_a_domain_names_its_source(file: Path) -> None:
    own: list[tuple[int, bool]] = []  # indents of the sections, and whether their first line states it for all values
    for line in file.read_text().splitlines()[1:]:
        indent = len(line) - len(line.lstrip())
        own = [section for section in own if section[0] < indent]
        says = re.search(r"# (?:paper|released|ours|not used)\b", line) is not None
        if re.match(r"\s*\w+:\s*(?:#.*)?$", line):
            own.append((indent, says))
        else:
            assert says or any(section_says for _, section_says in own), line
