"""A search whose oracle is a laboratory, by ask and tell, is the same as an uninterrupted search."""

import csv
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.runs import FROM_ROOT, TOY_CONF, evodiverse, log
from tests.starts import main_of, run

TOY = ["--config-dir", str(TOY_CONF), "task=bits", "evaluator.workers=1", "budget.oracle_calls=60", "name=lab"]


def ask(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return run(*main_of("evodiverse.commands.ask"), *words, cwd=cwd, env=FROM_ROOT)


def tell(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return run(*main_of("evodiverse.commands.tell"), *words, cwd=cwd, env=FROM_ROOT)


def measure(key: str) -> str:
    if key.count("1") == 1 and key[-1] == "1":
        return "nan"
    return repr(sum(index + 1 for index, bit in enumerate(key) if bit == "1") / (len(key) * (len(key) + 1) / 2))


def fill_in(asked: Path, scores: Path, *, only: slice = slice(None)) -> list[str]:
    """Write the table of a laboratory that measured some of the candidates, and return the keys of all."""
    with asked.open(newline="") as file:
        keys = [row["key"] for row in csv.DictReader(file)]
    with scores.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["score", "genotype"])
        writer.writerows([measure(key), key] for key in keys[only][::-1])
    return keys


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """Return a run that has asked for the first time."""
    started = evodiverse(*TOY, "evaluator=ask", cwd=tmp_path, env=FROM_ROOT)
    assert started.returncode == 0, started.stderr
    assert started.stdout.splitlines() == [
        "waiting for the scores of 16 candidates: outputs/lab/asked.csv",
        "to continue: evodiverse-tell outputs/lab SCORES.csv",
    ]
    assert json.loads((tmp_path / "outputs/lab/run.json").read_text())["status"] == "asking"
    return tmp_path / "outputs/lab"


@pytest.mark.slow
def test_a_search_by_ask_and_tell_has_the_log_of_an_uninterrupted_one(asked: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    assert evodiverse(*TOY, cwd=whole, env=FROM_ROOT).returncode == 0
    n_rounds = 0
    while (asked / "asked.csv").exists():
        fill_in(asked / "asked.csv", tmp_path / "scores.csv")
        told = tell(str(asked), "scores.csv", cwd=tmp_path)
        assert told.returncode == 0, told.stderr
        n_rounds += 1
    assert n_rounds > 3
    assert "complete, stopped by budget: 60 oracle calls" in told.stdout
    assert log(asked) == log(whole / "outputs/lab")
    complete = f"{asked} is complete (stopped by budget); there is nothing to measure\n"
    late, open_question = tell(str(asked), "scores.csv", cwd=tmp_path), ask(str(asked), cwd=tmp_path)
    assert (late.returncode, late.stderr) == (2, f"evodiverse: {complete}")
    assert (open_question.returncode, open_question.stdout) == (0, complete)


def test_scores_may_be_told_in_parts(asked: Path, tmp_path: Path) -> None:
    keys = fill_in(asked / "asked.csv", tmp_path / "scores.csv", only=slice(0, 5))
    told = tell(str(asked), "scores.csv", cwd=tmp_path)
    assert told.stdout.splitlines()[:2] == [
        "received 5 of 16 scores",
        f"waiting for the scores of 11 candidates: {asked}/asked.csv",
    ]
    assert fill_in(asked / "asked.csv", tmp_path / "scores.csv") == keys[5:]


def test_the_last_score_told_in_a_round_counts(asked: Path, tmp_path: Path) -> None:
    keys = fill_in(asked / "asked.csv", tmp_path / "scores.csv")
    for table, said in (
        ([f"{keys[0]};0,25", f"{keys[1]};,5", f"{keys[2]};"], ["received 2 of 16 scores"]),
        (
            [f"{keys[0]},0.75", f"{keys[2]},0.5", f"{keys[2]},0.625"],
            [
                f"{keys[0]}: 0.75 replaces 0.25",
                f"{keys[2]}: 0.625 replaces 0.5",
                "received 1 of 14 scores, and updated 1",
            ],
        ),
    ):
        delimiter = table[0][len(keys[0])]
        (tmp_path / "part.csv").write_text("\n".join([f"Genotype{delimiter}score", *table]), "utf-16")
        assert tell(str(asked), "part.csv", cwd=tmp_path).stdout.splitlines()[: len(said)] == said
    fill_in(asked / "asked.csv", tmp_path / "rest.csv")
    assert tell(str(asked), "rest.csv", cwd=tmp_path).returncode == 0
    rows = {row["key"]: row["score"] for row in log(asked)["evaluations"]}
    assert [rows[key] for key in keys[:3]] == [0.75, 0.5, 0.625]


@pytest.mark.slow
def test_measurements_do_not_mix_with_scores_of_the_task(asked: Path, tmp_path: Path) -> None:
    forgotten = evodiverse(*TOY, cwd=tmp_path, env=FROM_ROOT)
    assert forgotten.returncode == 2
    assert "was started with evaluator.name=ask, now it is evaluator.name=local; use name=" in forgotten.stderr
    fill_in(asked / "asked.csv", tmp_path / "scores.csv")
    assert tell(str(asked), "scores.csv", cwd=tmp_path).returncode == 0
    unnamed = evodiverse(*TOY[:-1], "evaluator=ask", cwd=tmp_path, env=FROM_ROOT)
    assert "outputs/bits/pt/off/budget.oracle_calls=60,evaluator.name=ask/seed0/asked.csv" in unnamed.stdout


def test_the_same_table_is_written_again(asked: Path, tmp_path: Path) -> None:
    before = (asked / "asked.csv").read_bytes()
    (asked / "asked.csv").unlink()
    again = ask(str(asked), "-o", "round.csv", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "round.csv").read_bytes() == (asked / "asked.csv").read_bytes() == before


def test_a_moved_run_continues_in_its_new_place(asked: Path, tmp_path: Path) -> None:
    asked.rename(tmp_path / "moved")
    fill_in(tmp_path / "moved/asked.csv", tmp_path / "scores.csv")
    assert tell("moved", "scores.csv", cwd=tmp_path).returncode == 0
    assert not asked.exists()


def test_a_run_whose_folder_of_options_is_gone_says_so_in_one_line(tmp_path: Path) -> None:
    options = shutil.copytree(TOY_CONF, tmp_path / "options")
    words = ["--config-dir", str(options), *TOY[2:], "evaluator=ask"]
    assert evodiverse(*words, cwd=tmp_path, env=FROM_ROOT).returncode == 0
    shutil.rmtree(options)
    again = ask("outputs/lab", cwd=tmp_path)
    assert again.returncode == 2
    expected = f"{tmp_path}/outputs/lab was started with --config-dir {options}, which is gone; restore that folder"
    assert again.stderr == f"evodiverse: {expected}\n"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("key,score\nabc,0.5\n", "line 2: key 'abc' is not a candidate (unparsable: 3 characters)"),
        (f"key,score\n{'0' * 24},0.5\n", f"line 2: {'0' * 24} was not asked for; asked.csv lists the candidates"),
        (
            "genotype,score\nFIRST,high\n",
            "line 2: score must be a number, got 'high'; write nan for a failed measurement",
        ),
        ("genotype,score\nFIRST,7\n", "line 2: FIRST was scored 7; a score must lie in [0, 1]"),
        ("genotype,score\nFIRST,inf\n", "line 2: score must be finite, or nan for a failed measurement, got inf"),
        ("molecule,score\nFIRST,1\n", "must have the columns score and key or genotype or smiles, got molecule, score"),
        ("", "must have the columns score and key or genotype or smiles, got -"),
    ],
)
def test_nothing_is_recorded_from_an_invalid_table(asked: Path, tmp_path: Path, table: str, expected: str) -> None:
    with (asked / "asked.csv").open(newline="") as file:
        first = next(csv.DictReader(file))["key"]
    (tmp_path / "scores.csv").write_text(table.replace("FIRST", first))
    told = tell(str(asked), "scores.csv", cwd=tmp_path)
    assert told.returncode == 2
    assert expected.replace("FIRST", first) in told.stderr
    assert not (asked / "checkpoint/journal").exists()


@pytest.mark.slow
def test_only_a_run_that_asks_accepts_scores(tmp_path: Path) -> None:
    evodiverse(*TOY, cwd=tmp_path, env=FROM_ROOT)
    (tmp_path / "scores.csv").write_text("key,score\n")
    for refused in (tell("outputs/lab", "scores.csv", cwd=tmp_path), ask("outputs/lab", cwd=tmp_path)):
        assert refused.returncode == 2
        assert "was not started with evaluator=ask; start another run with evaluator=ask" in refused.stderr
    absent = ask("outputs/none", cwd=tmp_path)
    assert absent.returncode == 2
    assert "is not a run directory; check the path" in absent.stderr
