"""The dataset ``docking/`` of a run."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from rdkit import Chem
from rdkit.Chem import rdDistGeom

from evodiverse.docking.dataset import describe_docking, find_done, write_docking
from evodiverse.docking.docked import Docked
from evodiverse.errors import InputError
from evodiverse.runlog.runs import Run
from tests.docking.receptors import SETTINGS, make_job
from tests.results.builders import write_run
from tests.runs import rows


def pose(smiles: str) -> str:
    molecule = Chem.AddHs(Chem.MolFromSmiles(smiles))
    rdDistGeom.EmbedMolecule(molecule, randomSeed=1)
    return Chem.MolToMolBlock(molecule)


RESULTS: Mapping[str, Docked] = {
    "CCO": Docked(-3.0, pose("CCO")),
    "CCN": Docked(None, error="RDKit finds no conformer"),
    "CCC": Docked(-4.5, pose("CCC")),
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return write_run(tmp_path / "run", dict.fromkeys(RESULTS, 0.5), [[[1, 2, 3]]])


@pytest.fixture
def record(tmp_path: Path) -> dict[str, object]:
    return describe_docking(make_job(tmp_path).target, SETTINGS)


def test_rows_have_a_score_or_an_error(run: Run, record: dict[str, object]) -> None:
    write_docking(run, record, RESULTS)
    assert rows(run.path, "docking") == [
        {"key": "CCO", "score": -3.0, "error": None},
        {"key": "CCN", "score": None, "error": "RDKit finds no conformer"},
        {"key": "CCC", "score": -4.5, "error": None},
    ]


def test_poses_have_coordinates_and_are_sorted_best_first(run: Run, record: dict[str, object]) -> None:
    write_docking(run, record, RESULTS)
    poses = list(Chem.SDMolSupplier(str(run.path / "docking" / "poses.sdf"), removeHs=False))
    assert [(each.GetProp("key"), float(each.GetProp("score"))) for each in poses] == [("CCC", -4.5), ("CCO", -3.0)]
    assert [Chem.MolToSmiles(Chem.RemoveHs(each)) for each in poses] == ["CCC", "CCO"]
    assert all(each.GetConformer().Is3D() for each in poses)


def test_nothing_else_in_the_run_changes(run: Run, record: dict[str, object]) -> None:
    def content() -> dict[Path, bytes]:
        files = (path for path in run.path.rglob("*") if path.is_file())
        return {path: path.read_bytes() for path in files if path.parent.name != "docking" and path.name != ".lock"}

    before = content()
    write_docking(run, record, RESULTS)
    write_docking(run, record, RESULTS)
    assert content() == before
    assert [path.name for path in run.path.glob(".docking*")] == []


def test_the_scores_of_the_same_docking_are_found(run: Run, record: dict[str, object]) -> None:
    assert find_done(run, record, overwrite=False) == {}
    write_docking(run, record, RESULTS)
    assert find_done(run, record, overwrite=False) == {"CCO": -3.0, "CCC": -4.5}
    assert find_done(run, record, overwrite=True) == {}


def test_a_different_docking_is_not_overwritten_unless_requested(run: Run, record: dict[str, object]) -> None:
    write_docking(run, record, RESULTS)
    other = record | {"receptor_sha256": "0" * 64, "settings": {}}
    with pytest.raises(InputError, match=r"was made with a different receptor_sha256, settings; use --overwrite"):
        find_done(run, other, overwrite=False)
    assert find_done(run, other, overwrite=True) == {}
    write_docking(run, other, {"CCO": RESULTS["CCO"]})
    assert len(rows(run.path, "docking")) == 1


def test_a_docking_of_unknown_origin_is_not_overwritten(run: Run, record: dict[str, object]) -> None:
    (run.path / "docking").mkdir()
    with pytest.raises(InputError, match=r"docking has no readable record of how it was made \(.*\); use --overwrite"):
        find_done(run, record, overwrite=False)


def test_nothing_is_written_through_a_link(run: Run, record: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (run.path / "docking").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="docking is a link"):
        find_done(run, record, overwrite=True)
    with pytest.raises(InputError, match="docking is a link"):
        write_docking(run, record, RESULTS)
    assert list((tmp_path / "elsewhere").iterdir()) == []
