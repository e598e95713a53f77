"""Whatever a run from elsewhere holds costs one line, and never the tables of another run."""

import copy
import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evodiverse.commands import show, tables
from evodiverse.results.tables.layout import Row
from evodiverse.results.tables.notes import choose_commands
from evodiverse.results.tables.results import read_result
from evodiverse.runlog.parts import PARTS
from evodiverse.runlog.runs import Run
from tests.results.builders import make_record
from tests.results.tables.results import layout
from tests.runs import run_toy

SMALL = ("budget.oracle_calls=60", "method.offspring=4", "method.capacity=8", "task.length=8")
ODD = [
    *(None, True, -1, 0, 10**30, 10**400, 0.5, 1e308, float("inf"), float("nan"), "", "0", "inf", "x" * 5000),
    *("\x1b[31mred\x07", "a\nb", "\ud800", "../..", "=1+1", "<script>", "${oc.env:HOME}", "$(touch x)"),
    *([], {}, [[]], [None], {"": {}}, {"a": [1]}, ["0.8", 0.2], {"wall": "1"}, [{"evodiverse": []}]),
    json.loads("[" * 500 + "]" * 500),
]


def run_script(module: ModuleType, *arguments: object) -> int:
    argv, sys.argv = sys.argv, [module.__name__, *map(str, arguments)]
    try:
        return int(module.main())
    finally:
        sys.argv = argv


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, of which a test may damage one, and a cache. Nothing lists their parts, as in any run of a stranger."""
    folder = tmp_path_factory.mktemp("foreign")
    for seed in (0, 1):
        path = run_toy(folder / "runs", "method=pt", *SMALL, f"seed={seed}")
        (path / PARTS).unlink()
    return folder / "runs"


@pytest.fixture
def cached(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVODIVERSE_CACHE", str(outputs.parent / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every node of a JSON value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inner:
        yield from places(each, (*path, name))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], new)
    return changed


def harmed(outputs: Path) -> Path:
    return next(outputs.rglob("seed1"))


def check_scripts(outputs: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Run both scripts and return what they printed: nothing that controls a terminal, and the other run's results."""
    capsys.readouterr()
    assert run_script(show, outputs) in (0, 2)
    assert run_script(tables, outputs, "--task", "bits") in (0, 2)
    printed = "".join(capsys.readouterr())
    assert re.search(r"^ +\S+ +60 ", printed, re.MULTILINE), "the other run is shown"
    assert not set(printed) - {"\n"} & set(map(chr, [*range(32), *range(127, 160)]))
    assert "| bits" in (outputs / "tables" / "search.md").read_text(encoding="utf-8")
    return printed


