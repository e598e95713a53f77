import os
from pathlib import Path

import pytest

from evodiverse.errors import InputError
from evodiverse.llm.keys import load_env_file, redact, redact_reply


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {**os.environ, "THERE": "from the shell"})


def added() -> dict[str, str]:
    return {name: os.environ[name] for name in ("THERE", "TOY_API_KEY", "OTHER", "NOTHING") if name in os.environ}


def test_a_file_adds_variables_and_replaces_none(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("# keys\nTHERE=from the file\nTOY_API_KEY='sk-abc def'\nexport OTHER=1\nNOTHING\n")
    load_env_file(path)
    assert added() == {"THERE": "from the shell", "TOY_API_KEY": "sk-abc def", "OTHER": "1"}


def test_an_empty_variable_counts_as_unset(tmp_path: Path) -> None:
    os.environ |= {"TOY_API_KEY": "", "EMPTY_API_KEY": " "}
    (tmp_path / ".env").write_text("TOY_API_KEY=sk-1\n")
    load_env_file(tmp_path / ".env")
    assert added() == {"THERE": "from the shell", "TOY_API_KEY": "sk-1"}
    assert "EMPTY_API_KEY" not in os.environ


def test_white_space_around_a_key_is_no_part_of_it(tmp_path: Path) -> None:
    os.environ |= {"TOY_API_KEY": " sk-1\r\n", "OTHER": "1 "}
    load_env_file(tmp_path / ".env")
    assert added() == {"THERE": "from the shell", "TOY_API_KEY": "sk-1", "OTHER": "1 "}


def test_no_file_is_fine(tmp_path: Path) -> None:
    load_env_file(tmp_path / ".env")
    assert added() == {"THERE": "from the shell"}


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_bytes(b"KEY=\xff\xfe\x00")
    with pytest.raises(InputError, match=r"cannot read .*/\.env"):
        load_env_file(path)


@pytest.mark.parametrize("content", ["A=b\0c", "'A=B'=c"])
def test_an_invalid_variable_is_refused(tmp_path: Path, content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # a real environment refuses, a dictionary does not
    (tmp_path / ".env").write_text(content)
    with pytest.raises(InputError, match=r"\.env.* is not a valid variable|cannot read"):
        load_env_file(tmp_path / ".env")


def test_values_of_secret_variables_are_hidden() -> None:
    os.environ |= {"TOY_API_KEY": "sk-12345678", "TOY_API_KEY_2": "sk-12345678-long", "DB_PASSWORD": "hunter22"}
    assert redact("sk-12345678-long and sk-12345678, hunter22, from the shell") == "*** and ***, ***, from the shell"
    assert redact("from the shell", "the shell", None) == "from ***"


def test_short_values_are_kept_since_they_occur_in_many_words() -> None:
    os.environ |= {"USE_KEY": "no"}
    assert redact("there is no model") == "there is no model"


def test_a_reply_keeps_everything_that_may_not_be_a_key() -> None:
    os.environ |= {"MAX_TOKENS": "100000000", "TOY_API_KEY": "sk-12345678"}
    assert redact_reply("100000000 by sk-12345678") == "100000000 by ***"
    assert redact_reply("by sk-87654321", "sk-87654321") == "by ***"
