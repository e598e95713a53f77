import os
import zipfile

import numpy as np
import pytest

from evodiverse.data.cache import artifact_path
from evodiverse.errors import DataError
from evodiverse.tasks.molecules.diversity import N_BITS
from evodiverse.tasks.molecules.forest import LEAF_COLUMN, Forest, RegressionForest
from evodiverse.tasks.molecules.oracle import open_published

# Two trees: one tests bit 3 and then, where it is off, bit 7; the other is a single leaf.
FEATURE = [3, 7, LEAF_COLUMN, LEAF_COLUMN, LEAF_COLUMN, LEAF_COLUMN]
RIGHT = [4, 3, 2, 3, 4, 5]
PROBABILITY = [0.0, 0.0, 0.125, 0.25, 0.5, 1.0]
ROOTS = [0, 5]


def small_forest(feature=FEATURE, right=RIGHT, probability=PROBABILITY, roots=ROOTS) -> Forest:
    return Forest(
        feature=np.array(feature, np.int16),
        right=np.array(right, np.int32),
        probability=np.array(probability, np.float64),
        roots=np.array(roots, np.int32),
    )


def bits_with(*on_bits: int) -> np.ndarray:
    bits = np.zeros((1, N_BITS), np.uint8)
    bits[0, list(on_bits)] = 1
    return bits


def random_bits(n: int, density: float = 0.5, seed: int = 1) -> np.ndarray:
    return (np.random.default_rng(seed).random((n, N_BITS)) < density).astype(np.uint8)


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


# The record


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"roots": []}, "at least one index"),
        ({"roots": [1, 5]}, "at least one index"),
        ({"roots": [0, 0]}, "at least one index"),
        ({"roots": [0, 6]}, "at least one index"),
        ({"feature": [-1, *FEATURE[1:]]}, "expected features in"),
        ({"feature": [LEAF_COLUMN + 1, *FEATURE[1:]]}, "expected features in"),
        ({"right": [5, *RIGHT[1:]]}, "each child must come after its parent, in the same tree"),
        ({"right": [0, *RIGHT[1:]]}, "each child must come after its parent, in the same tree"),
        ({"right": [*RIGHT[:4], 2, 5]}, "each child must come after its parent, in the same tree"),
        ({"right": RIGHT[:5]}, r"right must be finite <i4 of shape \(6,\)"),
        ({"probability": [*PROBABILITY[:5], 1.5]}, "expected probabilities"),
        ({"probability": [*PROBABILITY[:5], np.nan]}, "probability must be finite"),
        ({"probability": [[0.5]]}, "probability must be finite <f8"),
    ],
)
def test_arrays_that_are_no_forest_are_refused(changes, reason):
    with pytest.raises(ValueError, match=reason):
        small_forest(**changes)


def test_arrays_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        small_forest().probability[0] = 1.0


def test_saved_forest_loads_with_the_same_arrays(tmp_path):
    small_forest().save_npz(tmp_path / "forest")
    assert Forest.load(tmp_path / "forest").arrays_sha256() == small_forest().arrays_sha256()


def test_the_same_forest_gives_the_same_bytes_and_nothing_else(tmp_path):
    for name in ("a", "b"):
        small_forest().save_npz(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}


def test_a_forest_that_cannot_be_written_leaves_the_one_before(tmp_path, monkeypatch):
    def full(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    (tmp_path / "forest.npz").write_text("before")
    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space left"):
        small_forest().save_npz(tmp_path / "forest.npz")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


def test_arrays_digest_tells_forests_apart():
    assert small_forest().arrays_sha256() != small_forest(probability=[*PROBABILITY[:5], 0.9]).arrays_sha256()


def test_missing_npz_is_refused_by_name(tmp_path):
    with pytest.raises(DataError, match=r"cannot read the forest .*absent\.npz"):
        Forest.load(tmp_path / "absent.npz")


def test_damaged_npz_is_refused_by_name(tmp_path):
    path = tmp_path / "forest.npz"
    small_forest().save_npz(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match=r"forest\.npz does not hold a valid forest"):
        Forest.load(path)


def test_npz_with_flipped_byte_is_refused(tmp_path):
    path = tmp_path / "forest.npz"
    small_forest().save_npz(path)
    content = bytearray(path.read_bytes())
    content[content.index(np.float64(0.125).tobytes())] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"forest\.npz does not hold a valid forest \(BadZipFile: Bad CRC-32"):
        Forest.load(path)


def test_npz_without_an_array_is_refused(tmp_path):
    np.savez(tmp_path / "forest.npz", feature=np.zeros(1, np.int16))
    with pytest.raises(DataError, match=r"does not hold a valid forest .*right"):
        Forest.load(tmp_path / "forest.npz")


def test_npz_with_pickled_objects_is_refused_and_nothing_happens(tmp_path):
    marker = tmp_path / "marker"
    np.savez(tmp_path / "forest.npz", feature=np.array([Touch(marker)], dtype=object))
    with pytest.raises(DataError, match=r"does not hold a valid forest .*allow_pickle=False"):
        Forest.load(tmp_path / "forest.npz")
    assert not marker.exists()


