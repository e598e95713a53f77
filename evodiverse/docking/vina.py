"""AutoDock Vina as a Python package, with ligands prepared by RDKit and Meeko (the extra ``docking``)."""

from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from rdkit import Chem, rdBase
from rdkit.Chem import rdDistGeom, rdForceFieldHelpers

from evodiverse.docking.docked import Docked, Job
from evodiverse.errors import InputError


class LigandError(ValueError):
    """A molecule cannot be prepared as a ligand."""


def check_installed() -> None:
    """Check that Vina and the packages that prepare its ligands are installed.

    Raises:
        InputError: A package is missing; the message says how to install it.
    """
    if absent := [package for package in ("vina", "meeko", "gemmi", "scipy") if find_spec(package) is None]:
        raise InputError(f"docking needs {' and '.join(absent)}; run pip install 'evodiverse[docking]'")


def find_versions() -> dict[str, str]:
    """Return the versions of the packages that affect the result, by package name."""
    return {package: version(package) for package in ("vina", "meeko", "rdkit")}


def dock(job: Job) -> Docked:
    """Dock a molecule on one thread.

    The same job has the same result, whichever process computes it.

    Raises:
        LigandError: RDKit finds no conformer, or Meeko cannot write the ligand.
    """
    from vina import Vina  # an extra

    target, settings = job.target, job.settings
    ligand = write_ligand(embed(job.key, settings.seed))
    vina = Vina(sf_name="vina", cpu=1, seed=settings.seed, verbosity=0)
    vina.set_receptor(str(target.receptor))
    vina.set_ligand_from_string(ligand)
    vina.compute_vina_maps(list(target.box.center), list(target.box.size))
    vina.dock(exhaustiveness=settings.exhaustiveness, n_poses=settings.n_poses)
    score = float(vina.energies(n_poses=1)[0][0])
    return Docked(score, read_pose(vina.poses(n_poses=1)))


def embed(smiles: str, seed: int) -> Chem.Mol:
    """Return a molecule with hydrogens and a conformer from ETKDGv3, relaxed with MMFF94 if that covers all its atoms.

    Charges are those of the SMILES. For a stereocenter that the SMILES leaves unspecified, the seed decides the
    configuration.

    Raises:
        LigandError: RDKit finds no conformer.
    """
    with rdBase.BlockLogs():
        molecule = Chem.AddHs(Chem.MolFromSmiles(smiles))
        parameters: Any = rdDistGeom.ETKDGv3()
        parameters.randomSeed = seed
        parameters.maxIterations = 50
        if rdDistGeom.EmbedMolecule(molecule, parameters) < 0:
            parameters.useRandomCoords = True
            if rdDistGeom.EmbedMolecule(molecule, parameters) < 0:
                raise LigandError("RDKit finds no conformer")
        if rdForceFieldHelpers.MMFFHasAllMoleculeParams(molecule):
            rdForceFieldHelpers.MMFFOptimizeMolecule(molecule, maxIters=2_000)
    return molecule


def write_ligand(molecule: Chem.Mol) -> str:
    """Return a molecule, which must have a conformer, in PDBQT format, with rotatable bonds chosen by Meeko.

    Raises:
        LigandError: Meeko cannot write the ligand.
    """
    from meeko import MoleculePreparation, PDBQTWriterLegacy

    (setup,) = MoleculePreparation().prepare(molecule)
    text, is_good, error = PDBQTWriterLegacy.write_string(setup)
    if not is_good:
        raise LigandError(f"Meeko cannot write the ligand ({' '.join(str(error).split())})")
    return str(text)


def read_pose(pdbqt: str) -> str:
    """Return a docked pose, given in Meeko's PDBQT format, as an MDL mol block with hydrogens."""
    from meeko import PDBQTMolecule, RDKitMolCreate

    docked: Any = PDBQTMolecule(pdbqt, skip_typing=True)
    (molecule,) = RDKitMolCreate.from_pdbqt_mol(docked)
    return Chem.MolToMolBlock(molecule)
