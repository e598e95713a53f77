"""Reading a user's table of molecules with labels."""

import re
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
import pytest

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.train_forest import LabeledMolecules, read_labeled


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """Write the user's table."""

    def write_file(content: str | bytes) -> Path:
        path = tmp_path / "own.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def parse(*lines: str, is_binary: bool = True, skip_invalid: bool = False, **names: str) -> LabeledMolecules:
    with NamedTemporaryFile(suffix=".csv") as file:
        Path(file.name).write_text("\n".join(lines))
        try:
            return read_labeled(Path(file.name), is_binary=is_binary, skip_invalid=skip_invalid, **names)
        except InputError as error:
            raise InputError(*(told.replace(f"{file.name} ", "") for told in error.violations)) from None


def refusals(*lines: str, **options: Any) -> tuple[str, ...]:
    with pytest.raises(InputError, match=r".") as caught:
        parse(*lines, **options)
    return caught.value.violations


def test_molecules_and_labels_come_in_the_order_of_the_table() -> None:
    table = parse("smiles,label", "OCC,1", "CN,0", "CCO,0")
    assert table.smiles == ("CCO", "CN", "CCO")
    np.testing.assert_array_equal(table.labels, [1, 0, 0])
    assert table.is_test is None


def test_columns_are_found_in_any_order_case_and_company() -> None:
    table = parse('ID, Label ,SPLIT,SMILES,"a, b"', "7,1,Test,CCO,x", "8,0, train ,CN,")
    assert table.smiles == ("CCO", "CN")
    np.testing.assert_array_equal(table.labels, [1, 0])
    np.testing.assert_array_equal(table.is_test, [True, False])


def test_columns_may_have_names_of_the_users_own() -> None:
    names = {"smiles_name": "Structure", "label_name": "pIC50 (exp)"}
    table = parse("smiles;label;structure;pIC50 (exp)", "C;0;CCO;6,5", "C;0;CN;7", is_binary=False, **names)
    assert (table.smiles, table.labels.tolist()) == (("CCO", "CN"), [6.5, 7])


def test_a_column_that_is_named_but_not_there_is_refused() -> None:
    (told,) = refusals("smiles,pIC50,IC50", "CCO,6,1", is_binary=False, label_name="pic_50")
    assert told == "has no column pic_50; name the column with --label; did you mean pIC50?"


@pytest.mark.parametrize("text", ["6.5", " 6.5 ", "65e-1", "+6.5"])
def test_a_label_may_be_any_number_where_a_threshold_decides(text: str) -> None:
    assert parse("smiles,label", f"CCO,{text}", is_binary=False).labels.tolist() == [6.5]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (("smiles,label", 'CCO,"1,5"'), "line 2: label must be a number, with a decimal point, got '1,5'; fix it"),
        (
            ("smiles;label", "CCO;1,5", "CN;1.5"),
            "line 2: label must be a number, with a decimal point, got '1,5'; fix it",
        ),
        (("smiles;label", "CCO;1,500,000"), "line 2: label must be a number, with a decimal point, got '1,500,000'"),
    ],
    ids=["between-commas", "mixed-with-points", "groups-of-digits"],
)
def test_a_decimal_comma_that_may_mean_something_else_is_refused(lines: tuple[str, ...], told: str) -> None:
    assert refusals(*lines, is_binary=False)[0].startswith(told)


def test_blank_lines_and_cells_are_passed_over() -> None:
    assert parse("", "smiles,label", "", "CCO,1.0", ",", "  ", "CN,0", "").smiles == ("CCO", "CN")


def test_salts_and_large_molecules_are_molecules() -> None:
    assert parse("smiles,label", "CCN.Cl,1", f"{'C' * 200},0").smiles == ("CCN.Cl", "C" * 200)


def test_lines_that_hold_no_molecule_are_passed_over_when_asked() -> None:
    table = parse("smiles,label", "CCO,1", "C((,1", ",0", "*C,0", "CN,0", skip_invalid=True)
    assert (table.smiles, table.n_skipped) == (("CCO", "CN"), 3)
    np.testing.assert_array_equal(table.labels, [1, 0])


def test_lines_that_hold_no_molecule_are_refused_otherwise() -> None:
    assert refusals("smiles,label", "CCO,1", "", "C((,1") == (
        "line 4: 'C((' is not a molecule (unparsable: RDKit reads no molecule); fix it or use --skip-invalid",
    )


@pytest.mark.parametrize("text", ["", "nan", "NaN", "inf", "-inf", "1_0", ">5", "active", "1e999", "6;5"])
def test_a_label_that_is_no_number_is_refused(text: str) -> None:
    (told,) = refusals("smiles,label", "CN,0", f"CCO,{text}", is_binary=False, skip_invalid=True)
    assert re.match(r"line 3: label must be a (finite )?number, got ", told)


def test_a_label_whose_square_overflows_is_refused() -> None:
    (told,) = refusals("smiles,label", "CCO,-1e308", is_binary=False)
    assert told == "line 2: label must be a number below 1e+100, got -1e308; fix it or remove the line"


