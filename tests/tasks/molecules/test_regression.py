"""Regression forests: they are scikit-learn's, and so is their cross-validation."""

from pathlib import Path

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors
from scipy import sparse
from scipy.stats import rankdata
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from evodiverse.data.cache import artifact_path
from evodiverse.tasks.molecules.forest import Forecast, morgan_fingerprints
from evodiverse.tasks.molecules.initial import read_published
from evodiverse.tasks.molecules.oracle import open_forest
from evodiverse.tasks.molecules.training import (
    cross_validate,
    draw_folds,
    measure_errors,
    number_twins,
    split_by_spread,
    train_regression,
)

SMILES = list(read_published(artifact_path("zinc250k")).smiles[:150])
MOLECULES = [Chem.MolFromSmiles(text) for text in SMILES]
BITS = morgan_fingerprints(MOLECULES)
LABELS = np.array([Descriptors.MolLogP(molecule) for molecule in MOLECULES])
FEATURES = sparse.csr_matrix(BITS, dtype=np.float32)


# Training


def test_a_saved_forest_predicts_as_scikit_learns_of_default_settings(tmp_path: Path) -> None:
    theirs = RandomForestRegressor(random_state=7).fit(FEATURES[:100], LABELS[:100])
    train_regression(BITS[:100], LABELS[:100], seed=7).save_npz(tmp_path / "forest.npz")
    oracle = open_forest(tmp_path / "forest.npz")
    np.testing.assert_allclose(oracle(SMILES), theirs.predict(FEATURES), rtol=0, atol=1e-12)


@pytest.mark.slow
def test_the_spread_is_the_standard_deviation_of_scikit_learns_trees() -> None:
    theirs = RandomForestRegressor(random_state=3).fit(FEATURES[:100], LABELS[:100])
    expected = np.std([tree.predict(FEATURES) for tree in theirs.estimators_], axis=0)
    spread = train_regression(BITS[:100], LABELS[:100], seed=3).predict(BITS).spread
    np.testing.assert_allclose(spread, expected, rtol=0, atol=1e-12)


def test_trees_disagree_more_on_molecules_that_they_were_not_trained_on() -> None:
    spread = train_regression(BITS[:100], LABELS[:100], seed=0).predict(BITS).spread
    assert spread[100:].mean() > spread[:100].mean()


# Cross-validation


def test_molecules_with_equal_fingerprints_share_a_fold() -> None:
    twins = number_twins(np.concatenate([BITS, BITS[::-1]]))
    folds = draw_folds(twins, np.random.default_rng(0))
    np.testing.assert_array_equal(folds[:150], folds[:149:-1])


def test_each_fold_has_a_fifth_of_the_fingerprints() -> None:
    folds = draw_folds(np.arange(52), np.random.default_rng(0))
    assert sorted(np.bincount(folds).tolist()) == [10, 10, 10, 11, 11]


def test_folds_are_drawn_by_the_seed_alone() -> None:
    first, again, other = (draw_folds(np.arange(50), np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.slow
def test_cross_validation_is_scikit_learns_with_the_same_folds() -> None:
    folds = draw_folds(number_twins(BITS), np.random.default_rng(4))
    theirs = cross_val_predict(RandomForestRegressor(random_state=4), FEATURES, LABELS, cv=PredefinedSplit(folds))
    np.testing.assert_allclose(cross_validate(BITS, LABELS, folds, seed=4).mean, theirs, rtol=0, atol=1e-12)


# Errors


def test_errors_are_those_of_their_definitions() -> None:
    rng = np.random.default_rng(2)
    labels = rng.normal(size=40)
    predicted = labels + rng.normal(size=40)
    r2, rmse, mae, spearman = measure_errors(labels, predicted)
    assert r2 == pytest.approx(1 - ((labels - predicted) ** 2).sum() / ((labels - labels.mean()) ** 2).sum())
    assert rmse == pytest.approx(((labels - predicted) ** 2).mean() ** 0.5)
    assert mae == pytest.approx(abs(labels - predicted).mean())
    assert spearman == pytest.approx(np.corrcoef(rankdata(labels), rankdata(predicted))[0, 1])


def test_errors_are_told_on_one_line() -> None:
    told = str(measure_errors(np.array([5.0, 6, 7, 8]), np.array([5.5, 6, 7, 7.5])))
    assert told == "R² 0.900, RMSE 0.354, MAE 0.25, Spearman 1.000"


def test_equal_predictions_have_no_rank_correlation() -> None:
    assert str(measure_errors(np.array([5.0, 7]), np.array([6.0, 6]))).endswith("Spearman undefined")


def test_errors_are_told_apart_by_the_spread() -> None:
    forecast = Forecast(np.zeros(5), np.array([0.3, 0.1, 0.4, 0.2, 0.5]))
    assert split_by_spread(np.array([4.0, 1, 4, 1, 4]), forecast) == (1, 4)
