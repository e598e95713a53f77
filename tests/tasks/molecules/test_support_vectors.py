"""The DRD2 classifier against scikit-learn's, and machines that are none."""

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit import Chem, RDLogger
from rdkit.Chem import AllChem
from scipy.sparse import csr_array
from sklearn.svm import SVC

from evodiverse.data.cache import artifact_path
from evodiverse.errors import DataError
from evodiverse.tasks.molecules.oracle import open_published
from evodiverse.tasks.molecules.support_vectors import N_FEATURES, SupportVectorMachine


@pytest.fixture(scope="module")
def zinc() -> list[str]:
    return artifact_path("zinc250k").read_text().splitlines()[::1000]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path, np.ndarray]:
    """A machine of scikit-learn's trained on counts, its pickle, and the counts."""
    rng = np.random.default_rng(0)
    counts = np.zeros((120, N_FEATURES))
    counts[:, :60] = rng.poisson(0.7, (120, 60))
    is_active = counts[:, 0] + counts[:, 1] + rng.normal(0, 0.7, 120) > 1.4
    with warnings.catch_warnings(action="ignore"):  # whichever test asks for it first
        machine = SVC(C=2, gamma=0.005, probability=True, random_state=0).fit(counts, is_active.astype(int))
    path = tmp_path_factory.mktemp("svm") / "machine.pkl"
    path.write_bytes(pickle.dumps(machine, 4))
    return machine, path, counts


@pytest.mark.filterwarnings("ignore")
def test_probabilities_are_those_of_scikit_learn(trained: tuple[Any, Path, np.ndarray]) -> None:
    machine, path, counts = trained
    expected = machine.predict_proba(counts)[:, 1]
    assert ((expected > 0.2) & (expected < 0.8)).sum() > 10
    np.testing.assert_allclose(
        SupportVectorMachine.load(path).predict(csr_array(counts.astype(np.float32))), expected, atol=1e-12
    )


@pytest.mark.filterwarnings("ignore")
def test_the_published_machine_scores_zinc_as_scikit_learn_does_with_its_own_object(zinc: list[str]) -> None:
    with artifact_path("drd2").open("rb") as file:
        machine = pickle.load(file)
    rows = np.zeros((len(zinc), N_FEATURES))
    RDLogger.DisableLog("rdApp.*")
    for row, smiles in zip(rows, zinc, strict=True):  # as PyTDC counts
        features = AllChem.GetMorganFingerprint(Chem.MolFromSmiles(smiles), 3, useCounts=True, useFeatures=True)
        for feature, count in features.GetNonzeroElements().items():
            row[feature % N_FEATURES] += count
    RDLogger.EnableLog("rdApp.*")
    scores = open_published("drd2", artifact_path("drd2"))(zinc)
    np.testing.assert_allclose(scores, machine.predict_proba(rows)[:, 1], rtol=0, atol=1e-12)


def test_a_score_does_not_depend_on_its_batch(zinc: list[str]) -> None:
    oracle = open_published("drd2", artifact_path("drd2"))
    together = oracle(zinc[:60])
    assert [float(oracle([smiles])[0]) for smiles in zinc[:60]] == together.tolist()


def test_no_molecules_have_no_scores() -> None:
    assert open_published("drd2", artifact_path("drd2"))([]).shape == (0,)


def test_what_is_saved_is_what_is_read(tmp_path: Path, trained: tuple[Any, Path, np.ndarray]) -> None:
    machine = SupportVectorMachine.load(trained[1])
    machine.save_npz(tmp_path / "machine.npz")
    again = SupportVectorMachine.load(tmp_path / "machine.npz")
    assert again.arrays_sha256() == machine.arrays_sha256()
    machine.save_npz(tmp_path / "twice.npz")
    assert (tmp_path / "twice.npz").read_bytes() == (tmp_path / "machine.npz").read_bytes()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"support_vectors_": np.zeros((3, 5))}, r"vectors must be finite <u1 of shape \(3, 2048\)"),
        ({"_probA": np.zeros(3)}, "constants must be finite"),
        ({"_dual_coef_": np.zeros((3, 2))}, "coefficients must be finite"),
    ],
)
def test_another_machine_is_refused(
    changes: dict[str, Any], told: str, tmp_path: Path, trained: tuple[Any, Path, np.ndarray]
) -> None:
    machine = pickle.loads(trained[1].read_bytes())
    machine.__dict__.update(changes)
    (tmp_path / "other.pkl").write_bytes(pickle.dumps(machine, 4))
    with pytest.raises(DataError, match=told):
        SupportVectorMachine.load(tmp_path / "other.pkl")


def test_a_pickle_that_calls_something_is_refused(tmp_path: Path) -> None:
    marker = tmp_path / "marker"

    class Hostile:
        def __reduce__(self) -> tuple[Any, ...]:
            return open, (str(marker), "w")

    (tmp_path / "hostile.pkl").write_bytes(pickle.dumps(Hostile(), 4))
    with pytest.raises(DataError, match="expected SVC, got open"):
        SupportVectorMachine.load(tmp_path / "hostile.pkl")
    assert not marker.exists()


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "machine.npz").write_bytes(b"PK\x03\x04 nonsense")
    with pytest.raises(DataError, match="does not hold a valid support vector machine"):
        SupportVectorMachine.load(tmp_path / "machine.npz")