@pytest.mark.parametrize("text", ["2", "-1", "0.5"])
def test_a_label_without_threshold_is_0_or_1(text: str) -> None:
    (told,) = refusals("smiles,label", f"CCO,{text}")
    ways = "use --threshold to count high labels as active, or --regression to predict numbers"
    assert told == f"line 2: label must be 0 or 1, got {text}; {ways}"


@pytest.mark.parametrize("text", ["", "val", "validation", "0"])
def test_a_split_that_is_neither_train_nor_test_is_refused(text: str) -> None:
    (told,) = refusals("smiles,label,Split", f"CCO,1,{text}")
    assert told == f"line 2: Split must be train or test, got {text!r}; fix it or remove the column"


@pytest.mark.parametrize("line", ["CCO", "CCO,1,0"])
def test_a_line_with_other_cells_than_the_header_is_refused(line: str) -> None:
    (told,) = refusals("smiles,label", line)
    assert told.startswith(f"line 2: expected 2 cells as in the header, got {len(line.split(','))}")


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("smiles,labels", "has no column label; name the column with --label; did you mean labels?"),
        ("CCO,1", "has no column smiles; name the column with --smiles; expected one of CCO, 1"),
        ("smiles label", "has no column smiles; its header is 'smiles label'; separate the names of the columns by"),
        ("Smiles,label,SMILES", "has several columns named smiles (Smiles and SMILES); rename all but one"),
        ("smiles,label,split,split", "has several columns named split (split and split); rename all but one"),
    ],
)
def test_a_header_without_the_columns_is_refused(header: str, told: str) -> None:
    (refusal,) = refusals(header, "CCO,1")
    assert refusal.startswith(told)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (('"CCO,1', "CN,0"), "line 3 (unexpected end of data); check the quotation marks from there on"),
        (('"CCO"x,1',), "line 3 (',' expected after '\"'); check the quotation marks from there on"),
        (
            (f"{'C' * 200_000},1",),
            "line 3 (field larger than field limit (131072)); check the quotation marks from there on",
        ),
    ],
)
def test_broken_quotes_are_refused_where_they_begin(lines: tuple[str, ...], told: str) -> None:
    (refusal,) = refusals("smiles,label", "CCC,1", *lines)
    assert refusal.startswith("cannot read ")
    assert refusal.endswith(f": {told}")


def test_a_line_is_counted_from_its_beginning_through_quoted_line_feeds() -> None:
    (told,) = refusals("smiles,label,note", 'CCO,1,"two', 'lines"', "CN,x,")
    assert told.startswith("line 4: label must be a number")


def test_the_first_malformed_lines_are_shown_and_the_others_counted() -> None:
    told = refusals("smiles,label", *["CCO,x"] * 6)
    assert [line.partition(":")[0] for line in told[:5]] == [f"line {number}" for number in range(2, 7)]
    assert told[5:] == ("has 1 more malformed line",)
    assert refusals("smiles,label", *["CCO,x"] * 2_000)[5:] == ("has 1,995 more malformed lines",)


@pytest.mark.parametrize("text", ["", "\n\n", ",,\n"])
def test_an_empty_table_is_refused(text: str) -> None:
    assert refusals(text) == ("is empty; its first line must name the columns, for example: smiles,label",)


@pytest.mark.parametrize("lines", [(), ("((,1",)])
def test_a_table_without_molecules_is_refused(lines: tuple[str, ...]) -> None:
    (told,) = refusals("smiles,label", *lines, skip_invalid=True)
    assert told.startswith("contains no molecules")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    "content",
    [
        "Smiles,Label\r\nCCO,.5\r\nCN,1\r\n",
        "Smiles;Label\r\nCCO;0,5\r\nCN;1\r\n",
        "Smiles\tLabel\nCCO\t0,5\nCN\t1\n",
        'Smiles;Label;"x, y, z"\nCCO;0,5;\nCN;1;\n',
    ],
)
def test_a_table_as_spreadsheets_write_it_is_read(write, content: str, encoding: str) -> None:
    path = write(content.encode(encoding))
    table = read_labeled(path, is_binary=False, skip_invalid=False)
    assert (table.smiles, table.labels.tolist()) == (("CCO", "CN"), [0.5, 1])


def test_a_refusal_names_the_file(write) -> None:
    path = write("smiles,label\nCCO,x\nCN,y\n")
    with pytest.raises(InputError, match=re.escape(f"{path} line 2: label")) as caught:
        read_labeled(path, is_binary=True, skip_invalid=False)
    assert [violation.split(": ")[0] for violation in caught.value.violations] == [f"{path} line 2", f"{path} line 3"]


@pytest.mark.parametrize(
    ("content", "line"),
    [("smiles,label\nCCO,1\nCN,0,äh\n".encode("latin-1"), 3), ("smiles,label\n".encode("utf-16-be"), 1)],
)
def test_a_file_in_another_encoding_is_refused_with_the_line(write, content: bytes, line: int) -> None:
    with pytest.raises(InputError, match=rf"cannot read .*own\.csv: line {line} (is not|has a null byte).*UTF-8"):
        read_labeled(write(content), is_binary=True, skip_invalid=False)


@pytest.mark.parametrize("name", ["absent.csv", ".", "~nobody/x.csv", "/dev/zero", "x" * 300])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"cannot read .*; check the (file|path)$"):
        read_labeled(tmp_path / name, is_binary=True, skip_invalid=False)
