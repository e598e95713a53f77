"""What filters find against molecules, each checked against a molecule that is known to have it."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem
from rdkit.Chem import Descriptors

from evodiverse.tasks.molecules.filters.filters import Filters, build_filters, find_rejection, parse_filtered
from evodiverse.tasks.molecules.parsing import parse_smiles
from evodiverse.vocabulary import Hypothesis, Reason, Rejection
from tests.tasks.molecules.drugs import DRUGS

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"  # 180.16 g/mol, an ester of phenol for Brenk
RHODANINE = "O=C1CSC(=S)N1CC=Cc1ccccc1"
CYCLODECANE = "C1CCCCCCCCC1"


def build(value: Any) -> Filters:
    filters = build_filters(value)
    assert filters is not None
    return filters


def faults(value: Any, smiles: str) -> list[str]:
    return list(build(value).find_faults(smiles))


@pytest.mark.parametrize(
    ("value", "smiles", "expected"),
    [
        ({"catalogs": ["PAINS"]}, RHODANINE, ["PAINS rhod_sat_A"]),
        ({"catalogs": ["BRENK"]}, "CC(=O)Cl", ["BRENK acid_halide"]),
        ({"catalogs": ["NIH"]}, "COOC", ["NIH peroxide"]),
        ({"catalogs": ["PAINS", "BRENK", "NIH"]}, "CCO", []),
        ({"elements": ["C", "O"]}, "C[Si](C)(O)CBr", ["element Si", "element Br"]),
        ({"elements": ["C", "O"]}, "[2H]C([2H])O", []),
        ({"max_ring_size": 8}, CYCLODECANE, ["ring of 10 atoms, at most 8"]),
        ({"max_ring_size": 10}, CYCLODECANE, []),
        ({"max_ring_size": 6}, "c1ccc2ccccc2c1", []),  # naphthalene's outer ring is none of the smallest
        ({"ranges": {"weight": [None, 180.1]}}, ASPIRIN, ["weight 180.2 above 180.1"]),
        ({"ranges": {"weight": [180.16, None]}}, ASPIRIN, ["weight 180.159 below 180.16"]),
        ({"ranges": {"weight": [200, 300]}}, ASPIRIN, ["weight 180.2 below 200"]),
        ({"ranges": {"rings": [2, None], "donors": [None, 0]}}, ASPIRIN, ["rings 1 below 2", "donors 1 above 0"]),
        ({"ranges": {"rings": [1, 1]}}, ASPIRIN, []),
        ({"smarts": {"acid": "C(=O)[OH]", "nitro": "[N+](=O)[O-]"}}, ASPIRIN, ["smarts acid"]),
        ({"require": {"ring": "c1ccccc1", "amine": "[NH2]"}}, ASPIRIN, ["require amine"]),
        ({"similar_to": {"smiles": ASPIRIN, "least": 0.9}}, ASPIRIN, []),
        ({"similar_to": {"smiles": [ASPIRIN, "CCO"], "most": 0.9}}, ASPIRIN, ["similarity 1 above 0.9"]),
        ({"similar_to": {"smiles": ASPIRIN, "least": 0.5, "fingerprint": "RDK"}}, "CCN", ["similarity 0.0 below 0.5"]),
        ({"set": "medchem", "without": ["BRENK"]}, ASPIRIN, []),
        ({"set": "medchem", "without": "BRENK"}, "COOC", ["NIH peroxide"]),
    ],
)
def test_a_filter_says_what_it_found(value: Any, smiles: str, expected: list[str]) -> None:
    assert faults(value, smiles) == expected


def test_a_rejection_names_the_first_filter() -> None:
    rejection = find_rejection(build("medchem"), "C[Si](C)(C)OO")
    assert str(rejection) == "filtered: element Si"
    assert find_rejection(build("medchem"), "CCO") is None


def test_a_known_molecule_is_told_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "known.smi").write_text("OCC ethanol\n")
    filters = build({"novel": str(tmp_path / "known.smi")})
    assert [str(find_rejection(filters, smiles)) for smiles in ("CCO", "CCN")] == ["filtered: in known.smi", "None"]


def test_text_is_parsed_before_it_is_filtered() -> None:
    filters = build({"elements": ["C"]})
    assert parse_filtered("C((", 80, filters) == parse_smiles("C((", 80)
    assert parse_filtered("OC", 80, filters) == Rejection(Reason.FILTERED, "element O")
    assert parse_filtered("C(C)", 80, filters) == Hypothesis("CC", "CC")
    assert parse_filtered("OC", 80, None) == Hypothesis("CO", "CO")


def test_filters_that_were_sent_to_a_worker_find_the_same(tmp_path: Path) -> None:
    (tmp_path / "known.smi").write_text("CCO\n")
    filters = build({"set": "medchem", "novel": str(tmp_path / "known.smi"), "smarts": {"acid": "C(=O)[OH]"}})
    sent = pickle.loads(pickle.dumps(filters))
    molecules = [*DRUGS, "CCO", RHODANINE, CYCLODECANE]
    assert [list(sent.find_faults(smiles)) for smiles in molecules] == [
        list(filters.find_faults(smiles)) for smiles in molecules
    ]


@given(st.sampled_from(DRUGS), st.floats(0, 600), st.floats(0, 600))
def test_a_molecule_passes_a_range_if_its_property_lies_within(smiles: str, one: float, other: float) -> None:
    low, high = sorted((one, other))
    weight = Descriptors.MolWt(Chem.MolFromSmiles(smiles))
    found = faults({"ranges": {"weight": [low, high]}}, smiles)
    assert (found == []) == (low <= weight <= high)


@given(st.sampled_from(DRUGS), st.integers(0, 10**6))
def test_a_verdict_does_not_depend_on_how_a_molecule_is_written(smiles: str, seed: int) -> None:
    filters = build({"set": "medchem", "smarts": {"acid": "C(=O)[OH]"}})
    other = Chem.MolToRandomSmilesVect(Chem.MolFromSmiles(smiles), 1, seed)[0]
    assert parse_filtered(other, 80, filters) == parse_filtered(smiles, 80, filters)
