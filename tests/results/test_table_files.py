"""Which tables are written, and what is said of the others."""

from pathlib import Path

import pytest

from evodiverse.commands.table_files import write
from evodiverse.errors import InputError
from tests.results.builders import write_record, write_run


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path / "cache"))
    write_run(tmp_path / "outputs" / "run", {"CCO": 0.2, "CCN": 0.6}, [[[1], [2]]], llm__name="off")
    return tmp_path / "outputs"


def test_tables_that_no_run_fills_are_left_out_unless_asked_for(
    outputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert write(outputs, None, None) == 0
    written = {file.stem for file in (outputs / "tables").glob("*.csv")}
    assert "molecules" in written
    assert "sr_results_main" not in written
    said = capsys.readouterr().out
    assert "of the paper left out, since no run fills them; --all writes them, too" in said
    assert "sr_results_main" in (outputs / "tables" / "index.html").read_text()
    assert write(outputs, None, None, with_empty=True) == 0
    assert "left out" not in capsys.readouterr().out
    assert (outputs / "tables" / "sr_results_main.csv").exists()


def test_a_setting_of_runs_that_are_not_complete_is_refused(outputs: Path) -> None:
    write_record(outputs / "run", status="interrupted", llm__name="off")
    with pytest.raises(
        InputError,
        match=r"^--by needs a complete run, and .*outputs has 0 complete runs \(1 interrupted run left out\)",
    ):
        write(outputs, None, None, by=["method"])


def test_a_comparison_without_a_setting_is_refused(outputs: Path) -> None:
    with pytest.raises(InputError, match="name it with --by"):
        write(outputs, None, None, against="pt")
