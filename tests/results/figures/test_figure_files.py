"""The command, on real runs of a few calls."""

import re
import shutil
from pathlib import Path

import pytest

from evodiverse.commands.figure_files import write
from evodiverse.errors import InputError
from evodiverse.results.figures.catalog import FIGURES
from tests.results.builders import write_run
from tests.runs import run_here, run_toy

pytestmark = pytest.mark.slow

PAPER = (
    *("mol", "sr-score-trajectory", "circle_trajectory", "si_mol_top10", "si_mol_chembl", "si_mol_graphga"),
    *("diagnostic_mol", "sr-pysr", "sr-div-embed", "diagnostic_eq", "circle_packing_example", "diversity_pca_all"),
    *("diagnostic_algo", "tsne_algo"),
)
"""The labels of all figures of the paper but its drawing of the method."""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small runs: of packings by two methods, of an equation and of molecules by one."""
    folder = tmp_path_factory.mktemp("runs")
    small = [f"outputs={folder}", "evaluator.workers=1"]
    for method in ("ea", "pt"):
        run_here("task=circle_packing", f"method={method}", "budget.oracle_calls=6", *small)
    run_here("task=equation", "task.problem=builtin/reaction3", "budget.oracle_calls=6", *small)
    run_here("task=jnk3", "task.initial.size=5", "budget.oracle_calls=20", *small)
    return folder


def names(folder: Path, ending: str = "svg") -> set[str]:
    return {file.stem for file in folder.glob(f"*.{ending}")}


def test_every_figure_of_the_paper_is_in_the_catalog() -> None:
    labels = [kind.label for kind in FIGURES if kind.label is not None]
    assert labels == [f"fig:{name}" for name in PAPER]


def test_what_runs_can_fill_is_drawn_as_svg_and_png_and_listed(
    outputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only = ["circle_trajectory", "sr-score-trajectory", "sr-div-embed", "diversity_pca_all", "si_mol_chembl"]
    assert write([outputs], tmp_path, only, None) == 0
    drawn = names(tmp_path)
    assert drawn == names(tmp_path, "png")
    suffix = "off_budget.oracle_calls=6"
    assert drawn == {
        *(f"{name}_{suffix}" for name in ("circle_trajectory", "diversity_pca_all")),
        *(f"{name}_off_lm_budget.oracle_calls=6" for name in ("sr-score-trajectory", "sr-div-embed")),
    }
    page = (tmp_path / "README.md").read_text()
    assert drawn <= set(re.findall(r"!\[([^]]*)]", page))
    assert "evodiverse -m +experiment=algo_classical method=ea,island,ensemble,pt" in page
    told = capsys.readouterr().out
    assert "circle_trajectory: 1 drawn\n" in told
    assert told.splitlines()[-1].endswith(f"of 4 complete runs. {tmp_path}/README.md")


def test_by_default_one_line_names_the_figures_without_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_toy(tmp_path / "runs", "budget.oracle_calls=40")
    write([tmp_path / "runs"], None, [], None)
    assert "missing for" not in (told := capsys.readouterr().out)
    assert re.search(r"No runs for mol, .*, sweep; --all lists", told)
    write([tmp_path / "runs"], None, [], None, with_empty=True)
    assert "mol: no runs for it yet\n    missing for" in capsys.readouterr().out


def test_pdf_files_are_written_on_request_and_deleted_like_the_others(outputs: Path, tmp_path: Path) -> None:
    write([outputs], tmp_path, ["circle_trajectory"], None, formats=["pdf"])
    (file,) = tmp_path.glob("*.pdf")
    content = file.read_bytes()
    assert content.startswith(b"%PDF")
    assert b"CreationDate" not in content
    assert file.stem in names(tmp_path)
    write([outputs], tmp_path, ["circle_trajectory"], None)
    assert not names(tmp_path, "pdf")


def test_the_best_program_is_next_to_its_packing(outputs: Path, tmp_path: Path) -> None:
    write([outputs], tmp_path, ["circle_packing_example"], None)
    (program,) = tmp_path.glob("*.py")
    assert "def construct_packing" in program.read_text()


def test_the_same_logs_give_the_same_files(outputs: Path, tmp_path: Path) -> None:
    only = ["circle_trajectory", "tsne_algo", "circle_packing_example"]
    for folder in ("one", "other"):
        write([outputs], tmp_path / folder, only, None)
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "other" / file.name).read_bytes(), file.name


def test_in_a_folder_runs_with_other_overrides_are_left_out_and_named_by_themselves_they_are_drawn(
    outputs: Path, tmp_path: Path
) -> None:
    write([outputs], tmp_path / "folder", ["diverse_molecules"], None)
    assert not names(tmp_path / "folder")
    (run,) = outputs.glob("jnk3/pt/off/*/seed0")
    write([run], tmp_path / "named", ["diverse_molecules"], None)
    (drawn,) = names(tmp_path / "named")
    assert drawn.startswith("diverse_molecules_jnk3_off_budget.oracle_calls=20_task.initial.size=5")


def test_without_runs_every_figure_is_listed_with_what_would_fill_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert write([tmp_path], None, [], None) == 0
    assert not names(tmp_path / "figures")
    page, told = (tmp_path / "figures" / "README.md").read_text(), capsys.readouterr().out
    for kind in FIGURES:
        assert f"### {kind.name}: " in page
        assert f"{kind.name}: " in told
    assert page.count("\n    evodiverse") >= len(FIGURES)


def test_figures_that_an_earlier_call_wrote_are_deleted_and_others_stay(outputs: Path, tmp_path: Path) -> None:
    write([outputs], tmp_path, ["circle_trajectory"], None)
    (tmp_path / "mine.svg").write_text("mine")
    write([outputs], tmp_path, ["circle_packing_example"], None)
    assert names(tmp_path) == {"circle_packing_example_off_budget.oracle_calls=6", "mine"}


def test_a_damaged_run_is_named_and_costs_no_figure_of_others(
    outputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "runs"
    shutil.copytree(outputs, copy)
    damaged = next(copy.glob("circle_packing/pt/off/*/seed0"))
    next(damaged.glob("evaluations/part-*.parquet")).write_bytes(b"no parquet")
    assert write([copy], tmp_path / "figures", ["circle_trajectory"], None) == 2
    assert len(names(tmp_path / "figures")) == 1
    assert str(damaged) in capsys.readouterr().err


def test_an_invalid_packing_is_reported_in_one_line(
    outputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evodiverse.tasks.programs.circle_packing.view.MOST_CIRCLES", 1)
    assert write([outputs], tmp_path, ["circle_packing_example"], None) == 2
    assert not names(tmp_path)
    assert re.search(r"evodiverse: .* call \d+ cannot be drawn \(it is not a list of .*\)", capsys.readouterr().err)


def test_runs_of_domains_without_metrics_are_skipped(tmp_path: Path) -> None:
    run_toy(tmp_path / "runs", "budget.oracle_calls=40")
    assert write([tmp_path / "runs"], tmp_path / "figures", [], None) == 0
    assert {name.partition("_")[0] for name in names(tmp_path / "figures")} <= {"best", "lineage", "round"}


def test_a_copy_of_a_run_in_another_folder_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("one", "two"):
        write_run(tmp_path / folder / "seed0", {"c1ccccc1": 0.9, "CCO": 0.3}, [[[1, 2], [1]], [[1, 2], [2]]])
    write([tmp_path / "one", tmp_path / "two"], tmp_path / "figures", ["circle_trajectory"], None)
    assert "figures of 1 complete run (1 run repeated later left out)." in capsys.readouterr().out


def test_hostile_names_of_runs_stay_in_the_folder_and_out_of_the_markup(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "seed0"
    overrides = {"budget.usd": "../../$x$<script>\n![](http://example.org)"}
    write_run(run, {"c1ccccc1": 0.9, "CCO": 0.3}, [[[1, 2], [1]], [[1, 2], [2]]], overrides=overrides)
    write([run], tmp_path / "figures", ["lineage"], None)
    assert {file.parent for file in tmp_path.rglob("*.svg")} == {tmp_path / "figures"}
    page = (tmp_path / "figures" / "README.md").read_text()
    assert "<script>" not in page.replace("\\<script\\>", "")


def test_an_unknown_figure_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--only nothing is unknown; expected one of mol, "):
        write([tmp_path], None, ["nothing"], None)
    with pytest.raises(InputError, match="is not a folder; name a run directory or a folder of runs"):
        write([tmp_path / "absent"], None, [], None)


def test_without_umap_the_list_says_what_to_install(
    outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("evodiverse.results.figures.space.find_spec", lambda name: None)
    assert write([outputs], tmp_path, ["si_mol_chembl"], None) == 0
    assert capsys.readouterr().out.startswith(
        "si_mol_chembl: needs umap-learn; run pip install 'evodiverse[projections]'\n"
    )


def test_a_figure_that_fails_is_named_and_costs_no_other_figure(
    outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("nothing to divide by")

    monkeypatch.setattr("evodiverse.results.figures.packings.read_texts", fail)
    assert write([outputs], tmp_path, ["circle_trajectory", "diversity_pca_all"], None) == 2
    assert names(tmp_path) == {"diversity_pca_all_off_budget.oracle_calls=6"}
    told = capsys.readouterr().err
    assert "circle_trajectory_off_budget.oracle_calls=6 cannot be drawn (ZeroDivisionError: " in told