@pytest.mark.usefixtures("cached")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_anywhere_in_a_record_costs_a_line_at_most(
    data: st.DataObject, outputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = harmed(outputs) / "run.json"
    content = file.read_text()
    record = json.loads(content)
    everywhere = list(places(record))
    outside = [place for place in everywhere if place[:1] != ("settings",)]  # few among so many settings
    place = data.draw(st.sampled_from(outside) | st.sampled_from(everywhere), label="place")
    new = data.draw(st.sampled_from(ODD), label="value")
    try:
        file.write_text(json.dumps(replaced(record, place, new)))
        check_scripts(outputs, capsys)
    finally:
        file.write_text(content)


COLUMNS = [
    pa.array(["text"]),
    pa.array([None], pa.int64()),
    pa.array([None], pa.string()),
    pa.array([-(2**63)]),
    pa.array([2**63 - 1]),
    pa.array([float("nan")]),
    pa.array([float("inf")]),
    pa.array([[1]]),
    pa.array([[None]], pa.list_(pa.int64())),
    pa.array([{"a": 1}]),
    pa.array(["x"]).dictionary_encode(),
    pa.array(["\x1b[31m" * 100_000]),
    pa.array([b"\xff"]).view(pa.string()),
    pa.array([True]),
]


@pytest.mark.usefixtures("cached")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_column_in_the_place_of_another_costs_a_line_at_most(
    data: st.DataObject, outputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = sorted(harmed(outputs).glob("*/part-*.parquet"))
    part = data.draw(st.sampled_from(parts), label="part")
    table = pq.read_table(part)
    name = data.draw(st.sampled_from(table.column_names), label="column")
    column = data.draw(st.sampled_from(COLUMNS), label="values")
    at, content = table.column_names.index(name), part.read_bytes()
    filled = column.take(pa.array([0] * table.num_rows, pa.int64()))
    try:
        pq.write_table(table.set_column(at, name, filled), part)
        check_scripts(outputs, capsys)
    finally:
        part.write_bytes(content)


HOSTILE = "\x1b[31m\x07\x9b2J\u202eevil\r\n; $(touch x) =1 <script>"


@pytest.mark.usefixtures("cached")
def test_no_text_of_a_run_controls_a_terminal_or_a_page(
    outputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(outputs, tmp_path / "runs")
    run = harmed(tmp_path / "runs")
    record = json.loads((run / "run.json").read_text())
    texts = dict.fromkeys(("error", "stopped_by", "started", "git_commit"), HOSTILE)
    texts |= {"sources": {HOSTILE: HOSTILE}, "versions": [{HOSTILE: HOSTILE, "evodiverse": HOSTILE}]}
    texts |= {"seconds": {"wall": 1, HOSTILE: 1}, "totals": {}}
    texts["overrides"] = record["overrides"] | {HOSTILE: [HOSTILE], "llm.model": HOSTILE}
    texts["settings"] = record["settings"] | {
        "method.swap.rule": HOSTILE,
        "llm.model": HOSTILE,
        "task.problem": HOSTILE,
    }
    (run / "run.json").write_text(json.dumps(record | texts))
    (run / ".hydra" / "overrides.yaml").write_text(json.dumps([HOSTILE]))
    for part in run.glob("evaluations/*.parquet"):
        rows = pq.read_table(part)
        for name in ("genotype", "error"):
            rows = rows.set_column(rows.column_names.index(name), name, pa.array([HOSTILE] * len(rows)))
        pq.write_table(rows, part)
    for part in run.glob("swaps/*.parquet"):
        pq.write_table(pq.read_table(part).slice(0, 0), part)  # then the rule is shown
    printed = check_scripts(tmp_path / "runs", capsys)
    assert run_script(show, run) in (0, 2)
    printed += "".join(capsys.readouterr())
    assert not set(printed) - {"\n"} & set(map(chr, [*range(32), *range(127, 160)]))
    assert printed.count("�[31m��2J�evil") > 10
    for file in (tmp_path / "runs" / "tables").iterdir():
        text = file.read_text(encoding="utf-8")
        assert not set(text) & set("\x1b\x07\x9b\u202e\r")
        shown = [line for line in text.splitlines() if not line.startswith("    ")]  # Markdown's code shows tags
        assert file.suffix == ".csv" or "".join(shown).count("<script") == (file.suffix == ".html")


def test_a_command_below_a_table_quotes_text_from_a_run() -> None:
    word = "llm.model=a'; touch x; '$(touch y)"
    record = make_record(overrides={"llm.model": word.removeprefix("llm.model=")}, llm__name="deepseek")
    foreign = read_result(Run(Path(), record), {})
    table = layout([Row(("a",), "jnk3", "pt")])
    (command,) = choose_commands(table, [(None, foreign.model)], {foreign.model: foreign.model_words})
    assert word in shlex.split(command)


@pytest.mark.usefixtures("cached")
def test_a_folder_whose_name_controls_a_terminal_is_shown_in_plain_text(
    outputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(outputs, tmp_path / "runs")
    harmed(tmp_path / "runs").rename(tmp_path / "runs" / "\x1b[2J\nall is well")
    (tmp_path / "runs" / "\x1b[2J\nall is well" / "run.json").write_text("{")
    assert "�[2J�all is well/run.json is not the record" in check_scripts(tmp_path / "runs", capsys)