def test_npz_member_that_is_no_array_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "forest.npz", "w") as archive:
        archive.writestr("feature", "hello")
    with pytest.raises(DataError, match="does not hold a valid forest"):
        Forest.load(tmp_path / "forest.npz")


@pytest.mark.parametrize("header", [b"{'descr': '<f8'", b"{'descr': [", b"{'descr': '<f8', 'shape': (10**99,)}", b"3"])
def test_npz_member_with_a_broken_header_is_refused(tmp_path, header):
    member = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with zipfile.ZipFile(tmp_path / "forest.npz", "w") as archive:
        archive.writestr("feature.npy", member)
    with pytest.raises(DataError, match="does not hold a valid forest"):
        Forest.load(tmp_path / "forest.npz")


# Prediction


@pytest.mark.parametrize(
    ("on_bits", "expected"),
    [((), (0.125 + 1) / 2), ((7,), (0.25 + 1) / 2), ((3,), (0.5 + 1) / 2), ((3, 7), (0.5 + 1) / 2)],
)
def test_bit_off_goes_left_and_bit_on_goes_right(on_bits, expected):
    assert small_forest().predict(bits_with(*on_bits)) == [expected]


def test_empty_batch_gives_no_predictions():
    assert small_forest().predict(np.zeros((0, N_BITS), np.uint8)).shape == (0,)


def test_bool_and_uint8_fingerprints_predict_alike():
    bits = random_bits(20, density=0.5)
    np.testing.assert_array_equal(small_forest().predict(bits), small_forest().predict(bits.astype(bool)))


def test_fingerprints_are_left_unchanged():
    bits = random_bits(20)
    small_forest().predict(bits)
    np.testing.assert_array_equal(bits, random_bits(20))


@pytest.mark.parametrize("n", [1, 2, 255, 257])
def test_prediction_does_not_depend_on_the_batch(n):
    forest = open_published("gsk3b", artifact_path("gsk3b")).classifier
    bits = random_bits(600, density=0.03)
    parts = [forest.predict(bits[start : start + n]) for start in range(0, len(bits), n)]
    np.testing.assert_array_equal(np.concatenate(parts), forest.predict(bits))


def test_trees_are_summed_in_one_order_whatever_the_batch():
    fractions = np.random.default_rng(0).random(100)  # the order of these shows in the last digit
    forest = small_forest([LEAF_COLUMN] * 100, range(100), fractions, range(100))
    assert set(forest.predict(random_bits(5))) == set(forest.predict(random_bits(1)))


def test_probability_never_exceeds_one():
    forest = small_forest([LEAF_COLUMN] * 3, range(3), [1.0] * 3, range(3))
    assert forest.predict(random_bits(1)) == [1.0]


# Numbers


def small_regression(**changes) -> RegressionForest:
    values = {"value": [0.0, 0.0, -2.0, 5.0, 7.5, 8.5]} | changes
    types = {"feature": np.int16, "right": np.int32, "value": np.float64, "roots": np.int32}
    arrays = {"feature": FEATURE, "right": RIGHT, "roots": ROOTS} | values
    return RegressionForest(**{name: np.array(arrays[name], dtype) for name, dtype in types.items()})


@pytest.mark.parametrize(("on_bits", "values"), [((), (-2, 8.5)), ((7,), (5, 8.5)), ((3,), (7.5, 8.5))])
def test_a_forecast_is_the_mean_of_the_trees_and_how_far_they_are_from_it(on_bits, values):
    mean, spread = small_regression().predict(bits_with(*on_bits))
    assert (mean, spread) == (sum(values) / 2, (values[1] - values[0]) / 2)


@pytest.mark.parametrize("n", [1, 255, 257])
def test_a_forecast_does_not_depend_on_the_batch(n):
    rng = np.random.default_rng(0)
    feature = [bit for tree in range(100) for bit in (tree, LEAF_COLUMN, LEAF_COLUMN)]
    right = [node + 2 if node % 3 == 0 else node for node in range(300)]
    forest = small_regression(feature=feature, right=right, roots=range(0, 300, 3), value=rng.normal(size=300))
    bits = random_bits(600)
    parts = [forest.predict(bits[start : start + n]) for start in range(0, len(bits), n)]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), forest.predict(bits))


def test_a_saved_regression_forest_loads_with_the_same_arrays(tmp_path):
    small_regression().save_npz(tmp_path / "forest.npz")
    loaded = RegressionForest.load(tmp_path / "forest.npz")
    assert loaded.arrays_sha256() == small_regression().arrays_sha256()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"value": [0.0] * 5 + [np.inf]}, "value must be finite"), ({"right": [0, *RIGHT[1:]]}, "each child must come")],
)
def test_arrays_that_are_no_regression_forest_are_refused(changes, reason):
    with pytest.raises(ValueError, match=reason):
        small_regression(**changes)
