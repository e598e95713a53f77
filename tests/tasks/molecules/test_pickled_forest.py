import builtins
import io
import os
import pickle
import types

import joblib
import numpy as np
import pytest
from rdkit import Chem
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree._tree import Tree

from evodiverse.data.cache import artifact_path
from evodiverse.errors import DataError
from evodiverse.tasks.molecules.diversity import N_BITS
from evodiverse.tasks.molecules.forest import Forest, RegressionForest, morgan_fingerprints
from evodiverse.tasks.molecules.oracle import PUBLISHED, open_published


def random_bits(n: int, density: float = 0.5, seed: int = 1) -> np.ndarray:
    return (np.random.default_rng(seed).random((n, N_BITS)) < density).astype(np.uint8)


def train(estimator, n_features: int = N_BITS, n_classes: int = 2):
    features = random_bits(200)[:, :n_features]
    classes = np.random.default_rng(2).integers(0, n_classes, len(features))
    return estimator.fit(features.astype(np.float32), classes)


@pytest.fixture(scope="module")
def sklearn_forest() -> RandomForestClassifier:
    return train(RandomForestClassifier(10, random_state=0))


def pickled(path, value, protocol=4):
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    return path


class Calls:
    """Pickles as a call of ``function`` with ``args``, whose result is given ``state``."""

    def __init__(self, function, *args, state=None):
        self.call = function, args, state

    def __reduce__(self):
        return self.call


