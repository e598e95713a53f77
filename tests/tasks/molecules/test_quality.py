import pytest
from rdkit import Chem
from rdkit.Chem import QED
from rdkit.Contrib.SA_Score import sascorer

from evodiverse.tasks.molecules.properties import assess, find_scaffold
from tests.tasks.molecules.drugs import ALTERNATING, DRUGS


@pytest.mark.parametrize("smiles", DRUGS[:5])
def test_quality_is_that_of_rdkit(smiles: str) -> None:
    molecule = Chem.MolFromSmiles(smiles)
    quality = assess(smiles)
    assert (quality.qed, quality.sa_score) == (QED.qed(molecule), sascorer.calculateScore(molecule))


def test_published_values_of_aspirin() -> None:
    """QED 0.550 (Bickerton 2012); SA 1.58 (the table of RDKit's SA_Score)."""
    quality = assess("CC(=O)Oc1ccccc1C(=O)O")
    assert quality.qed == pytest.approx(0.550, abs=1e-3)
    assert quality.sa_score == pytest.approx(1.580, abs=1e-3)
    assert quality.sa == pytest.approx((10 - 1.580) / 9, abs=1e-3)


@pytest.mark.parametrize(
    ("smiles", "scaffold"), [("Cc1ccccc1CCN", "c1ccccc1"), ("CCO", ""), ("O=C1CCCN1Cc1ccncc1", "O=C1CCCN1Cc1ccncc1")]
)
def test_a_scaffold_is_the_rings_and_what_links_them(smiles: str, scaffold: str) -> None:
    assert find_scaffold(smiles) == scaffold


def test_a_scaffold_whose_canonical_form_alternates_is_one_scaffold() -> None:
    assert len({find_scaffold(text) for text in ALTERNATING[1]}) == 1
