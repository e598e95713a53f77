from pathlib import Path

import pytest

from evodiverse.cache_folder import cache_folder
from evodiverse.errors import DataError


def test_the_environment_chooses_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path


def test_a_cache_in_an_unknown_home_directory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVODIVERSE_CACHE", "~nobody-here/x")
    with pytest.raises(DataError, match=r"EVODIVERSE_CACHE=~nobody-here/x cannot be used .* name another folder"):
        cache_folder()


def test_otherwise_the_platform_chooses_the_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVODIVERSE_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder().name == "evodiverse"
