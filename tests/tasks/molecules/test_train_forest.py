"""From a table to a forest that a search takes, and what is told on the way."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit import Chem

from evodiverse.errors import InputError
from evodiverse.tasks.molecules import train_forest as command
from evodiverse.tasks.molecules.forest import Forest, morgan_fingerprints
from evodiverse.tasks.molecules.oracle import open_forest
from evodiverse.tasks.molecules.training import cross_validate, draw_folds, measure_errors, number_twins

GROUPS = ["F", "Cl", "Br", "I", "O", "N", "S", "C#N", "C=O", "C(=O)O", "C=C", "P"]
ACTIVE = [f"c1ccncc1{group}" for group in GROUPS]
INACTIVE = [f"{chain}{group}" for chain in ("CC", "CC(C)") for group in GROUPS]
TABLE = ["smiles,label", *(f"{text},1" for text in ACTIVE), *(f"{text},0" for text in INACTIVE)]
SPLIT_TABLE = [f"{line},{part}" for line, part in zip(TABLE, ["Split", *["test", "train", "train"] * 12], strict=True)]


OPTIONS: dict[str, Any] = {
    "data": Path("own.csv"),
    "output": Path("forest.npz"),
    "threshold": None,
    "seed": 0,
    "regression": False,
    "smiles": "smiles",
    "label": "label",
    "skip_invalid": False,
    "force": False,
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder holds a table."""
    monkeypatch.chdir(tmp_path)
    write(*TABLE)


def train_forest(**changes: Any) -> Iterator[str]:
    return command.train_forest(**(OPTIONS | changes))


def write(*lines: str) -> None:
    Path("own.csv").write_text("\n".join(lines), encoding="utf-8")


def refusal(**changes: object) -> str:
    """The one line that an order is refused with; nothing new is in the folder."""
    before = sorted(os.listdir())
    with pytest.raises(InputError, match=r".") as caught:
        list(train_forest(**changes))
    assert sorted(os.listdir()) == before
    (line,) = caught.value.violations
    return line


def test_the_user_is_told_every_step() -> None:
    assert list(train_forest()) == [
        "own.csv: 36 molecules, 12 active",
        "train: 27 molecules, 9 active",
        "test: 9 molecules, 3 active (a quarter, drawn with seed 0)",
        "ROC AUC on the test part: 1.000",
        "wrote forest.npz: 100 trees over Morgan bits (radius 2, 2048 bits, no chirality)",
        "next: evodiverse task=jnk3 task.oracle.path=forest.npz",
    ]


def test_the_forest_scores_molecules_as_an_oracle() -> None:
    list(train_forest())
    active, inactive = open_forest("forest.npz")(["c1ccncc1CO", "CCCN"])
    assert active > 0.7 > 0.3 > inactive


def test_the_same_table_and_seed_give_the_same_bytes() -> None:
    names = ["a.npz", "b.npz", "c.npz"]
    for name, seed in zip(names, [1, 1, 2], strict=True):
        list(train_forest(output=Path(name), seed=seed))
    first, second, other = (Path(name).read_bytes() for name in names)
    assert first == second != other


def test_a_threshold_makes_labels_of_at_least_it_active() -> None:
    write("smiles,label", *(f"{text},{n}" for n, text in enumerate(INACTIVE)))
    assert next(train_forest(threshold=10)) == "own.csv: 24 molecules, 14 active"


def test_a_threshold_may_be_0_or_below() -> None:
    write("smiles,label", *(f"{text},{n - 5}" for n, text in enumerate(INACTIVE)))
    assert next(train_forest(threshold=0.0)) == "own.csv: 24 molecules, 19 active"
    assert next(train_forest(threshold=-2.0)) == "own.csv: 24 molecules, 21 active"


def test_the_column_split_decides_where_a_molecule_goes() -> None:
    write(*SPLIT_TABLE)
    told = list(train_forest())
    assert told[1:3] == ["train: 24 molecules, 8 active", "test: 12 molecules, 4 active (by the column Split)"]


def test_only_the_train_part_is_trained_on() -> None:
    write(*SPLIT_TABLE)
    list(train_forest())
    write(*(line for line in SPLIT_TABLE if not line.endswith(",test")), "CO,0,test", "CS,1,test")
    list(train_forest(output=Path("again.npz")))
    assert Path("again.npz").read_bytes() == Path("forest.npz").read_bytes()


def test_lines_passed_over_are_counted() -> None:
    write(*TABLE, "C((,1")
    first = next(train_forest(skip_invalid=True))
    assert first == "own.csv: 36 molecules, 12 active; skipped 1 line without a molecule"