# Reading


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_forest_of_todays_scikit_learn_predicts_as_scikit_learn_does(tmp_path, sklearn_forest, protocol):
    path = pickled(tmp_path / "forest.pkl", sklearn_forest, protocol)
    bits = random_bits(500, seed=3)
    expected = sklearn_forest.predict_proba(bits.astype(np.float32))[:, 1]
    np.testing.assert_allclose(Forest.load(path).predict(bits), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("protocol", [3, 5])
@pytest.mark.parametrize(("inactive", "active"), [(False, True), (-1, 1), (0.0, 1.0)])
def test_the_larger_class_is_the_active_one(tmp_path, inactive, active, protocol):
    bits = random_bits(50)
    labels = np.where(bits[:, 0] > 0, active, inactive)
    path = pickled(tmp_path / "forest.pkl", RandomForestClassifier(5, random_state=0).fit(bits, labels), protocol)
    assert ((Forest.load(path).predict(bits) > 0.5) == (bits[:, 0] > 0)).mean() > 0.9


@pytest.mark.parametrize("protocol", [3, 5])
@pytest.mark.parametrize("dtype", [object, str])
def test_a_forest_that_was_fitted_on_texts_is_refused_as_either_class_could_be_the_active_one(
    tmp_path, dtype, protocol
):
    bits = random_bits(50)
    labels = np.where(bits[:, 0] > 0, "active", "inactive").astype(dtype)
    path = pickled(tmp_path / "forest.pkl", RandomForestClassifier(5, random_state=0).fit(bits, labels), protocol)
    with pytest.raises(DataError, match="its classes are not numbers; fit it on 0 for inactive and 1 for active"):
        Forest.load(path)


def test_trees_grown_best_first_are_put_into_preorder(tmp_path):
    forest = train(RandomForestClassifier(5, max_leaf_nodes=20, random_state=0))
    path = pickled(tmp_path / "forest.pkl", forest)
    bits = random_bits(500, seed=3)
    expected = forest.predict_proba(bits.astype(np.float32))[:, 1]
    np.testing.assert_allclose(Forest.load(path).predict(bits), expected, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_regression_forest_of_scikit_learn_predicts_as_scikit_learn_does(tmp_path, criterion):
    forest = train(RandomForestRegressor(10, random_state=0, criterion=criterion), n_classes=9)
    path = pickled(tmp_path / "forest.pkl", forest)
    bits = random_bits(100, seed=3)
    expected = forest.predict(bits.astype(np.float32))
    np.testing.assert_allclose(RegressionForest.load(path).predict(bits).mean, expected, rtol=0, atol=1e-12)


def test_regression_forest_with_two_outputs_is_refused(tmp_path):
    bits = random_bits(50)
    forest = RandomForestRegressor(2, random_state=0).fit(bits, bits[:, :2])
    with pytest.raises(DataError, match=r"does not hold a valid regression forest .*expected one output"):
        RegressionForest.load(pickled(tmp_path / "forest.pkl", forest))


class OldTree(Calls):
    """Stands in the published pickles for a tree; scikit-learn of today refuses its node type."""

    def __init__(self, *args):
        self.args = args

    def __setstate__(self, state):
        self.state = state

    def rebuilt(self) -> Tree:
        nodes = np.zeros(len(self.state["nodes"]), Tree(1, np.array([2]), 1).__getstate__()["nodes"].dtype)
        for name in self.state["nodes"].dtype.names:
            nodes[name] = self.state["nodes"][name]
        counts = self.state["values"]
        tree = Tree(*self.args)
        tree.__setstate__(self.state | {"nodes": nodes, "values": counts / counts.sum(axis=2, keepdims=True)})
        return tree


class TrustingUnpickler(pickle.Unpickler):
    """Reads the published pickles, which are known by their SHA-256, with numpy's own objects."""

    def find_class(self, module_name, global_name):
        if module_name.startswith("sklearn"):
            return OldTree if global_name == "Tree" else type(global_name, (types.SimpleNamespace,), {})
        return super().find_class(module_name.replace("numpy.core", "numpy._core"), global_name)


@pytest.fixture(scope="module")
def zinc_bits() -> np.ndarray:
    smiles = artifact_path("zinc250k").read_text().splitlines()[::125]
    return morgan_fingerprints([Chem.MolFromSmiles(text) for text in smiles])


@pytest.mark.parametrize("name", [name for name, known in PUBLISHED.items() if known.kind == "forest"])
def test_published_forest_predicts_zinc_as_scikit_learn_does_with_its_trees(name, zinc_bits):
    with artifact_path(name).open("rb") as file:
        trees = [estimator.tree_.rebuilt() for estimator in TrustingUnpickler(file).load().estimators_]
    expected = np.mean([tree.predict(zinc_bits.astype(np.float32))[:, 1] for tree in trees], axis=0)
    predicted = open_published(name, artifact_path(name)).classifier.predict(zinc_bits)
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-12)


# Hostile and unusable pickles


def hostile_calls(marker: str) -> dict[str, Calls]:
    array = np.arange(3.0)
    return {
        "system": Calls(os.system, f"touch {marker}"),
        "eval": Calls(eval, f"open({marker!r}, 'w')"),
        "exec": Calls(exec, f"open({marker!r}, 'w')"),
        "open": Calls(io.open, marker, "w"),
        "getattr": Calls(np.ndarray.tofile, array, marker),
        "save": Calls(np.save, marker, array),
        "load": Calls(np.load, marker, None, True),
        "memmap": Calls(np.memmap, marker, "u1", "w+", 0, (8,)),
        "fromfile": Calls(np.fromfile, marker),
        "__import__": Calls(builtins.__import__, "os"),
    }


def test_pickle_that_calls_something_is_refused_and_nothing_happens(tmp_path):
    marker = tmp_path / "marker"
    for name, call in hostile_calls(str(marker)).items():
        with pytest.raises(DataError, match=r"does not hold a valid forest .*give a RandomForestClassifier"):
            Forest.load(pickled(tmp_path / "hostile.pkl", call))
        assert not marker.exists(), name


def test_hostile_call_inside_a_real_forest_does_nothing(tmp_path):
    marker = tmp_path / "marker"
    forest = train(RandomForestClassifier(1, random_state=0))
    forest.aside = Calls(os.system, f"touch {marker}")
    path = pickled(tmp_path / "forest.pkl", forest)
    assert len(Forest.load(path).roots) == 1
    assert not marker.exists()
    forest.estimators_.append(forest.aside)
    with pytest.raises(DataError, match="expected DecisionTreeClassifier, got system"):
        Forest.load(pickled(path, forest))
    assert not marker.exists()


def test_something_else_in_the_place_of_a_tree_is_refused(tmp_path):
    forest = train(RandomForestClassifier(1, random_state=0))
    forest.estimators_[0] = np.zeros(3)
    with pytest.raises(DataError, match="expected DecisionTreeClassifier, got _reconstruct"):
        Forest.load(pickled(tmp_path / "forest.pkl", forest))


def test_joblib_dump_is_refused_with_what_to_give_instead(tmp_path, sklearn_forest):
    joblib.dump(sklearn_forest, tmp_path / "forest.pkl")
    with pytest.raises(DataError, match=r"does not hold a valid forest .*saved with pickle\.dump"):
        Forest.load(tmp_path / "forest.pkl")


def test_other_kind_of_forest_is_refused(tmp_path):
    path = pickled(tmp_path / "forest.pkl", train(ExtraTreesClassifier(2, random_state=0)))
    with pytest.raises(DataError, match="ExtraTreesClassifier"):
        Forest.load(path)


def test_forest_over_another_number_of_bits_is_refused(tmp_path):
    path = pickled(tmp_path / "forest.pkl", train(RandomForestClassifier(2, random_state=0), n_features=1024))
    with pytest.raises(DataError, match="expected trees over 2048 features"):
        Forest.load(path)


def test_forest_with_three_classes_is_refused(tmp_path):
    path = pickled(tmp_path / "forest.pkl", train(RandomForestClassifier(2, random_state=0), n_classes=3))
    with pytest.raises(DataError, match="expected two classes and one output"):
        Forest.load(path)


def test_forest_trained_on_other_values_than_bits_is_refused(tmp_path):
    features = random_bits(200).astype(np.float32) * 10
    forest = RandomForestClassifier(2, random_state=0).fit(features, features[:, 5] > 0)
    with pytest.raises(DataError, match="expected thresholds that separate 0 from 1"):
        Forest.load(pickled(tmp_path / "forest.pkl", forest))


@pytest.mark.parametrize("content", [b"", b"\x80\x04", b"not a pickle", b"\x80\x04]\x94.", b"\x80\x04N."])
def test_file_that_holds_no_forest_is_refused_by_name(tmp_path, content):
    path = tmp_path / "forest.pkl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"\A[^\n]*forest\.pkl does not hold a valid forest[^\n]*\Z"):
        Forest.load(path)


def test_truncated_forest_is_refused(tmp_path, sklearn_forest):
    path = pickled(tmp_path / "forest.pkl", sklearn_forest)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(DataError, match=r"does not hold a valid forest .*Unpickling"):
        Forest.load(path)


def test_missing_pickle_is_refused_by_name(tmp_path):
    with pytest.raises(DataError, match=r"cannot read the forest .*absent\.pkl \(No such file or directory\)"):
        Forest.load(tmp_path / "absent.pkl")


class HandmadeTree:
    """A pickle of one tree whose children are what the test says, in the names of scikit-learn."""

    def __init__(self, left, right, feature=0, weights=(1.0, 1.0), threshold=0.5):
        self.nodes = np.zeros(
            len(left), [("left_child", "<i8"), ("right_child", "<i8"), ("feature", "<i8"), ("threshold", "<f8")]
        )
        self.nodes["left_child"], self.nodes["right_child"] = left, right
        self.nodes["feature"], self.nodes["threshold"] = feature, threshold
        self.values = weights if isinstance(weights, Calls) else np.tile(np.array(weights), (len(left), 1, 1))

    def __reduce__(self):
        return Tree, (N_BITS, np.array([2]), 1), {"nodes": self.nodes, "values": self.values}


def handmade_pickle(path, *args, **kwargs):
    forest = train(RandomForestClassifier(1, random_state=0))
    forest.estimators_[0].tree_ = HandmadeTree(*args, **kwargs)
    return pickled(path, forest)


def test_weighted_class_counts_become_fractions(tmp_path):
    path = handmade_pickle(tmp_path / "forest.pkl", [-1], [-1], weights=(1.0, 3.0))
    assert Forest.load(path).predict(np.zeros((1, N_BITS), np.uint8)) == [0.75]


@pytest.mark.parametrize(
    ("left", "right", "changes"),
    [
        ([0, -1, -1], [2, -1, -1], {}),
        ([1, -1, -1], [1, -1, -1], {}),
        ([1, -1, -1], [9, -1, -1], {}),
        ([1, -1, -1], [-7, -1, -1], {}),
        ([-1, -1], [-1, -1], {}),
        ([-1, -1], [1, -1], {}),
        ([1, -1, -1], [2, -1, -1], {"feature": -1}),
        ([1, -1, -1], [2, -1, -1], {"feature": N_BITS}),
        ([1, -1, -1], [2, -1, -1], {"threshold": -0.5}),
        ([1, -1, -1], [2, -1, -1], {"threshold": 1.0}),
        ([1, -1, -1], [2, -1, -1], {"threshold": np.nan}),
        ([-1], [-1], {"weights": (0.0, 0.0)}),
        ([-1], [-1], {"weights": (-1.0, 2.0)}),
        ([-1], [-1], {"weights": (np.nan, 1.0)}),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_tree_that_cannot_be_walked_to_a_fraction_is_refused(tmp_path, left, right, changes):
    with pytest.raises(DataError, match=r"forest\.pkl does not hold a valid forest"):
        Forest.load(handmade_pickle(tmp_path / "forest.pkl", left, right, **changes))


@pytest.mark.parametrize("dtype", [np.dtype(object), np.dtype([("pointer", object), ("number", "<f8")])])
def test_bytes_are_never_taken_for_references_to_objects(tmp_path, dtype):
    state = (1, (1, 1, 2), dtype, False, b"A" * 2 * dtype.itemsize)
    values = Calls(np._core.multiarray._reconstruct, np.ndarray, (0,), b"b", state=state)
    with pytest.raises(DataError, match="cannot create an OBJECT array"):
        Forest.load(handmade_pickle(tmp_path / "forest.pkl", [-1], [-1], weights=values))


def test_array_whose_bytes_do_not_fill_its_shape_is_refused(tmp_path):
    state = (1, (10**12, 1, 2), np.dtype("<f8"), False, b"A" * 16)
    values = Calls(np._core.multiarray._reconstruct, np.ndarray, (0,), b"b", state=state)
    with pytest.raises(DataError, match="cannot reshape array of size 2"):
        Forest.load(handmade_pickle(tmp_path / "forest.pkl", [-1], [-1], weights=values))
