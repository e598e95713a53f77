import gzip
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from evodiverse.errors import InputError
from evodiverse.tasks.equations.csv_data import read_own_data
from evodiverse.tasks.equations.problems import Dataset, Splits
from evodiverse.tasks.equations.settings import DataSettings

GOOD = "x,t,y\n1,2,3\n2,3,5.5\n3,4,7\n"


def written(tmp_path: Path, text: str, name: str = "train.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def read(train: Path, test_id: Path | None = None, test_ood: Path | None = None) -> tuple[list[str], Splits]:
    own = read_own_data({"train": train, "test_id": test_id, "test_ood": test_ood}, DataSettings(target="y"))
    return [variable.name for variable in own.variables], own.splits


def read_text(tmp_path: Path, text: str, test: str | None = None, **settings: object) -> Dataset:
    files = {
        "train": written(tmp_path, text),
        "test_id": test and written(tmp_path, test, "test.csv"),
        "test_ood": None,
    }
    return read_own_data(files, DataSettings(**{"target": "y", **settings}))  # type: ignore[arg-type]


def test_columns_become_variables(tmp_path: Path) -> None:
    names, splits = read(written(tmp_path, GOOD))
    assert names == ["x", "t"]
    assert splits.train.inputs.tolist() == [[1, 2], [2, 3], [3, 4]]
    assert splits.train.target.tolist() == [3, 5.5, 7]
    assert splits.test_id.inputs.shape == (0, 2)
    assert len(splits.test_ood.target) == 0


def test_columns_are_known_by_their_names(tmp_path: Path) -> None:
    other = written(
        tmp_path, "y,t,note,x\n9,8,text,7\n6,5,text,4\n".replace("note,", "z,").replace("text", "0"), "o.csv"
    )
    _, splits = read(written(tmp_path, GOOD), other)
    assert splits.test_id.inputs.tolist() == [[7, 8], [4, 5]]
    assert np.array_equal(splits.test_id.target, [9, 6])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "cannot read"),
        ("x,t\n1,2\n3,4\n", "task.data.target=y is not a column"),
        ("y\n1\n2\n", "no column other than the target"),
        ("x,y\n1,2\n", "too few rows: expected at least 2, got 1"),
        ("x,y\n1,2\nred,3\n", "row 2 of the column 'x' must be a number, got 'red'"),
        ("x,y\n1,2\nnan,3\n", r"train.csv has 1 row with a missing value \(line 3, in x\); complete them, or leave"),
        ("x,y\n1,2\n,3\n", r"\(line 3, in x\)"),
        ("x,z,y\n1,,2\n\n2,1,3\n3,2,NA\n", r"has 2 rows with a missing value \(lines 2, 5, in z, y\)"),
        ("x,y\n" + 9 * "1,\n", r"9 rows with a missing value \(lines 2, 3, 4, 5, 6, …, in y\)"),
        ("x,y\n1,inf\n2,3\n", "row 1 of the column 'y' must be a finite number"),
        ("x,y\n1,2\n2,2\n", "the target 'y' is the same in all rows"),
        ("x,y\n1,1e-200\n2,2e-200\n", "'y' is too small or too large to .* in task.data.train=.*train.csv; rescale it"),
        ("x,y\n1,1e200\n2,-1e200\n", "the target 'y' is too small or too large"),
        ("x,x,y\n1,2,3\n2,3,4\n", "has several columns named 'x'; rename all but one"),
        (
            "\u00b5,\u03bc,y\n1,2,3\n2,3,4\n",
            "columns named '\u00b5', '\u03bc', which are the same identifier in Python",
        ),
        ("x,x,y\nred,2020-01-02,3\nblue,2020-01-03,4\n", "several columns named 'x'; rename all but one"),
        ("x,y\n1,2\n2,<LOD\n3,4\n", "train.csv: row 2 of the column 'y' must be a number, got '<LOD'; correct"),
        ("x,y\n<1,2\n2,3\n<3,4\n", "row 1 of the column 'x' must be a number, got '<1', like 1 other row; correct"),
        ("x,y\n2020-01-02,3\n2020-01-03,3\n", "row 1 of the column 'x' must be a number, got '2020-01-02'"),
        ('x,y\n"1,5",2\n2,3\n', "row 1 of the column 'x' must be a number, with a decimal point, got '1,5'"),
        ("x;y\n1,5;2\n2.5;3\n", "row 1 of the column 'x' must be a number, with a decimal point, got '1,5'"),
        ("x y\n1 2\n2 3\n", "its columns are x y; columns must be separated by commas, semicolons or tabs"),
        ("x,y\n1,2\n2,3,4\n", "cannot read"),
        ("x,y\n1,2\ntrue,3\n", "row 2 of the column 'x' must be a number, got 'true'"),
    ],
)
def test_bad_data_are_refused_in_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        read(written(tmp_path, text))
    assert all("\n" not in violation for violation in caught.value.violations)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_data_as_spreadsheets_write_them_are_read(tmp_path: Path, delimiter: str, encoding: str) -> None:
    text = "\u00b5,\ufb01,y \r\n1,2,-0.5\r\n2,3,5.5e0\r\n"
    if delimiter != ",":
        text = text.replace(",", delimiter).replace(".", ",")
    (tmp_path / "train.csv").write_bytes(text.encode(encoding))
    names, splits = read(tmp_path / "train.csv")
    assert names == ["\u03bc", "fi"]
    assert splits.train.inputs.tolist() == [[1, 2], [2, 3]]
    assert splits.train.target.tolist() == [-0.5, 5.5]


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "latin1.csv"
    path.write_bytes("x,y,\xe9\n1,2,3\n2,3,4\n".encode("latin-1"))
    with pytest.raises(InputError, match="cannot read"):
        read(path)