def test_copies_and_contradictions_are_counted() -> None:
    write(*TABLE, TABLE[1], "C[C@H](N)CCO,1", "C[C@@H](N)CCO,0")
    assert list(train_forest())[1:3] == [
        "4 molecules share their fingerprint with another one: duplicates, stereoisomers or others",
        "contradictory labels: 1 fingerprint with active and inactive molecules",
    ]


def test_a_part_of_our_own_never_leaks() -> None:
    write(TABLE[0], *(line for line in TABLE[1:] for _ in range(3)))
    assert not [line for line in train_forest() if line.startswith("warning")]


def test_a_split_that_leaks_is_told() -> None:
    write(*SPLIT_TABLE, f"{TABLE[1]},train")
    (warning,) = [line for line in train_forest() if line.startswith("warning")]
    assert warning.startswith(
        "warning: the test part has 1 molecule with a fingerprint that also occurs in the train part"
    )


@pytest.mark.parametrize(
    ("lines", "threshold", "told"),
    [
        (["CC,1", "CCC,1"], None, "the train part has 1 molecule, 1 active, but must have active and inactive ones"),
        (["CC,0"], None, "the train part has 0 molecules, 0 active, but must have active and inactive ones"),
        (["CC,4", "CCC,9"], 9.5, "the train part has 1 molecule, 0 active, but must have active and inactive ones ("),
        (["CC,1", "CCC,0", "CCCC,0"], None, "the train part has 1 molecule, 0 active, but must have active"),
    ],
)
def test_molecules_of_one_class_are_refused(lines, threshold, told) -> None:
    write("smiles,label", *lines)
    assert refusal(threshold=threshold).startswith(f"own.csv: {told}")


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        (["train"] * 36, "the test part has 0 molecules, 0 active"),
        (["test"] * 36, "the train part has 0 molecules, 0 active"),
        (["test"] * 12 + ["train"] * 24, "the train part has 24 molecules, 0 active"),
        (["train"] * 20 + ["test"] * 16, "the test part has 16 molecules, 0 active"),
    ],
)
def test_a_split_without_both_classes_in_each_part_is_refused(parts, told) -> None:
    write(*(f"{line},{part}" for line, part in zip(TABLE, ["Split", *parts], strict=True)))
    expected = f"own.csv: {told}, but must have active and inactive ones (labels are from 0 to 1); change the column"
    assert refusal().startswith(expected)


def test_a_forest_that_exists_is_kept_unless_forced() -> None:
    Path("forest.npz").write_text("precious")
    told = "--output: forest.npz exists; choose another name, or replace it with --force"
    assert refusal() == told
    assert Path("forest.npz").read_text() == "precious"
    list(train_forest(force=True))
    assert Forest.load(Path("forest.npz")).roots.size == 100


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("absent/forest.npz", "the folder absent does not exist or is not writable"),
        ("own.csv/forest.npz", "the folder own.csv does not exist or is not writable"),
        (".", "--output: . is a folder; name a file, such as forest.npz"),
        ("own.csv", "--output: own.csv is the table itself; choose another name"),
        ("/dev/null", "/dev/null is neither a file nor a folder"),
    ],
)
def test_a_place_that_no_forest_can_be_written_to_is_refused(output: str, told: str) -> None:
    assert told in refusal(output=Path(output), force=True)


@pytest.mark.parametrize("other", ["again.csv", "loop.csv"])
def test_the_table_is_known_by_another_name(other: str) -> None:
    Path("again.csv").hardlink_to("own.csv")
    Path("loop.csv").symlink_to("loop.csv")
    told = "--output: own.csv is the table itself" if other == "again.csv" else "cannot read loop.csv"
    assert told in refusal(data=Path(other), output=Path("own.csv"), force=True)


def test_nothing_is_written_through_a_link() -> None:
    Path("link.npz").symlink_to("elsewhere.npz")
    assert refusal(output=Path("link.npz"), force=True).startswith("link.npz is a link")


