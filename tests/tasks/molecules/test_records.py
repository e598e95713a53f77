"""Records of files of molecules, in each format, packed or not, and what is told of files that are none."""

import csv
import gzip
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from rdkit import Chem

from evodiverse.errors import InputError
from evodiverse.kit import tables
from evodiverse.kit.tables import MAX_LINE
from evodiverse.tasks.molecules.records import Record, Source
from tests.tasks.molecules.drugs import DRUGS

Write = Callable[..., Source]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of this name, packed where its name says so."""

    def write_file(name: str, content: str | bytes, column: str | None = None) -> Source:
        path = tmp_path / name
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return Source(path, column)

    return write_file


def texts(source: Source) -> list[str]:
    return [record.text for record in source.records()]


def refusal(source: Source) -> str:
    with pytest.raises(InputError, match=r".") as told:
        list(source.records())
    (line,) = told.value.violations
    return line.replace(str(source.path), source.path.name)


def write_sdf(path: Path, smiles: list[str]) -> None:
    with Chem.SDWriter(str(path)) as writer:
        for number, text in enumerate(smiles):
            molecule = Chem.MolFromSmiles(text)
            molecule.SetProp("_Name", f"drug {number}")
            molecule.SetProp("SMILES", "not read")
            writer.write(molecule)


# Formats


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("suffix", ["", ".smi", ".SMI", ".smiles", ".txt"])
def test_a_line_of_smiles_is_a_record(write: Write, suffix: str, packed: str) -> None:
    source = write(f"own{suffix}{packed}", "# SMILES name\nCCO ethanol\n\n  C\tmethane\n")
    assert list(source.records()) == [Record(2, "CCO"), Record(4, "C")]


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_a_row_of_a_table_is_a_record(write: Write, packed: str) -> None:
    source = write(f"own.csv{packed}", 'id,SMILES,name\n1,CCO,"a, b"\n\n2,C,\n')
    assert list(source.records()) == [Record(2, "CCO"), Record(4, "C")]


def test_a_table_may_be_separated_by_semicolons_and_quoted(write: Write) -> None:
    assert texts(write("own.csv", '"ChEMBL ID";"Smiles"\n"CHEMBL1";"CC(=O)O"\n')) == ["CC(=O)O"]


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_a_row_of_a_table_with_tabs_is_a_record(write: Write, packed: str) -> None:
    source = write(f"own.tsv{packed}", 'id\tcanonical_smiles\tname\n1\tCCO\t"5\'\n2\tC\t"\n')
    assert list(source.records()) == [Record(2, "CCO"), Record(3, "C")]


def test_a_row_begins_where_its_first_line_does(write: Write) -> None:
    source = write("own.csv", 'name,smiles\n"two\nlines",CCO\n"three\n\nlines",C\nx,N\n')
    assert list(source.records()) == [Record(2, "CCO"), Record(4, "C"), Record(7, "N")]


def test_a_table_as_pythons_writer_makes_it_is_read(write: Write, tmp_path: Path) -> None:
    with (tmp_path / "own.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("name", "smiles"), *(('the "drug",\nquoted', text) for text in DRUGS)])
    assert texts(Source(tmp_path / "own.csv")) == list(DRUGS)


def test_a_row_that_is_too_short_has_an_empty_smiles(write: Write) -> None:
    assert texts(write("own.csv", "id,smiles\n1\n2,C\n")) == ["", "C"]


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("canonical_smiles,smiles", "B"),
        ("SMILES,canonical_smiles", "A"),
        ("a,Canonical_SMILES", "B"),
        ("Smiles,b", "A"),
        ("Smiles,smiles", "B"),
    ],
)
def test_a_column_of_smiles_is_found_by_its_usual_names(write: Write, header: str, found: str) -> None:
    assert texts(write("own.csv", f"{header}\nA,B\n")) == [found]


@pytest.mark.parametrize(("column", "found"), [("mol", "A"), ("Mol", "B"), ("SMILES", "C")])
def test_a_column_is_found_by_its_name_as_it_is_written_or_in_another_case(
    write: Write, column: str, found: str
) -> None:
    assert texts(write("own.csv", "mol,Mol,smiles\nA,B,C\n", column)) == [found]


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_an_entry_of_an_sdf_is_a_record(write: Write, tmp_path: Path, packed: str, ending: str) -> None:
    write_sdf(tmp_path / "plain.sdf", list(DRUGS))
    content = (tmp_path / "plain.sdf").read_text()
    lines = content.split("\n")
    source = write(f"own.sdf{packed}", content.replace("\n", ending).encode())
    read = list(source.records())
    assert [Chem.CanonSmiles(Chem.MolToSmiles(Chem.MolFromMolBlock(one.text))) for one in read] == [
        Chem.CanonSmiles(text) for text in DRUGS
    ]
    assert [lines[one.line - 1] for one in read] == [f"drug {number}" for number in range(len(DRUGS))]


@pytest.mark.parametrize("end", ["", "\n", "$$$$", "$$$$\n", "\n\n"])
def test_the_last_entry_of_an_sdf_needs_no_end(write: Write, end: str) -> None:
    assert len(texts(write("own.sdf", f"a\nM  END\n$$$$\nb\nM  END\n{end}"))) == 2


@pytest.mark.parametrize("name", ["own.smi", "own.csv", "own.tsv", "own.sdf", "own.smi.gz"])
def test_records_are_the_same_however_small_the_blocks_are(
    write: Write, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    lines = ["smiles", *("CCO x" if n % 3 else "$$$$" for n in range(40)), ""]
    for ending, encoding in product(["\n", "\r\n", "\r"], ["utf-8", "utf-16-le", "utf-16-be"]):
        source = write(name, ("\ufeff" + ending.join(lines)).encode(encoding))
        whole = list(source.records())
        assert len(whole) > 10
        for size in (3, 4, 7, 64):
            with monkeypatch.context() as patch:
                patch.setattr(tables, "BLOCK_BYTES", size)
                assert list(source.records()) == whole, (ending, encoding, size)


# Fetching


def test_records_are_fetched_in_the_order_asked_for(write: Write) -> None:
    source = write("own.smi", "A\nB\n#\nC\nD\n")
    assert source.fetch([3, 0, 2]) == [Record(5, "D"), Record(1, "A"), Record(4, "C")]


def test_a_file_that_became_shorter_is_refused(write: Write) -> None:
    with pytest.raises(
        InputError, match=r"cannot read .*own\.smi: it changed while it was being read; run the same command again"
    ):
        write("own.smi", "A\nB\n").fetch([0, 5])


# What is refused


@pytest.mark.parametrize("name", ["own.xyz", "own.smi.bz2", "own.mol2", "own.parquet"])
def test_an_unknown_format_is_refused_with_those_that_are_known(write: Write, name: str) -> None:
    assert refusal(write(name, "C\n")) == (
        f"task.initial.path: {name} has an unknown format; use one of .smi, .smiles, .txt, .csv, .tsv, .sdf, "
        "optionally followed by .gz"
    )


def test_a_table_without_a_column_of_smiles_is_refused_with_its_columns(write: Write) -> None:
    expected = "task.initial.column: own.csv has no column of SMILES; set it to one of id, structure"
    assert refusal(write("own.csv", "id,structure\n1,C\n")) == expected


def test_a_column_that_a_table_has_not_is_refused_with_those_it_has(write: Write) -> None:
    expected = "task.initial.column: own.tsv has no column mol; set it to one of id, smiles"
    assert refusal(write("own.tsv", "id\tsmiles\n1\tC\n", "mol")) == expected


def test_a_column_whose_name_several_have_is_refused(write: Write) -> None:
    expected = "task.initial.path: own.csv has several columns named MOL (mol and Mol); rename all but one"
    assert refusal(write("own.csv", "mol,Mol\nC,N\n", "MOL")) == expected


def test_a_table_of_many_columns_is_refused_in_a_line_of_bounded_length(write: Write) -> None:
    names = ",".join(f"c{n}" for n in range(1000))
    assert refusal(write("own.csv", f"{names}\n")).endswith("one of c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, …")


@pytest.mark.parametrize("name", ["own.smi", "own.sdf"])
def test_a_column_of_a_file_that_has_none_is_refused(write: Write, name: str) -> None:
    assert refusal(write(name, "C\n", "smiles")) == (
        f"task.initial.column=smiles names a column, but {name} is not a .csv or .tsv; use such a file, or set the "
        "key to null"
    )


@pytest.mark.parametrize("content", ["", "\n", ",,\n"])
def test_a_table_without_a_header_is_refused(write: Write, content: str) -> None:
    told = refusal(write("own.csv", content))
    assert told == "task.initial.path: cannot read own.csv: its first line names no column"


@pytest.mark.parametrize("name", ["own.smi", "own.csv", "own.tsv", "own.sdf", "own.smi.gz"])
def test_a_line_that_is_no_utf_8_is_named(write: Write, name: str) -> None:
    content = "smiles\nCCO\nCC \xe4thanol\n".encode("latin-1")
    assert refusal(write(name, content)) == (
        f"task.initial.path: cannot read {name}: line 3 is not UTF-8; save it as text in UTF-8"
    )


@pytest.mark.parametrize("name", ["own.smi", "own.csv", "own.sdf"])
def test_a_null_byte_is_named_with_its_line(write: Write, name: str) -> None:
    assert refusal(write(name, b"smiles\nCCO\nC\0C\n")) == (
        f"task.initial.path: cannot read {name}: line 3 has a null byte, so it is not text in UTF-8; check the file"
    )


def test_an_entry_without_end_is_refused_before_it_fills_the_memory(write: Write) -> None:
    told = refusal(write("own.sdf", b"a\n$$$$\n" + b"b\n" * MAX_LINE))
    assert told == "task.initial.path: cannot read own.sdf: the entry at line 3 has more than 1,000,000 characters"


def test_a_quotation_that_never_ends_is_refused(write: Write) -> None:
    told = refusal(write("own.csv", 'smiles\n"' + "C\n" * 200_000))
    assert re.fullmatch(
        r"task\.initial\.path: .*line \d+ \(field larger .*\); check the quotation marks from there on", told
    )


@pytest.mark.parametrize("keep", [15, 200, -4])
def test_a_packed_file_that_is_cut_off_is_refused(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "own.smi.gz"
    path.write_bytes(gzip.compress("".join(f"{'C' * n}\n" for n in range(300)).encode())[:keep])
    assert "cannot read own.smi.gz: it is truncated or not a gzip file (" in refusal(Source(path))


@pytest.mark.parametrize("content", [b"CCO\n", b"\x1f\x8b\x08\x00garbage behind the head", b"\x1f\x8b\xff"])
def test_a_file_that_is_named_as_packed_but_is_not_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "own.smi.gz"
    path.write_bytes(content)
    assert "cannot read own.smi.gz: it is truncated or not a gzip file (" in refusal(Source(path))


def test_a_packed_file_that_is_damaged_in_the_middle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.smi.gz"
    packed = bytearray(gzip.compress("".join(f"{smiles} x{n}\n" for n, smiles in enumerate(DRUGS * 20)).encode()))
    packed[len(packed) // 2] ^= 0xFF
    path.write_bytes(packed)
    assert "cannot read own.smi.gz: it is truncated or not a gzip file (" in refusal(Source(path))
