import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest
from rdkit import Chem, DataStructs, RDLogger
from rdkit.Chem import AllChem
from sklearn.ensemble import RandomForestClassifier

from evodiverse.data.cache import artifact_path
from evodiverse.errors import DataError, InputError
from evodiverse.tasks.molecules import oracle as oracle_module
from evodiverse.tasks.molecules.diversity import N_BITS
from evodiverse.tasks.molecules.forest import Forest, morgan_fingerprints
from evodiverse.tasks.molecules.oracle import PUBLISHED, open_forest, open_published

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


@pytest.fixture(scope="module")
def zinc() -> list[str]:
    return artifact_path("zinc250k").read_text().splitlines()[::500]


@pytest.fixture
def silent_rdkit():
    RDLogger.DisableLog("rdApp.*")
    yield
    RDLogger.EnableLog("rdApp.*")


@pytest.fixture
def fresh_process():
    """Forget the forests that were loaded, as a new process would."""
    oracle_module._load_published.cache_clear()
    oracle_module._load_own.cache_clear()
    yield
    oracle_module._load_published.cache_clear()
    oracle_module._load_own.cache_clear()


@pytest.fixture
def copied_cache(tmp_path, monkeypatch, fresh_process):
    """A cache that holds the JNK3 artifact alone."""
    (tmp_path / "jnk3.pkl").symlink_to(artifact_path("jnk3"))
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def own_forest(tmp_path_factory):
    """A small forest, as a user would bring it."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (100, N_BITS)).astype(np.float32)
    path = tmp_path_factory.mktemp("own") / "forest.pkl"
    path.write_bytes(pickle.dumps(RandomForestClassifier(3, random_state=0).fit(bits, rng.integers(0, 2, 100)), 4))
    return path


# Fingerprints


def test_fingerprints_are_those_the_forests_were_trained_on(zinc, silent_rdkit):
    molecules = [Chem.MolFromSmiles(smiles) for smiles in zinc]
    expected = np.zeros((len(molecules), N_BITS), np.uint8)
    for row, molecule in zip(expected, molecules, strict=True):
        DataStructs.ConvertToNumpyArray(AllChem.GetMorganFingerprintAsBitVect(molecule, 2, N_BITS), row)
    np.testing.assert_array_equal(morgan_fingerprints(molecules), expected)


def test_no_molecules_have_no_fingerprints():
    assert morgan_fingerprints([]).shape == (0, N_BITS)


# Scores


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_oracle_gives_the_pinned_scores(name):
    open_published(name, artifact_path(name))


def test_pinned_score_that_is_off_is_an_error(monkeypatch):
    wrong = dataclasses.replace(PUBLISHED["jnk3"], pinned_scores={ASPIRIN: 0.5})
    monkeypatch.setattr(oracle_module, "PUBLISHED", {"jnk3": wrong})
    with pytest.raises(DataError, match=r"the jnk3 oracle must score CC\(=O\).* as 0\.5, got 0\.\d+; "):
        open_published("jnk3", artifact_path("jnk3"))


def test_scores_are_probabilities(zinc):
    scores = open_published("jnk3", artifact_path("jnk3"))(zinc)
    assert ((scores >= 0) & (scores <= 1)).all()


def test_empty_batch_gives_no_scores():
    assert open_published("jnk3", artifact_path("jnk3"))([]).shape == (0,)


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_scores_do_not_depend_on_the_order_of_the_batch(zinc, name):
    oracle = open_published(name, artifact_path(name))
    np.testing.assert_array_equal(oracle(zinc[::-1])[::-1], oracle(zinc))


def test_all_smiles_of_a_molecule_score_alike(zinc):
    molecules = [Chem.MolFromSmiles(smiles) for smiles in zinc[:50]]
    rewritten = [Chem.MolToSmiles(molecule, canonical=False, rootedAtAtom=3) for molecule in molecules]
    oracle = open_published("gsk3b", artifact_path("gsk3b"))
    np.testing.assert_array_equal(oracle(rewritten), oracle(zinc[:50]))


# Where forests come from


def test_conversion_is_kept_in_the_cache(copied_cache):
    forest = open_published("jnk3", artifact_path("jnk3")).classifier
    assert Forest.load(copied_cache / "jnk3.pkl.npz").arrays_sha256() == forest.arrays_sha256()


def test_kept_conversion_is_enough(copied_cache):
    open_published("jnk3", artifact_path("jnk3"))
    (copied_cache / "jnk3.pkl").unlink()
    oracle_module._load_published.cache_clear()
    open_published("jnk3", artifact_path("jnk3"))


def test_kept_conversion_of_another_forest_is_rebuilt(copied_cache, own_forest):
    Forest.load(own_forest).save_npz(copied_cache / "jnk3.pkl.npz")
    open_published("jnk3", artifact_path("jnk3"))


def test_damaged_conversion_is_rebuilt(copied_cache):
    (copied_cache / "jnk3.pkl.npz").write_bytes(b"PK")
    open_published("jnk3", artifact_path("jnk3"))
    assert Forest.load(copied_cache / "jnk3.pkl.npz").roots.size == 100


def test_pickle_and_npz_of_a_users_forest_score_alike(own_forest, tmp_path, zinc):
    Forest.load(own_forest).save_npz(tmp_path / "forest.npz")
    from_npz, from_pickle = open_forest(tmp_path / "forest.npz"), open_forest(own_forest)
    np.testing.assert_array_equal(from_npz(zinc), from_pickle(zinc))


def test_missing_forest_is_refused_by_name(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*absent\.pkl \(No such file or directory\)"):
        open_forest(tmp_path / "absent.pkl")


@pytest.mark.parametrize("content", [b"PK\x03\x04 and more", b"\x80\x04 and more", b""])
def test_damaged_forest_is_refused_by_name(tmp_path, content):
    (tmp_path / "forest").write_bytes(content)
    with pytest.raises(DataError, match=r"/forest does not hold a valid forest"):
        open_forest(tmp_path / "forest")


def test_forest_that_changed_since_is_refused_by_a_new_process(own_forest, tmp_path, fresh_process):
    path = tmp_path / "forest.pkl"
    path.write_bytes(own_forest.read_bytes())
    oracle = open_forest(path)
    path.write_bytes(artifact_path("jnk3").read_bytes())
    oracle_module._load_own.cache_clear()
    with pytest.raises(DataError, match="has changed since the run began"):
        oracle([ASPIRIN])


def test_the_forests_of_an_objective_are_loaded_once(own_forest, tmp_path, fresh_process, zinc):
    copies = [tmp_path / f"{number}.pkl" for number in range(5)]
    for copy in copies:
        copy.write_bytes(own_forest.read_bytes())
    oracles = [open_forest(copy) for copy in copies]
    for copy in copies:
        copy.unlink()
    assert [oracle(zinc[:5]).shape for oracle in oracles] == [(5,)] * 5


# Other processes


def test_oracle_is_small_to_send():
    assert len(pickle.dumps(open_published("gsk3b", artifact_path("gsk3b")))) < 1000


def test_oracle_scores_alike_in_another_process(own_forest, zinc):
    oracle = open_forest(own_forest)
    program = "import pickle, sys; oracle, smiles = pickle.load(sys.stdin.buffer); print(oracle(smiles).tolist())"
    command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {program}"]
    answer = subprocess.run(command, input=pickle.dumps((oracle, zinc[:20])), capture_output=True, check=True)
    assert answer.stdout.decode().strip() == str(oracle(zinc[:20]).tolist())