def test_all_violations_are_named_at_once(tmp_path: Path) -> None:
    train = written(tmp_path, GOOD)
    with pytest.raises(InputError) as caught:
        read(train, written(tmp_path, "x,y\n1,2\n2,3\n", "id.csv"), tmp_path / "none.csv")
    lacking, unreadable = caught.value.violations
    assert "No such file" in unreadable
    assert "is missing the columns t, which task.data.train has; its columns are x, y" in lacking


def test_too_few_rows_are_named_together_with_an_unknown_text(tmp_path: Path) -> None:
    train = written(tmp_path, "x,y\nred,1\nred,2\n")
    with pytest.raises(InputError) as caught:
        read(train, written(tmp_path, "x,y\nblue,1\nred,2\n", "id.csv"), written(tmp_path, "x,y\nred,1\n", "ood.csv"))
    unknown, few = caught.value.violations
    assert unknown == "task.data.test_id: the column 'x' has the value 'blue', which task.data.train does not have"
    assert few == f"task.data.test_ood={tmp_path / 'ood.csv'} has too few rows: expected at least 2, got 1"


def test_a_test_file_with_another_delimiter_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"columns are x\|t\|y; columns must be separated by commas"):
        read(written(tmp_path, GOOD), written(tmp_path, GOOD.replace(",", "|"), "id.csv"))


def test_a_device_or_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError) as caught:
        read(Path("/dev/zero"), tmp_path / "pipe", written(tmp_path, GOOD))
    why = "it is a device or a pipe, expected a file"
    remedy = "check the path and that it is a CSV file"
    assert caught.value.violations[:2] == (
        f"task.data.train: cannot read /dev/zero ({why}); {remedy}",
        f"task.data.test_id: cannot read {tmp_path / 'pipe'} ({why}); {remedy}",
    )


def test_compressed_data_are_read(tmp_path: Path) -> None:
    path = tmp_path / "train.csv.gz"
    path.write_bytes(gzip.compress(GOOD.encode()))
    assert read(path)[0] == ["x", "t"]


def test_no_ctrl_c_is_lost_while_data_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "x,y\n" + "".join(f"{x},{2 * x}\n" for x in range(2_000)))
    received = threading.Event()
    previous = signal.signal(signal.SIGINT, lambda *_: received.set())

    def interrupt() -> bool:
        received.clear()
        os.kill(os.getpid(), signal.SIGINT)
        return received.wait(2)

    try:
        with ThreadPoolExecutor(1) as interrupting:
            arrived = interrupting.submit(lambda: all(interrupt() for _ in range(60)))
            while not arrived.done():
                read(path)
        assert arrived.result()
    finally:
        signal.signal(signal.SIGINT, previous)


def test_a_column_may_have_any_name(tmp_path: Path) -> None:
    text = "dose [mg/kg],lambda,body weight (kg),x,response [1/h]\n1,2,3,4,5\n2,3,4,5,7\n"
    own = read_text(tmp_path, text, text, target="response [1/h]")
    assert [one.name for one in own.variables] == ["dose", "lambda_", "body_weight", "x"]
    assert [one.label for one in own.variables] == ["dose [mg/kg]", "lambda", "body weight (kg)", "x"]
    assert (own.target.name, own.target.label) == ("response", "response [1/h]")
    assert read_text(tmp_path, text, target="response").target == own.target


def test_units_tell_columns_of_one_name_apart(tmp_path: Path) -> None:
    own = read_text(tmp_path, "x [m],x [s],y\n1,2,3\n2,3,4\n")
    assert [one.name for one in own.variables] == ["x", "x_"]


