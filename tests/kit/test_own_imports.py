"""The files of a user's own code that a file imports."""

import sys
from pathlib import Path

import pytest

from evodiverse.kit.own_code import find_imports

FILES = {
    "oracle.py": "import numpy\nimport json, helpers\ndef score(smiles):\n    from parts.weights import W\n",
    "helpers.py": "import oracle\nfrom evodiverse.kit import text\n",
    "parts/weights.py": "from . import more\n",  # a folder without __init__.py
    "parts/more.py": "",
    "unused.py": "",
    "package/__init__.py": "from .inner.last import *\n",
    "package/oracle.py": "from . import sibling as s\nfrom package import metrics\nimport helpers\n",
    "package/sibling.py": "def (",
    "package/metrics.py": "import unused\n",
    "package/inner/__init__.py": "from ....... import unused\n",
    "package/inner/last.py": "from ..sibling import x\n",
}


def write(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("file", "without", "expected"),
    [
        ("oracle.py", None, ["helpers.py", "parts/more.py", "parts/weights.py"]),
        (
            "package/oracle.py",
            "package/metrics.py",
            [
                *("helpers.py", "oracle.py", "package/__init__.py", "package/inner/__init__.py"),
                *("package/inner/last.py", "package/sibling.py", "parts/more.py", "parts/weights.py"),
            ],
        ),
        ("package/sibling.py", None, ["package/__init__.py", "package/inner/__init__.py", "package/inner/last.py"]),
    ],
)
def test_imports_are_followed_through_the_users_own_files(
    tmp_path: Path, file: str, without: str | None, expected: list[str]
) -> None:
    write(tmp_path)
    found = find_imports(tmp_path / file, None if without is None else tmp_path / without)
    assert [str(path.relative_to(tmp_path)) for path in found] == expected


def test_files_of_other_folders_on_the_path_count_but_libraries_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "own")
    write(tmp_path / "site-packages")
    (tmp_path / "start.py").write_text("import helpers\n")
    for name in ("site-packages", "own"):
        monkeypatch.syspath_prepend(tmp_path / name)
    assert tmp_path / "own" / "helpers.py" in find_imports(tmp_path / "start.py")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site-packages")])
    assert find_imports(tmp_path / "start.py") == []


def test_of_an_installed_package_only_its_own_files_count(tmp_path: Path) -> None:
    write(tmp_path / "site-packages")
    found = find_imports(tmp_path / "site-packages" / "package" / "oracle.py")
    assert {path.parts[-2] for path in found} == {"package", "inner"}
