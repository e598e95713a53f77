"""Training a forest: what it sees, what is held out, and that it is scikit-learn's."""

import warnings

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import AllChem
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

from evodiverse.data.cache import artifact_path
from evodiverse.tasks.molecules.forest import morgan_fingerprints
from evodiverse.tasks.molecules.initial import read_published
from evodiverse.tasks.molecules.training import fit_trees, hold_out, measure_auc, number_twins, train


@pytest.fixture(scope="module")
def smiles() -> list[str]:
    """Molecules of ZINC-250K."""
    return list(read_published(artifact_path("zinc250k")).smiles[:600])


def bits_of(smiles: list[str]) -> np.ndarray:
    return morgan_fingerprints(map(Chem.MolFromSmiles, smiles))


@pytest.fixture(scope="module")
def bits(smiles) -> np.ndarray:
    return bits_of(smiles)


@pytest.fixture(scope="module")
def is_active(smiles) -> np.ndarray:
    """Whether a molecule has a ring of six that holds nitrogen, which fingerprints show, with some noise."""
    pattern = Chem.MolFromSmarts("n1ccccc1")
    has_ring = np.array([Chem.MolFromSmiles(text).HasSubstructMatch(pattern) for text in smiles])
    return has_ring ^ (np.random.default_rng(3).random(len(smiles)) < 0.05)


# Fingerprints


def test_fingerprints_have_radius_2_and_2048_bits_and_no_chirality(smiles, bits) -> None:
    few = [Chem.MolFromSmiles(text) for text in smiles[:30]]
    expected = [list(AllChem.GetMorganFingerprintAsBitVect(mol, 2, 2048, useChirality=False)) for mol in few]
    np.testing.assert_array_equal(bits[:30], expected)


# Twins


def test_twins_are_copies_and_stereoisomers() -> None:
    twins = number_twins(bits_of(["C[C@H](N)O", "CCC", "C[C@@H](N)O", "CC=O", "CCC"]))
    assert twins[0] == twins[2]
    assert twins[1] == twins[4]
    assert len(set(twins.tolist())) == 3


# The held-out part


def test_a_quarter_of_each_class_is_held_out() -> None:
    is_active = np.arange(400) < 40
    is_test = hold_out(np.arange(400), is_active, np.random.default_rng(0))
    assert (is_test[is_active].sum(), is_test[~is_active].sum()) == (10, 90)


def test_twins_stay_in_one_part() -> None:
    rng = np.random.default_rng(5)
    twins = rng.integers(0, 60, 300)
    is_test = hold_out(twins, rng.random(300) < 0.3, rng)
    assert not set(twins[is_test]) & set(twins[~is_test])
    assert 60 <= is_test.sum() <= 110


def test_the_held_out_part_depends_on_the_seed_alone() -> None:
    twins, is_active = np.arange(100), np.arange(100) % 3 == 0
    drawn = [hold_out(twins, is_active, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any()


# Training


def test_the_forest_is_scikit_learns_of_default_settings(bits, is_active) -> None:
    theirs = RandomForestClassifier(random_state=7).fit(bits[:450], is_active[:450])
    forest = train(bits[:450], is_active[:450], seed=7)
    assert forest.roots.size == 100
    np.testing.assert_allclose(forest.predict(bits[450:]), theirs.predict_proba(bits[450:])[:, 1], rtol=0, atol=1e-12)


def test_the_active_class_scores_higher(bits, is_active) -> None:
    forest = train(bits, is_active, seed=0)
    scores = forest.predict(bits)
    assert scores[is_active].mean() > 0.7 > 0.3 > scores[~is_active].mean()


def test_seeds_make_forests_that_differ(bits, is_active) -> None:
    digests = [train(bits[:80], is_active[:80], seed).arrays_sha256() for seed in (0, 0, 1)]
    assert digests[0] == digests[1] != digests[2]


def test_contradictory_labels_give_the_fraction_of_the_active(bits) -> None:
    forest = train(bits[[0] * 8], np.arange(8) < 2, seed=0)
    score = forest.predict(bits[:1])
    assert 0.15 < score[0] < 0.35


def test_the_area_is_that_of_scikit_learns_scores(bits, is_active) -> None:
    theirs = RandomForestClassifier(random_state=1).fit(bits[:450], is_active[:450])
    area = measure_auc(train(bits[:450], is_active[:450], seed=1), bits[450:], is_active[450:])
    assert area == pytest.approx(roc_auc_score(is_active[450:], theirs.predict_proba(bits[450:])[:, 1]), abs=1e-12)
    assert 0.7 < area < 1


def test_warnings_are_filtered_after_training_as_before() -> None:
    class Careless(RandomForestClassifier):
        def fit(self, *arguments):
            super().fit(*arguments)
            warnings.resetwarnings()  # as the threads of scikit-learn do when they end in an unlucky order

    before = list(warnings.filters)
    fit_trees(Careless, np.eye(8, 2048, dtype=np.uint8), np.arange(8) % 2, seed=0)
    assert before
    assert warnings.filters == before
