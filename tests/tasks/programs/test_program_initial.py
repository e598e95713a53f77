"""The user's own programs that a search starts from."""

from pathlib import Path

import pytest

from evodiverse.errors import InputError
from evodiverse.tasks.programs.initial import read_programs
from evodiverse.tasks.programs.settings import find_folder
from tests.tasks.programs.builders import write


def test_programs_come_in_the_order_named(tmp_path: Path) -> None:
    paths = [write(tmp_path, f"{name}.py", f"def main(): return {name!r}\n") for name in "ba"]
    assert read_programs(paths, "main", 1000) == ["def main(): return 'b'\n", "def main(): return 'a'\n"]


def test_all_violations_are_reported_at_once(tmp_path: Path) -> None:
    paths = [
        tmp_path / "absent.py",
        write(tmp_path, "other.py", "def other(): pass\n"),
        write(tmp_path, "one.py", "def main(): return 1\n"),
        write(tmp_path, "same.py", "def main():\n    # as before\n    return 1\n"),
    ]
    (tmp_path / "latin.py").write_bytes("def main(): return 'ä'\n".encode("latin-1"))
    with pytest.raises(InputError) as refused:
        read_programs([*paths, tmp_path / "latin.py"], "main", 1000)
    assert [violation.split(":", 1)[0] for violation in refused.value.violations] == ["task.initial.path"] * 4
    for words in ("cannot read", "is not a program of this task", "is the same program as", "is not UTF-8"):
        assert words in str(refused.value)


def test_layouts_that_come_with_a_task_place_as_many_as_asked_for() -> None:
    (source,) = read_programs([find_folder("hexagons") / "layouts.py"], "place_hexagons", 10_000, 12)
    assert "\nN = 12\n" in source
