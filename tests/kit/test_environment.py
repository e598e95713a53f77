from pathlib import Path

import pytest

from evodiverse.errors import DataError
from evodiverse.kit.environment import cache_folder, is_offline


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


def test_without_the_variable_the_network_may_be_used(monkeypatch):
    monkeypatch.delenv("EVODIVERSE_OFFLINE", raising=False)
    assert not is_offline()


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("Yes", True), ("0", False), ("", False), ("off", False)])
def test_the_variable_is_a_yes_or_a_no(monkeypatch, value, expected):
    monkeypatch.setenv("EVODIVERSE_OFFLINE", value)
    assert is_offline() is expected


def test_a_value_that_is_neither_is_refused_rather_than_guessed(monkeypatch):
    monkeypatch.setenv("EVODIVERSE_OFFLINE", "maybe")
    with pytest.raises(DataError, match="EVODIVERSE_OFFLINE must be 1 or 0, got 'maybe'"):
        is_offline()