def test_a_column_may_be_left_out(tmp_path: Path) -> None:
    own = read_text(tmp_path, "id,x,y\nA-1,1,3\nA-2,,4\nA-3,3,5\n", ignore=["id"], missing="drop")
    assert own.splits.train.inputs.tolist() == [[1], [3]]
    with pytest.raises(InputError, match=r"task\.data\.ignore: .* has no column 'idd'; did you mean id\?"):
        read_text(tmp_path, "id,x,y\n1,1,3\n2,2,4\n", ignore=["idd"])
    with pytest.raises(InputError, match=r"task\.data\.ignore names the column of task\.data\.target, y"):
        read_text(tmp_path, "x,y\n1,3\n2,4\n", ignore=["y"])


def test_each_category_of_a_column_becomes_a_variable(tmp_path: Path) -> None:
    own = read_text(tmp_path, "sex,x,y\nm,1,3\nf,2,4\nf,3,5\nm,4,6\n", "sex,x,y\nf,1,3\nf,2,4\n")
    assert [one.name for one in own.variables] == ["sex_f", "sex_m", "x"]
    assert own.variables[0].label == "1 if sex is f, else 0"
    assert own.splits.train.inputs[:, :2].tolist() == [[0, 1], [1, 0], [1, 0], [0, 1]]
    assert own.splits.test_id.inputs.tolist() == [[1, 0, 1], [1, 0, 2]]
    with pytest.raises(
        InputError, match=r"test_id: the column 'sex' has the value 'd', which task\.data\.train does not"
    ):
        read_text(tmp_path, "sex,y\nm,3\nf,4\nf,5\nm,6\n", "sex,y\nf,1\nd,2\n")


@pytest.mark.parametrize("texts", ["abcdefgh", ["3 Mai"] * 4 + ["2,5"] * 4, ["m"] * 7 + ["4"]])
def test_texts_that_are_no_categories_are_refused(tmp_path: Path, texts: list[str]) -> None:
    rows = [f"{text};{at}" for at, text in enumerate(texts)]
    with pytest.raises(InputError, match="of the column 'x' must be a number"):
        read_text(tmp_path, "\n".join(["x;y", *rows]))


def test_rows_with_missing_values_are_dropped_when_asked_and_said(tmp_path: Path) -> None:
    text = "x;sex;y\n1,5;m;3\n;f;4\n2,5;;5\n3,5;m;6\n4,5;f;7\n5,5;f;8,5\n"
    own = read_text(tmp_path, text, missing="drop")
    assert own.splits.train.target.tolist() == [3, 6, 7, 8.5]
    (note,) = own.notes
    assert note.endswith("train.csv: 2 of 6 rows are left out, since a value is missing (lines 3, 4, in x, sex)")


def test_a_column_of_standard_errors_weighs_the_training_rows(tmp_path: Path) -> None:
    own = read_text(tmp_path, "x,s [m],y\n1,1,3\n2,2,4\n3,2,6\n", "x,y\n1,3\n2,4\n", sigma="s [m]")
    assert [one.name for one in own.variables] == ["x"]
    assert own.splits.train.weights == pytest.approx([2, 0.5, 0.5])
    assert own.splits.test_id.weights is None
    with pytest.raises(InputError, match=r"row 2 of the column 's' must be above 0, as task\.data\.sigma"):
        read_text(tmp_path, "x,s,y\n1,1,3\n2,0,4\n", sigma="s")
    with pytest.raises(InputError, match=r"task\.data\.sigma: .* has no column 'sd'"):
        read_text(tmp_path, "x,s,y\n1,1,3\n2,1,4\n", sigma="sd")
    with pytest.raises(InputError, match=r"task\.data\.sigma names the target, y; name the column of its standard"):
        read_text(tmp_path, "x,s,y\n1,1,3\n2,1,4\n", sigma="y")


def test_rows_are_counted_as_in_the_file_although_some_are_dropped(tmp_path: Path) -> None:
    for row, expected in (("inf,1,4", "row 3 of the column 'x' must be finite"), ("2,0,4", "row 3 of the column 's'")):
        with pytest.raises(InputError, match=expected.replace("finite", "a finite number")):
            read_text(tmp_path, f"x,s,y\n1,1,3\n,1,4\n{row}\n5,1,6\n", missing="drop", sigma="s")


def test_columns_that_differ_only_in_their_units_are_told_apart_in_any_order(tmp_path: Path) -> None:
    own = read_text(tmp_path, "x [m],x (s),y\n1,2,3\n2,3,5\n", "x (s),y,x [m]\n8,9,7\n6,5,4\n")
    assert [one.name for one in own.variables] == ["x", "x_"]
    assert own.splits.test_id.inputs.tolist() == [[7, 8], [4, 6]]
