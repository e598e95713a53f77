import hashlib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evodiverse.data.artifacts import ARTIFACTS, Artifact
from tests.data.servers import WHEEL, Index, running

CONTENTS = {"oak": b"leaves " * 1000, "elm": b"seeds"}


def write_wheel(folder: Path, members: dict[str, bytes]) -> None:
    info = "toy_forest-1.0.dist-info"
    with zipfile.ZipFile(folder / WHEEL, "w") as wheel:
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: toy-forest\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
        for name, content in members.items():
            wheel.writestr(f"toy_forest/{name}.txt", content)


def toy_artifact(name: str) -> Artifact:
    return Artifact(
        name=name,
        requirement="toy-forest==1.0",
        member=f"toy_forest/{name}.txt",
        sha256=hashlib.sha256(CONTENTS[name]).hexdigest(),
        file_name=f"{name}.txt",
        n_bytes=len(CONTENTS[name]),
        download_bytes=2_000_000,
        license="MIT",
        description="a toy",
    )


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, two known artifacts in one wheel, and a pip that sees nothing but that wheel."""
    index = tmp_path / "index"
    index.mkdir()
    write_wheel(index, CONTENTS)
    for name in list(ARTIFACTS):
        monkeypatch.delitem(ARTIFACTS, name)
    for name in CONTENTS:
        monkeypatch.setitem(ARTIFACTS, name, toy_artifact(name))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("EVODIVERSE_OFFLINE", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def index(cache: Path) -> Path:
    """The folder that pip takes the wheel from."""
    return cache.parent / "index"


@pytest.fixture
def filled_cache(cache: Path) -> Path:
    """The cache with both artifacts."""
    cache.mkdir()
    for name, content in CONTENTS.items():
        (cache / f"{name}.txt").write_bytes(content)
    return cache


@pytest.fixture
def damaged_cache(filled_cache: Path) -> Path:
    """The cache with both artifacts, of which oak has lost most of its leaves."""
    (filled_cache / "oak.txt").write_bytes(b"leaves")
    return filled_cache


@pytest.fixture(name="write_wheel")
def write_wheel_fixture() -> Callable[[Path, dict[str, bytes]], None]:
    """Write the wheel with other members."""
    return write_wheel


@pytest.fixture
def unreachable_index(index: Path) -> None:
    """Nothing can be downloaded any more."""
    (index / WHEEL).unlink()


@pytest.fixture
def use_index(index: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make pip use the package index at an address instead of the folder."""

    def use(url: str) -> None:
        (index / WHEEL).unlink()
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.setenv("PIP_INDEX_URL", url)

    return use


@pytest.fixture
def http_index(index: Path, use_index: Callable[[str], None]) -> Iterator[Index]:
    """A package index that pip talks HTTP with; its wheel is large enough for pip to tell its progress."""
    write_wheel(index, CONTENTS | {"pad": bytes(1_500_000)})
    server = Index((index / WHEEL).read_bytes())
    use_index(server.url)
    with running(server):
        yield server
        server.goes_on.set()
