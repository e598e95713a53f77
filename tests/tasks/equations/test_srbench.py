"""LLM-SRBench, on a small HDF5 file and tables of its layout."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import h5py
import httpx
import huggingface_hub
import numpy as np
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from evodiverse.errors import InputError
from evodiverse.tasks.equations.data import find_sources, read_dataset
from evodiverse.tasks.equations.domain import build_prompts, choose_problems, find_violations
from evodiverse.tasks.equations.problems import Dataset, Variable
from evodiverse.tasks.equations.settings import DataSettings, EquationSettings
from tests.runs import FROM_ROOT, rows, run_here
from tests.tasks.equations.srbench import TITLES, numbers, row, write_benchmark, write_numbers, write_table

GROUP, TABLE = "lsr_synth/phys_osc", "lsr_synth_phys_osc"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_benchmark(tmp_path / "copy", GROUP, ["PO0", "PO3"])


def settings(root: Path | None, problem: str = "physics/PO0") -> EquationSettings:
    return EquationSettings(problem=f"srbench/{problem}", data=DataSettings(root=None if root is None else str(root)))


def read(root: Path | None, problem: str = "physics/PO0") -> Dataset:
    return read_dataset(settings(root, problem))


def refusal(root: Path | None, problem: str = "physics/PO0") -> str:
    with pytest.raises(InputError) as refused:
        read(root, problem)
    assert all("\n" not in violation for violation in refused.value.violations)
    return str(refused.value)


def written(root: Path, table_row: Mapping[str, Any], splits: Mapping[str, Any]) -> Path:
    """Write a benchmark of one problem."""
    write_table(root, TABLE, [table_row])
    write_numbers(root, f"{GROUP}/{table_row['name']}", splits)
    return root


def test_the_first_column_is_the_target_and_the_others_are_variables_in_the_order_of_the_table(root: Path) -> None:
    dataset = read(root)
    assert dataset.target == Variable("dv_dt", "Acceleration")
    assert dataset.variables == (Variable("x", "Position at time t"), Variable("t", "Time"))
    for rows_read, expected in zip(dataset.splits, (numbers(), numbers(5), numbers(4, start=9.0)), strict=True):
        np.testing.assert_array_equal(rows_read.target, expected[:, 0])
        np.testing.assert_array_equal(rows_read.inputs, expected[:, 1:])
    assert dataset.problem is None


def test_the_target_is_the_symbol_of_the_output_wherever_it_stands(tmp_path: Path) -> None:
    moved = row("PO0", symbols=["x", "t", "a"], symbol_descs=["", "", ""], symbol_properties=["V", "C", "O"])
    dataset = read(written(tmp_path, moved, {title: numbers() for title in TITLES}))
    assert (dataset.target.name, dataset.names) == ("a", ("x", "t"))


def test_data_out_of_domain_may_be_missing(tmp_path: Path) -> None:
    dataset = read(written(tmp_path, row("PO0"), {title: numbers() for title in TITLES[:2]}))
    assert [len(part.target) for part in dataset.splits] == [8, 8, 0]
    assert dataset.splits.test_ood.inputs.shape == (0, 2)


def test_transformed_laws_have_splits_of_other_names(tmp_path: Path) -> None:
    write_table(tmp_path, "lsr_transform", [row("II.6.15b_1_0")])
    write_numbers(tmp_path, "lsr_transform/II.6.15b_1_0", {"train": numbers(), "test": numbers(5)})
    dataset = read(tmp_path, "transform/II.6.15b_1_0")
    assert [len(part.target) for part in dataset.splits] == [8, 5, 0]


def test_odd_names_are_replaced_and_the_original_is_shown(tmp_path: Path) -> None:
    odd = row("PO0", symbols=["dv/dt", "lambda", "x (m)"])
    source = settings(written(tmp_path, odd, {title: numbers() for title in TITLES}))
    dataset = read_dataset(source)
    assert dataset.names == ("lambda_", "x__m")
    assert dataset.target.name == "dv/dt"
    told = build_prompts(source)._system
    assert "lambda_: Position at time t (in the data: lambda)" in told
    assert "x__m: Time (in the data: x (m))" in told


def test_a_prompt_does_not_know_the_law(root: Path) -> None:
    told = build_prompts(settings(root))._system
    assert "dv_dt: Acceleration" in told
    assert "F0" not in told


def test_a_table_in_several_files_is_read_whole(root: Path) -> None:
    path = root / "data" / f"{TABLE}-00000-of-00001.parquet"
    write_table(root, TABLE, [row("PO3")]).rename(path.with_name(f"{TABLE}-00000-of-00002.parquet"))
    write_table(root, TABLE, [row("PO0")]).rename(path.with_name(f"{TABLE}-00001-of-00002.parquet"))
    assert read(root, "physics/PO0").names == read(root, "physics/PO3").names


def test_sources_change_with_the_numbers_and_the_names_alone(root: Path, tmp_path: Path) -> None:
    first, other = find_sources(settings(root)), find_sources(settings(root, "physics/PO3"))
    assert first == other  # they are all alike
    changed = written(tmp_path / "numbers", row("PO0"), {title: numbers() for title in TITLES})
    assert find_sources(settings(changed)) == {**first, "data": find_sources(settings(changed))["data"]} != first
    write_table(root, TABLE, [row("PO0", symbols=["dv_dt", "x", "time"])])
    assert find_sources(settings(root)) == {**first, "names": find_sources(settings(root))["names"]} != first


def test_tables_choose_builtin_problems() -> None:
    assert "srbench" not in str(choose_problems([None]))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"symbols": ["a", "x"]}, f"{TABLE}-00000-of-00001.parquet (ValueError: zip() argument 2 is longer"),
        ({"symbol_descs": ["", None, ""]}, f"{TABLE}-00000-of-00001.parquet (AttributeError: "),
        ({"symbol_properties": ["V", "V", "V"]}, f"{TABLE}-00000-of-00001.parquet (ValueError: 'O' is not in list)"),
        (
            {"symbols": ["a", "x"], "symbol_descs": ["", ""], "symbol_properties": ["O", "V"]},
            f"lsr_bench_data.hdf5 (ValueError: {GROUP}/PO0/train_data has the shape (8, 3), expected the columns a, x",
        ),
    ],
)
def test_an_invalid_table_is_refused(tmp_path: Path, changes: dict[str, Any], complaint: str) -> None:
    told = refusal(written(tmp_path, row("PO0", **changes), {title: numbers() for title in TITLES}))
    assert complaint in told
    assert told.endswith("; remove the file and fetch it again")


def replaced(at: tuple[int, int], value: float) -> np.ndarray:
    changed = numbers()
    changed[at] = value
    return changed


@pytest.mark.parametrize(
    ("train", "complaint"),
    [
        (
            numbers()[:, 0],
            "train_data has the shape (8,), expected the columns dv_dt, x, t in at most 4,000,000,000 bytes); remove",
        ),
        (np.full((8, 3), b"red"), "could not convert string to float: "),
        (numbers()[:1], "train_data has too few rows: expected at least 2, got 1"),
        (replaced((2, 1), np.nan), "the column 'x' of "),
        (replaced((2, 1), np.nan), "train_data has no finite number in row 3"),
        (numbers() * [0, 1, 1], "the target 'dv_dt' is the same in all rows of "),
        (numbers() * [1e200, 1, 1], "the target 'dv_dt' is too small or too large"),
    ],
)
def test_unusable_numbers_are_refused(tmp_path: Path, train: np.ndarray, complaint: str) -> None:
    made = written(tmp_path, row("PO0"), {"train_data": train, "id_test_data": numbers()})
    assert complaint in refusal(made)


def test_all_violations_in_the_numbers_are_named_at_once(tmp_path: Path) -> None:
    splits = {
        "train_data": replaced((1, 1), np.nan),
        "id_test_data": numbers()[:1],
        "ood_test_data": replaced((0, 0), np.inf),
    }
    told = refusal(written(tmp_path, row("PO0"), splits)).splitlines()
    assert [title for line in told for title in TITLES if f"PO0/{title} has" in line] == list(TITLES)


@pytest.mark.parametrize("absent", TITLES[:2])
def test_a_missing_split_that_is_required_is_reported(tmp_path: Path, absent: str) -> None:
    made = written(tmp_path, row("PO0"), {title: numbers() for title in TITLES if title != absent})
    assert (
        f"lsr_bench_data.hdf5 (KeyError: \"Unable to synchronously open object (object '{absent}' doesn't"
        in refusal(made)
    )


def link(path: Path, make: Callable[[h5py.Group], None]) -> None:
    """Put something else in the place of the training data."""
    with h5py.File(path, "a") as file:
        del file[f"{GROUP}/PO0/train_data"]
        make(file[f"{GROUP}/PO0"])


def test_what_is_no_table_is_refused(root: Path) -> None:
    link(root / "lsr_bench_data.hdf5", lambda group: group.create_group("train_data") and None)
    assert "lsr_bench_data.hdf5 (AttributeError: " in refusal(root)


def test_what_is_too_large_for_memory_is_not_read(root: Path) -> None:
    shape = (10**12, 3)
    link(
        root / "lsr_bench_data.hdf5",
        lambda group: group.create_dataset("train_data", shape, "f8", chunks=(1000, 3)) and None,
    )
    assert "has the shape (1000000000000, 3), expected the columns dv_dt, x, t in at most 4,000,000,000" in refusal(
        root
    )


def test_an_unknown_problem_is_answered_with_the_nearest(root: Path) -> None:
    assert refusal(root, "physics/PO33") == "task.problem=srbench/physics/PO33 is unknown; did you mean PO3?"


def test_a_problem_without_numbers_is_reported(root: Path) -> None:
    write_table(root, TABLE, [row("PO1")])
    assert "object 'PO1' doesn't exist" in refusal(root, "physics/PO1")


def test_a_table_without_the_columns_is_refused(root: Path) -> None:
    write_table(root, TABLE, [{"name": "PO0", "symbols": ["x"]}])
    assert f"{TABLE}-00000-of-00001.parquet (KeyError: 'symbol_descs'); remove the file" in refusal(root)


@pytest.mark.parametrize("name", ["lsr_bench_data.hdf5", f"data/{TABLE}-00000-of-00001.parquet"])
def test_a_damaged_file_is_reported(root: Path, name: str) -> None:
    (root / name).write_bytes(b"PAR1 and then nothing")
    assert refusal(root).endswith("; remove the file and fetch it again")
    assert str(root / name) in refusal(root)


def test_the_missing_files_of_an_incomplete_copy_are_named(root: Path) -> None:
    assert f"task.data.root: {root} is missing data/lsr_synth_matsci-00000-of-00001.parquet; copy " in refusal(
        root, "materials/MatSci0"
    )
    (root / "lsr_bench_data.hdf5").unlink()
    assert "is missing lsr_bench_data.hdf5; copy " in refusal(root)


@pytest.mark.parametrize(
    ("problem", "more", "complaint"),
    [
        ("srbench/physics", {}, "must be srbench/<science>/<name>, such as srbench/physics/PO0, got srbench/physics"),
        ("srbench/physics/PO0/x", {}, "must be srbench/<science>/<name>"),
        ("srbench/phys/PO0", {}, "task.problem=srbench/phys/PO0 names an unknown science; did you mean physics?"),
        ("srbench/physics/PO0", {"target": "y"}, "task.data.target is for your own data; use task.problem=csv/PO0"),
        ("builtin/oscillator1", {"root": "x"}, "task.data.root is for LLM-SRBench; use task.problem=srbench/<science>"),
    ],
)
def test_invalid_settings_are_refused_before_anything_is_read(
    problem: str, more: dict[str, str], complaint: str
) -> None:
    (told,) = find_violations(EquationSettings(problem=problem, data=DataSettings(**more)))  # type: ignore[arg-type]
    assert complaint in told


def test_violations_in_the_data_are_reported_with_those_in_the_settings(root: Path) -> None:
    (told,) = find_violations(settings(root, "physics/PO9"))
    assert told.startswith("task.problem=srbench/physics/PO9 is unknown")


@pytest.mark.parametrize("library", ["h5py", "huggingface_hub"])
def test_a_missing_library_is_reported_before_anything_is_fetched(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    assert refusal(None) == f"task.problem=srbench/… needs {library}; run pip install 'evodiverse[srbench]'"


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("EVODIVERSE_OFFLINE", raising=False)
    return tmp_path / "cache" / "llm-srbench"


def test_the_files_are_fetched_into_the_cache_once(
    root: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def send(repository: str, name: str, *, repo_type: str, local_dir: Path) -> str:
        assert (repository, repo_type, local_dir) == ("nnheui/llm-srbench", "dataset", own_cache)
        asked.append(name)
        (own_cache / name).parent.mkdir(parents=True, exist_ok=True)
        (own_cache / name).write_bytes((root / name).read_bytes())
        return str(own_cache / name)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", send)
    assert read(None).splits.train.target.tolist() == numbers()[:, 0].tolist()
    read(None, "physics/PO3")
    assert asked == [f"data/{TABLE}-00000-of-00001.parquet", "lsr_bench_data.hdf5"]


def failing(error: Exception) -> Callable[..., str]:
    def send(*arguments: object, **more: object) -> str:
        raise error

    return send


class GatedHub(BaseHTTPRequestHandler):
    """Answers as the hub does to those who have not accepted the conditions."""

    def do_HEAD(self) -> None:
        self.send_response(401)
        self.send_header("X-Error-Code", "GatedRepo")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.mark.slow
def test_without_access_the_error_says_how_to_get_it(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), GatedHub) as hub:
        Thread(target=hub.serve_forever).start()
        ended = subprocess.run(
            [sys.executable, "-m", "evodiverse", "task=equation", "task.problem=srbench/physics/PO0"],
            env={
                **FROM_ROOT,
                "EVODIVERSE_OFFLINE": "0",
                "EVODIVERSE_CACHE": str(tmp_path / "cache"),
                "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}",
                "HF_HOME": str(tmp_path / "home"),  # where no token is
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        hub.shutdown()
    assert ended.returncode == 2
    page = "https://huggingface.co/datasets/nnheui/llm-srbench"
    refused = ended.stderr.splitlines()[-1]
    assert f"the data are gated; accept the conditions on {page}, log in with `hf auth login`" in refused
    copy = (
        f"copy lsr_bench_data.hdf5 and the folder data from {page} into a folder and set task.data.root to that folder"
    )
    assert refused.endswith(copy)


@pytest.mark.parametrize(
    "error", [LocalEntryNotFoundError("no connection"), httpx.ConnectError("no"), PermissionError(13, "denied")]
)
def test_a_fetch_that_fails_says_why(own_cache: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", failing(error))
    assert f"of LLM-SRBench into {own_cache} ({type(error).__name__}: " in refusal(None)
    assert "; check that this machine can reach huggingface.co and write to that folder, or copy " in refusal(None)


def test_offline_nothing_is_fetched(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVODIVERSE_OFFLINE", "1")
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", failing(AssertionError("asked")))
    told = "EVODIVERSE_OFFLINE is set; run with EVODIVERSE_OFFLINE=0, or copy lsr_bench_data.hdf5"
    assert told in refusal(None)


@pytest.mark.slow
def test_a_problem_is_searched(root: Path, tmp_path: Path) -> None:
    run = run_here(
        *("task=equation", "task.problem=srbench/physics/PO0", f"task.data.root={root}", "budget.oracle_calls=6"),
        *("search.target=-1e-12", "evaluator.workers=1", f"outputs={tmp_path}"),
    )
    assert json.loads((run / "run.json").read_text())["sources"].keys() == {"data", "names"}
    first = rows(run, "evaluations")[0]
    assert first["genotype"].startswith("def equation(x, t, params):")
    assert (first["nmse_id"] < 1e-20, first["nmse_ood"] < 1e-20) == (True, True)
    assert json.loads((run / "best/equation.json").read_text())["symbolic_match"] is None
