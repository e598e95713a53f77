"""The diversity-aware selection, against its definition and by hand."""

from statistics import fmean

import numpy as np
import pytest
from rdkit import Chem, rdBase
from rdkit.Chem import AllChem

from evodiverse.data.cache import artifact_path
from evodiverse.tasks.molecules.diversity import SIMILARITY_LIMIT, diverse_top_mean, fingerprint, select_by_average
from evodiverse.tasks.molecules.parsing import NoMoleculeError

# Tanimoto similarities, counted by hand from the bits: 5/9 and 5/13 to ethanol, 7/13 to each other.
ETHANOL, PROPANOL, PENTANOL = "CCO", "CCCO", "CCCCCO"
BENZENE, DICHLOROMETHANE = "c1ccccc1", "ClCCl"  # no bit in common with each other or with the alcohols


@pytest.fixture(scope="module")
def zinc() -> list[str]:
    return artifact_path("zinc250k").read_text().split()[100::6300]


def legacy_bits(smiles: str) -> set[int]:
    with rdBase.BlockLogs():  # a note that another function is preferred
        return set(AllChem.GetMorganFingerprintAsBitVect(Chem.MolFromSmiles(smiles), 2, 2048).GetOnBits())


def select_by_definition(smiles: list[str], scores: list[float], count: int, limit: float) -> list[int]:
    """The paper's rule, in sets of bits."""
    bits = [legacy_bits(text) for text in smiles]
    selected: list[int] = []
    for index in sorted(range(len(smiles)), key=lambda index: scores[index], reverse=True):
        similarities = [len(bits[index] & bits[other]) / len(bits[index] | bits[other]) for other in selected]
        if len(selected) < count and (not selected or fmean(similarities) < limit):
            selected.append(index)
    return selected


def select(*smiles: str, count: int = 10, limit: float = SIMILARITY_LIMIT) -> list[str]:
    """What is selected of molecules given in the order of falling score."""
    scores = np.linspace(0.9, 0.1, len(smiles))
    return [smiles[index] for index in select_by_average(smiles, scores, count, limit)]


# Fingerprints


def test_fingerprints_have_the_bits_of_morgan_radius_2_over_2048(zinc: list[str]) -> None:
    assert [set(fingerprint(smiles).GetOnBits()) for smiles in zinc] == [legacy_bits(smiles) for smiles in zinc]


def test_stereoisomers_have_one_fingerprint() -> None:
    assert fingerprint("C[C@@H](N)C(=O)O") == fingerprint("C[C@H](N)C(=O)O")


# Selection


@pytest.mark.parametrize("limit", [0.05, 0.1, 0.11, 0.12, 0.13, 0.14, 0.15, 0.4, 1.0])
@pytest.mark.parametrize("count", [3, 10, 40])
def test_a_selection_is_that_of_the_definition(zinc: list[str], limit: float, count: int) -> None:
    scores = np.random.default_rng(4).random(len(zinc))
    expected = select_by_definition(zinc, scores.tolist(), count, limit)
    assert select_by_average(zinc, scores, count, limit) == expected


def test_the_example_from_zinc_has_molecules_that_are_refused(zinc: list[str]) -> None:
    scores = np.random.default_rng(4).random(len(zinc))
    assert len(zinc) == 40
    assert 5 < len(select_by_average(zinc, scores, 40, limit=0.12)) < 35


def test_the_order_of_the_molecules_does_not_matter_when_scores_differ(zinc: list[str]) -> None:
    scores = np.random.default_rng(5).random(len(zinc))
    forward = select_by_average(zinc, scores, 10, limit=0.12)
    backward = select_by_average(zinc[::-1], scores[::-1], 10, limit=0.12)
    assert [len(zinc) - 1 - index for index in backward] == forward


def test_molecules_are_selected_by_falling_score() -> None:
    assert select_by_average([ETHANOL, BENZENE, DICHLOROMETHANE], np.array([0.2, 0.7, 0.5]), 2) == [1, 2]


def test_a_molecule_like_one_taken_is_refused() -> None:
    assert select(ETHANOL, PROPANOL, BENZENE) == [ETHANOL, BENZENE]


