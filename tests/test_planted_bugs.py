"""The planted bugs can still be planted."""

from tests.planted_bugs import BUGS, ROOT


def test_every_bug_replaces_text_that_stands_once_in_its_file() -> None:
    files = {name: (ROOT / "evodiverse" / bug.file).read_text() for name, bug in BUGS.items()}
    assert [name for name, bug in BUGS.items() if files[name].count(bug.old) != 1] == []


def test_the_tests_that_catch_a_bug_exist() -> None:
    assert [path for bug in BUGS.values() for path in bug.tests.split() if not (ROOT / path).exists()] == []
