"""What is known of molecules is computed once, in this process and in any other."""

import sqlite3
from pathlib import Path

import pytest

from evodiverse.errors import DataError
from evodiverse.tasks.molecules import diversity, properties
from evodiverse.tasks.molecules import store as known
from evodiverse.tasks.molecules.store import NoMoleculeError, open_store

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


def ask(folder: Path) -> tuple[object, ...]:
    with open_store(folder) as store:
        return tuple(store.fingerprint(ASPIRIN).GetOnBits()), store.quality(ASPIRIN), store.scaffold(ASPIRIN)


def test_what_is_kept_is_what_rdkit_computes(tmp_path: Path) -> None:
    expected = (
        tuple(diversity.fingerprint(ASPIRIN).GetOnBits()),
        properties.assess(ASPIRIN),
        properties.find_scaffold(ASPIRIN),
    )
    assert ask(tmp_path) == expected
    assert ask(tmp_path) == expected


def test_nothing_is_computed_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ask(tmp_path)
    for what, (_, *conversions) in known._PROPERTIES.items():
        monkeypatch.setitem(known._PROPERTIES, what, (pytest.fail, *conversions))
    assert ask(tmp_path) == first


def test_another_version_of_rdkit_has_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(tmp_path)
    monkeypatch.setattr(known.rdkit, "__version__", "2030.1")
    ask(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_two_may_write_what_both_computed(tmp_path: Path) -> None:
    with open_store(tmp_path) as one, open_store(tmp_path) as other:
        assert one.scaffold(ASPIRIN) == other.scaffold(ASPIRIN)
    (file,) = tmp_path.iterdir()
    assert sqlite3.connect(file).execute("SELECT COUNT(*) FROM known").fetchone() == (1,)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    ask(tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"no database" * 1000)
    with pytest.raises(DataError, match=r"molecules-rdkit-.*sqlite cannot be used \(DatabaseError.*delete the file"):
        ask(tmp_path)


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(DataError, match=r"cannot be written \(.*set EVODIVERSE_CACHE"):
        ask(tmp_path / "cache")


@pytest.mark.parametrize("hostile", ["\x1b[31m", "C(", "no molecule", "C%10" * 3])
def test_what_no_run_logs_is_refused_in_one_line(
    tmp_path: Path, hostile: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with open_store(tmp_path) as store, pytest.raises(NoMoleculeError, match="cannot be measured"):
        store.fingerprint(hostile)
    assert capfd.readouterr().err == ""


def test_a_cage_on_which_rdkit_would_work_for_minutes_is_refused(tmp_path: Path) -> None:
    cage = "C12C3C4C1C1C4C4C1C1C4C4C1C1C4C4C1C1C4C4C1C1C5C6C7C8C9C%10C%11C%12C2C3C%12C%11C%10C9C8C7C6C5C41"
    with open_store(tmp_path) as store, pytest.raises(NoMoleculeError, match="21 rings, at most 18"):
        store.fingerprint(cage)