def test_a_folder_that_cannot_be_written_is_refused_before_training(monkeypatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert refusal() == "--output: the folder . does not exist or is not writable; choose another one"


def test_a_full_disk_leaves_nothing_behind(monkeypatch) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    told = "--output: cannot write forest.npz (No space left on device); choose another place"
    assert refusal() == told


# Numbers

NUMBERS = ["Structure;Y", *(f"{text};{n / 4:g}".replace(".", ",") for n, text in enumerate(ACTIVE + INACTIVE))]
REGRESSION = {"regression": True, "smiles": "structure", "label": "y"}


def test_a_regression_is_told_every_step() -> None:
    write(*NUMBERS)
    first, folds, errors, halves, *rest = train_forest(**REGRESSION)
    assert (first, folds) == (
        "own.csv: 36 molecules, labels from 0 to 8.75",
        "cross-validation: 5 folds, drawn with seed 0",
    )
    assert re.fullmatch(
        r"on molecules not trained on: R² 0\.\d{3}, RMSE \d\.\d+, MAE \d\.\d+, Spearman 0\.\d{3}", errors
    )
    assert re.fullmatch(
        r"RMSE where the trees agree most: \d\.\d+; in the other half of these molecules: \d\.\d+", halves
    )
    component = '{kind: oracle, path: "forest.npz", transform: {kind: linear, low: 0, high: 8.75}}'
    assert rest == [
        "wrote forest.npz: 100 trees over Morgan bits (radius 2, 2048 bits, no chirality)",
        f"next: evodiverse task=jnk3 task.oracle.published=null '+task.objective.components.forest={component}'",
    ]


def test_a_regression_forest_predicts_the_labels_of_all_molecules() -> None:
    write(*NUMBERS)
    list(train_forest(**REGRESSION))
    predicted = open_forest("forest.npz")(ACTIVE + INACTIVE)
    assert np.corrcoef(predicted, np.arange(36) / 4)[0, 1] > 0.95


def test_the_errors_of_a_regression_are_those_of_its_cross_validation() -> None:
    write(*NUMBERS)
    bits = morgan_fingerprints(map(Chem.MolFromSmiles, ACTIVE + INACTIVE))
    folds = draw_folds(number_twins(bits), np.random.default_rng(3))
    forecast = cross_validate(bits, np.arange(36) / 4, folds, seed=3)
    told = list(train_forest(**REGRESSION, seed=3))
    assert told[2] == f"on molecules not trained on: {measure_errors(np.arange(36) / 4, forecast.mean)}"


@pytest.mark.slow
def test_the_same_numbers_and_seed_give_the_same_bytes() -> None:
    write(*NUMBERS)
    for name, seed in (("a.npz", 1), ("b.npz", 1), ("c.npz", 2)):
        list(train_forest(**REGRESSION, output=Path(name), seed=seed))
    first, second, other = (Path(name).read_bytes() for name in ("a.npz", "b.npz", "c.npz"))
    assert first == second != other


def test_labels_of_one_fingerprint_that_differ_are_told() -> None:
    write(*NUMBERS, "C[C@H](N)CCO;2,5", "C[C@@H](N)CCO;4", f"{ACTIVE[0]};1")
    assert list(train_forest(**REGRESSION))[1] == (
        "4 molecules share their fingerprint with another one: duplicates, stereoisomers or others; labels of one "
        "fingerprint differ by up to 1.5"
    )


def test_a_split_decides_what_a_regression_is_trained_and_tested_on() -> None:
    parts = ["Split", *["test", "train", "train"] * 12]
    split = [f"{line};{part}" for line, part in zip(NUMBERS, parts, strict=True)]
    write(*split, f"{ACTIVE[1]};3;test")
    told = list(train_forest(**REGRESSION))
    assert told[2].startswith("warning: the test part has 1 molecule with a fingerprint that also occurs in the train")
    assert told[3:5] == ["train: 24 molecules", "test: 13 molecules (by the column Split)"]
    write(*(line for line in split if not line.endswith("test")), "CO;7;test", "CS;8;test")
    list(train_forest(**REGRESSION, output=Path("again.npz")))
    assert Path("again.npz").read_bytes() == Path("forest.npz").read_bytes()


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            ["C;1", "CC;2", "CCC;3", "CO;4", "OC;5"],
            "needs molecules with at least 5 different fingerprints, got 4; add",
        ),
        ([f"{'C' * n};7" for n in range(1, 9)], "all labels are 7; name another column with --label"),
    ],
)
def test_numbers_that_cannot_be_cross_validated_are_refused(lines: list[str], told: str) -> None:
    write("Structure;Y", *lines)
    assert told in refusal(**REGRESSION)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["C;1;test", "CC;2;test"], "the train part has no molecules; change the column Split"),
        (
            ["C;1;train", "CC;2;test"],
            "the test part must have molecules with different labels; change the column Split",
        ),
    ],
)
def test_a_split_without_numbers_to_compare_is_refused(lines: list[str], told: str) -> None:
    write("Structure;Y;Split", *lines)
    assert refusal(**REGRESSION) == f"own.csv: {told}"
