"""Ligands, and AutoDock Vina itself if it is installed."""

from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from math import dist
from pathlib import Path

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import rdMolTransforms

from evodiverse.data.cache import artifact_folder
from evodiverse.docking import vina
from evodiverse.docking.docked import Docked, Job, Settings, dock_each
from evodiverse.docking.target import read_target, read_vina_box
from evodiverse.docking.vina import LigandError, check_installed, embed, find_versions, read_pose, write_ligand
from evodiverse.errors import InputError

BENZAMIDE = "NC(=O)c1ccccc1"
ABSENT = [module for module in ("vina", "meeko", "gemmi") if find_spec(module) is None]
needs_vina = pytest.mark.skipif(bool(ABSENT), reason=f"pip install 'evodiverse[docking]': no {', '.join(ABSENT)}")


def coordinates(molecule: Chem.Mol) -> np.ndarray:
    return np.array(molecule.GetConformer().GetPositions())


def heavy_distances(molecule: Chem.Mol) -> np.ndarray:
    """Return all distances between heavy atoms, sorted."""
    return np.sort(Chem.Get3DDistanceMatrix(Chem.RemoveHs(molecule)), axis=None)


def test_missing_packages_are_named_with_the_extra_that_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vina, "find_spec", lambda name: None if name in ("vina", "gemmi") else object())
    with pytest.raises(InputError, match=r"^docking needs vina and gemmi; run pip install 'evodiverse\[docking\]'$"):
        check_installed()


def test_a_conformer_has_all_hydrogens_and_depends_on_its_seed() -> None:
    first, again, other = (embed(BENZAMIDE, seed) for seed in (1, 1, 2))
    assert first.GetNumAtoms() == 16
    assert np.array_equal(coordinates(first), coordinates(again))
    assert not np.allclose(coordinates(first), coordinates(other))


def test_a_conformer_is_relaxed() -> None:
    ring = rdMolTransforms.GetBondLength(embed(BENZAMIDE, 1).GetConformer(), 4, 5)
    assert ring == pytest.approx(1.39, abs=0.02)


def test_charges_and_stereocenters_are_those_of_the_smiles() -> None:
    molecule = Chem.RemoveHs(embed("C[C@H]([NH3+])C(=O)[O-]", 1))
    Chem.AssignStereochemistryFrom3D(molecule)
    assert Chem.MolToSmiles(molecule) == Chem.CanonSmiles("C[C@H]([NH3+])C(=O)[O-]")


def test_a_molecule_that_cannot_be_embedded_has_no_conformer() -> None:
    with pytest.raises(LigandError, match="RDKit finds no conformer"):
        embed("C1C2CC3CC1C#CC23", 1)


@pytest.mark.slow
@pytest.mark.weekly
@needs_vina
def test_a_ligand_is_unchanged_after_writing_and_reading() -> None:
    molecule = embed(BENZAMIDE, 1)
    pdbqt = f"MODEL 1\n{write_ligand(molecule)}ENDMDL\n"
    read = Chem.MolFromMolBlock(read_pose(pdbqt), removeHs=False)
    assert Chem.MolToSmiles(Chem.RemoveHs(read)) == Chem.CanonSmiles(BENZAMIDE)
    assert np.allclose(heavy_distances(read), heavy_distances(molecule), atol=5e-3)


@pytest.fixture
def job() -> Job:
    folder = artifact_folder("mapk14")
    target = read_target("mapk14", folder / "receptor.pdbqt", read_vina_box(folder / "box.txt"))
    return Job(BENZAMIDE, target, Settings(1, find_versions()))


@pytest.fixture
def docked(job: Job) -> Iterator[Docked]:
    with closing(dock_each([job], vina.dock, 1)) as docking:
        yield next(docking)[1]


@pytest.mark.slow
@pytest.mark.weekly
@pytest.mark.timeout(900)
@needs_vina
def test_a_small_ligand_binds_in_the_pocket_of_mapk14(job: Job, docked: Docked) -> None:
    assert docked.error == ""
    assert docked.score is not None
    assert -7 < docked.score < -4  # a fragment of nine heavy atoms: about 0.6 kcal/mol each
    pose = Chem.MolFromMolBlock(docked.pose, removeHs=False)
    assert Chem.MolToSmiles(Chem.RemoveHs(pose)) == Chem.CanonSmiles(BENZAMIDE)
    assert all(job.target.box.holds(point) for point in coordinates(pose).tolist())
    lines = job.target.receptor.read_text().splitlines()
    atoms = [[float(line[at : at + 8]) for at in (30, 38, 46)] for line in lines if line.startswith("ATOM")]
    nearest = min(dist(one, other) for one in atoms for other in coordinates(pose).tolist())
    assert 1.4 < nearest < 4  # it touches the protein and does not overlap with it


@pytest.mark.slow
@pytest.mark.weekly
@pytest.mark.timeout(900)
@needs_vina
def test_the_same_docking_has_the_same_result_next_to_another_one(job: Job, docked: Docked) -> None:
    both = [result for _, result in dock_each([job, job], vina.dock, 2)]
    assert both == [docked, docked]


@pytest.mark.slow
@pytest.mark.weekly
@needs_vina
def test_a_molecule_with_an_atom_that_has_no_type_fails(job: Job, tmp_path: Path) -> None:
    ((_, docked),) = dock_each([Job("C[Po]C", job.target, job.settings)], vina.dock, 1)
    assert docked.score is None
    assert docked.error
