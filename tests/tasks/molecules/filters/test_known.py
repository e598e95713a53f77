"""Files of known molecules: what counts as known, and what is wrong with hostile ones."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.filters import filters
from evodiverse.tasks.molecules.filters.filters import read_known
from evodiverse.tasks.molecules.parsing import parse_smiles
from evodiverse.vocabulary import Hypothesis
from tests.tasks.molecules.drugs import DRUGS


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder, empty."""
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path / "cache"))
    filters._load_known.cache_clear()
    return tmp_path / "cache"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        raw = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return write_file


def key(smiles: str) -> str:
    parsed = parse_smiles(smiles, 80)
    assert isinstance(parsed, Hypothesis)
    return parsed.key


LINES = "# mine\n\n" + "".join(f"{smiles} name {at}\r\n" for at, smiles in enumerate(DRUGS))
TABLE = "id,SMILES\n" + "".join(f'{at},"{smiles}"\n' for at, smiles in enumerate(DRUGS))


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.smi", LINES), ("a.smi.gz", LINES), ("a.CSV", TABLE), ("a.csv.gz", TABLE), ("a", "\ufeff" + LINES)],
)
def test_exactly_the_molecules_of_a_file_are_known(
    write: Callable[[str, str | bytes], Path], name: str, content: str
) -> None:
    found = read_known(write(name, content))
    assert all(key(smiles) in found for smiles in DRUGS)
    assert not any(smiles in found for smiles in ("CCO", "CCN", "", "name"))


def test_a_molecule_is_known_however_it_was_written_and_its_mirror_image_is_another(
    write: Callable[[str, str | bytes], Path],
) -> None:
    found = read_known(write("a.smi", "OC(=O)[C@@H](C)N\n"))
    assert (key("N[C@H](C)C(O)=O") in found, key("N[C@@H](C)C(O)=O") in found) == (True, False)


def test_the_parts_of_a_salt_are_known(write: Callable[[str, str | bytes], Path]) -> None:
    found = read_known(write("a.smi", "[Na+].CC(=O)[O-]\n"))
    assert key("CC(=O)[O-]") in found
    assert key("CC(=O)O") not in found


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.smi", "CCO\n\nC((\n", r"a\.smi line 3: 'C\(\(' is malformed \(unparsable: RDKit reads no molecule\)"),
        ("a.smi", b"CCO\nC\xffC\n", r"cannot read .*a\.smi: line 2 is not UTF-8"),
        ("a.smi", "CCO\nC\0C\n", r"a\.smi: line 2 has a null byte"),
        ("a.smi", "", r"a\.smi contains no molecules"),
        ("a.smi", "# nothing\n", r"contains no molecules"),
        ("a.pdf", "CCO\n", r"a\.pdf has an unknown format; use one of \.smi"),
        ("a.csv", "id,structure\n1,CCO\n", r"a\.csv has no column of SMILES; rename one of id, structure to smiles"),
        ("a.csv", "id,smiles\n1,CCO\n2\n", r"a\.csv line 3: '' is malformed \(empty\)"),
    ],
)
def test_a_hostile_file_is_refused_with_the_line(
    write: Callable[[str, str | bytes], Path], name: str, content: str | bytes, expected: str
) -> None:
    with pytest.raises(InputError, match=f"^task\\.filters\\.novel: .*{expected}"):
        read_known(write(name, content))


def test_what_is_no_gzip_file_or_cut_off_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.smi.gz"
    for content in (b"CCO\n", gzip.compress(LINES.encode())[:-9]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"is truncated or not a gzip file"):
            read_known(path)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"task\.filters\.novel: cannot read .* \(Is a directory\)"):
        read_known(tmp_path)


def test_a_file_is_read_once(
    write: Callable[[str, str | bytes], Path], monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    path = write("a.smi", LINES)
    first = read_known(path)
    filters._load_known.cache_clear()
    monkeypatch.setattr(filters, "Source", None)
    assert np.array_equal(read_known(path).hashes, first.hashes)
    assert [kept.suffix for kept in (cache / "known").iterdir()] == [".npy"]


def test_a_changed_file_is_read_again(write: Callable[[str, str | bytes], Path]) -> None:
    assert "CCO" in read_known(write("a.smi", "CCO\n"))
    assert "CCO" not in read_known(write("a.smi", "CCN\n"))


def test_a_damaged_cache_is_made_again(write: Callable[[str, str | bytes], Path], cache: Path) -> None:
    path = write("a.smi", "CCO\n")
    read_known(path)
    filters._load_known.cache_clear()
    (kept,) = (cache / "known").iterdir()
    kept.write_bytes(b"no numbers")
    assert "CCO" in read_known(path)