def test_the_average_similarity_counts_not_the_largest() -> None:
    assert select(ETHANOL, BENZENE, PROPANOL) == [ETHANOL, BENZENE, PROPANOL]


def test_molecules_that_were_refused_are_not_compared_with() -> None:
    assert select(ETHANOL, PROPANOL, PENTANOL) == [ETHANOL, PENTANOL]


@pytest.mark.parametrize(("limit", "n_selected"), [(0.375, 1), (np.nextafter(0.375, 1), 2)])
def test_a_similarity_must_stay_below_the_limit(limit: float, n_selected: int) -> None:
    assert len(select(ETHANOL, "OCCO", limit=limit)) == n_selected  # 3 of 8 bits


@pytest.mark.parametrize(("other", "n_selected"), [("CCCCO", 1), (PENTANOL, 2)])
def test_the_limit_is_the_papers_unless_told_otherwise(other: str, n_selected: int) -> None:
    scores = np.array([0.9, 0.8])
    assert len(select_by_average([ETHANOL, other], scores, 10)) == n_selected  # 5 of 12 bits, 5 of 13 bits


def test_the_best_molecule_is_taken_under_any_limit() -> None:
    assert select(ETHANOL, BENZENE, limit=0.0) == [ETHANOL]


def test_of_stereoisomers_one_is_taken() -> None:
    assert select("C[C@@H](N)C(=O)O", "C[C@H](N)C(=O)O") == ["C[C@@H](N)C(=O)O"]


def test_equal_scores_keep_the_order_given(zinc: list[str]) -> None:
    assert select_by_average(zinc, np.tile([0.25, 0.5], 20), 40, limit=1.0) == [*range(1, 40, 2), *range(0, 40, 2)]


def test_nothing_fills_up_a_short_selection() -> None:
    assert select(ETHANOL, PROPANOL, "CCCCO", count=3) == [ETHANOL]


def test_no_more_than_asked_for_are_selected() -> None:
    assert select(ETHANOL, BENZENE, DICHLOROMETHANE, count=2) == [ETHANOL, BENZENE]


@pytest.mark.parametrize(("smiles", "count"), [([], 10), ([ETHANOL], 0)])
def test_nothing_is_selected_of_nothing_or_when_nothing_is_asked_for(smiles: list[str], count: int) -> None:
    assert select_by_average(smiles, np.ones(len(smiles)), count) == []


# Mean


def test_the_mean_is_of_the_selected_alone() -> None:
    scores = np.array([0.9, 0.8, 0.1])
    assert diverse_top_mean([ETHANOL, PROPANOL, BENZENE], scores) == pytest.approx((0.9 + 0.1) / 2)


def test_the_mean_is_of_the_ten_best_unless_told_otherwise(zinc: list[str]) -> None:
    scores = np.arange(40) / 40
    assert diverse_top_mean(zinc, scores) == pytest.approx(34.5 / 40)


def test_the_mean_of_fewer_than_asked_for_is_theirs() -> None:
    assert diverse_top_mean([ETHANOL, BENZENE], np.array([0.2, 0.7]), count=100) == pytest.approx(0.45)


def test_the_mean_of_no_molecules_is_not_a_number() -> None:
    assert np.isnan(diverse_top_mean([], np.array([])))


@pytest.mark.parametrize("hostile", ["\x1b[31m", "C(", "no molecule", "C%10" * 3])
def test_what_no_run_logs_is_refused_in_one_line(hostile: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NoMoleculeError, match="cannot be measured"):
        fingerprint(hostile)
    assert capfd.readouterr().err == ""


def test_a_cage_on_which_rdkit_would_work_for_minutes_is_refused() -> None:
    cage = "C12C3C4C1C1C4C4C1C1C4C4C1C1C4C4C1C1C4C4C1C1C5C6C7C8C9C%10C%11C%12C2C3C%12C%11C%10C9C8C7C6C5C41"
    with pytest.raises(NoMoleculeError, match="21 rings, at most 18"):
        fingerprint(cage)
