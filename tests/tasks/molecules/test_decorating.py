"""The molecules that a run with a scaffold starts from."""

import logging
from pathlib import Path

import pytest
from rdkit import Chem

from evodiverse.data.cache import artifact_path
from evodiverse.errors import InputError
from evodiverse.tasks.molecules import decorating
from evodiverse.tasks.molecules.decorating import BUILT, ScaffoldLibrary
from evodiverse.tasks.molecules.filters.filters import build_filters
from evodiverse.tasks.molecules.initial import Library, Molecule, open_library, read_published
from evodiverse.tasks.molecules.parsing import Reader
from evodiverse.tasks.molecules.scaffold import Scaffold
from evodiverse.vocabulary import Stream
from tests.tasks.molecules.cores import N_POSITIONS, has_core
from tests.tasks.molecules.drugs import DRUGS

CORE = "[*:1]c1ccc([*:2])cc1"


def opened(
    core: str = CORE, smiles: tuple[str, ...] = DRUGS, filters: object = None, max_heavy_atoms: int = 80
) -> ScaffoldLibrary:
    built = build_filters(filters, Scaffold(core))
    assert built is not None
    return ScaffoldLibrary(Library(smiles), Scaffold(core), built, max_heavy_atoms)


def draw(library: ScaffoldLibrary, size: int, seed: int = 0) -> list[Molecule]:
    return library.sample(size, Stream(seed, 1).rng())


@pytest.mark.parametrize("core", N_POSITIONS)
def test_all_that_is_drawn_has_the_core_and_nothing_is_drawn_twice(core: str) -> None:
    drawn = [molecule.smiles for molecule in draw(opened(core), 40)]
    assert len(set(drawn)) == 40
    assert all(has_core(core, smiles) and Scaffold(core).is_in(Chem.MolFromSmiles(smiles)) for smiles in drawn)


def test_a_stream_draws_the_same_again_and_others_differ() -> None:
    draws = [tuple(draw(opened(), 20, seed)) for seed in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]


def test_the_molecules_of_the_library_with_the_core_come_first() -> None:
    own = ("Cc1ccc(F)cc1", "Oc1ccccc1", "CCO", "CCNCC", "Cc1cccc(F)c1")
    drawn = draw(opened(smiles=own), 6)
    assert {molecule.smiles for molecule in drawn[:2]} == set(own[:2])
    assert [molecule.line for molecule in drawn[2:]] == [BUILT] * 4


def test_molecules_of_a_file_have_their_lines_and_others_have_none(tmp_path: Path) -> None:
    (tmp_path / "own.smi").write_text("CCO\nCc1ccc(F)cc1\nCCNCC(=O)O\n")
    library = open_library(str(tmp_path / "own.smi"), None, Reader(80), skip_invalid=True)
    filters = build_filters(None, Scaffold(CORE))
    assert filters is not None
    scaffolded = ScaffoldLibrary(library, Scaffold(CORE), filters, 80)
    assert scaffolded.names_lines
    assert [molecule.line for molecule in draw(scaffolded, 3)] == [2, BUILT, BUILT]


def test_substituents_are_the_smaller_sides_of_the_librarys_bonds() -> None:
    drawn = {molecule.smiles for molecule in draw(opened("[*:1]c1ccccc1", ("CCCCO", "OC1CCCCC1")), 100)}
    assert drawn == {Chem.CanonSmiles(f"{group}c1ccccc1") for group in ("C", "CC", "O", "OC")}


def test_two_other_atoms_than_carbon_are_never_bound_to_each_other() -> None:
    drawn = draw(opened("O=C1CCCCN1[*:1]"), 60)
    bonds = Chem.MolFromSmarts("[#7;R]-;!@[!#6]")
    assert not any(Chem.MolFromSmiles(molecule.smiles).HasSubstructMatch(bonds) for molecule in drawn)


def test_what_filters_reject_and_what_is_too_large_is_passed_over() -> None:
    drawn = draw(opened(filters={"elements": ["C", "O"]}, max_heavy_atoms=12), 20)
    for molecule in drawn:
        atoms = Chem.MolFromSmiles(molecule.smiles).GetAtoms()
        assert len(atoms) <= 12
        assert {atom.GetSymbol() for atom in atoms} <= {"C", "O"}


def test_a_library_too_small_gives_what_there_is_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        drawn = draw(opened("[*:1]c1ccccc1", ("CCO", "Cc1ccccc1")), 9)
    assert {molecule.smiles for molecule in drawn} == {"Cc1ccccc1", "Oc1ccccc1"}
    assert caplog.messages == [
        "a pool starts from 2 molecules with the scaffold, 1 of them built by the program",
        "9 were requested, but no more were found; see task.initial.path",
    ]


@pytest.mark.parametrize(
    ("smiles", "filters", "rejected"),
    [(("C1CCCCC1",), None, ""), (("CCO",), {"elements": ["N"]}, " (rejected by: element ")],
)
def test_no_start_is_an_error_that_says_what_to_do(
    smiles: tuple[str, ...], filters: object, rejected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decorating, "_PATIENCE", 50)
    with pytest.raises(InputError) as caught:
        draw(opened(smiles=smiles, filters=filters), 5)
    (violation,) = caught.value.violations
    assert violation.startswith(
        f"task.scaffold: no molecule to start from could be built with substituents of the library{rejected}"
    )
    assert violation.endswith("; loosen task.filters, or provide molecules with the scaffold with task.initial.path")


def test_the_library_that_screening_rates_has_the_core_throughout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decorating, "WHOLE", 200)
    published = Library(read_published(artifact_path("zinc250k")).smiles[:200])
    core = "[*:1]c1ccc(C(=O)N[*:2])cc1"
    filters = build_filters(None, Scaffold(core))
    assert filters is not None
    libraries = [ScaffoldLibrary(published, Scaffold(one), filters, 80) for one in (core, core, CORE)]
    first, again = (library.all_smiles() for library in libraries[:2])
    assert first == again
    assert len(set(first)) == len(first) > 100
    assert all(has_core(core, smiles) for smiles in first)
    digests = [library.digest() for library in libraries]
    assert digests[0] == digests[1] != digests[2]


def test_measured_scores_of_molecules_with_the_core_are_known(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("smiles,activity\nCCO,0.25\nCc1ccc(F)cc1,0.75\n")
    library = open_library(str(tmp_path / "own.csv"), None, Reader(80), skip_invalid=True, measured="activity")
    filters = build_filters(None, Scaffold(CORE))
    assert filters is not None
    scaffolded = ScaffoldLibrary(library, Scaffold(CORE), filters, 80)
    assert [scaffolded.scores.get(molecule.smiles) for molecule in draw(scaffolded, 3)] == [0.75, None, None]
