"""The instances of bin packing: the built-in sets never change, and a user's file is checked."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from evodiverse.errors import InputError
from evodiverse.settings.plan import read_source
from evodiverse.tasks.programs import domain
from evodiverse.tasks.programs.bin_packing.packing import Instance, draw_instances, find_instances
from evodiverse.tasks.programs.settings import ProgramSettings
from tests.runs import plan, rows, run_here

GOOD = """ 2
 small
 10 3 2
6
5
3
 other
7 2
7
1
"""


def write(folder: Path, content: str) -> Path:
    path = folder / "mine.txt"
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    ("name", "shape", "capacity", "digest"),
    [("weibull5k", (5, 5_000), 100, "e8ab7f8012582d44"), ("or3", (20, 500), 150, "989972dc51b346f9")],
)
def test_the_sets_never_change(name: str, shape: tuple[int, int], capacity: int, digest: str) -> None:
    instances = draw_instances(name)
    items = [instance.items for instance in instances]
    assert np.array(items).shape == shape
    assert {instance.capacity for instance in instances} == {capacity}
    assert hashlib.sha256(json.dumps(items).encode()).hexdigest()[:16] == digest


def test_the_sizes_of_weibull5k_are_spread_as_the_distribution_says() -> None:
    items = np.concatenate([instance.items for instance in draw_instances("weibull5k")])
    assert (items.min() >= 1, items.max() <= 100) == (True, True)
    for size in (10, 30, 45, 60, 80):  # P(X <= x) = 1 - exp(-(x / 45)^3); within 4 standard errors
        expected = 1 - np.exp(-(((size + 0.5) / 45) ** 3))
        assert np.mean(items <= size) == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 25_000))


def test_the_sizes_of_or3_are_spread_evenly() -> None:
    items = np.concatenate([instance.items for instance in draw_instances("or3")])
    counts = np.bincount(items, minlength=101)
    assert (items.min(), items.max()) == (20, 100)
    expected = 10_000 / 81
    assert ((counts[20:] - expected) ** 2 / expected).sum() < 80 + 4 * np.sqrt(160)  # chi-squared, 80 degrees


def test_a_file_in_or_librarys_format_is_read(tmp_path: Path) -> None:
    expected = (Instance("small", 10, (6, 5, 3)), Instance("other", 7, (7, 1)))
    assert find_instances(str(write(tmp_path, GOOD))) == expected
    assert find_instances(str(write(tmp_path, "\ufeff" + GOOD.replace("\n", "\r\n\r\n")))) == expected


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (GOOD, "", "ends where the number of instances is expected"),
        (" 2\n", " two\n", "line 1 of .* has two, expected the number of instances, an integer between 1 and 1000"),
        (" 2\n", "2000\n", "line 1 of .* has 2000, expected the number of instances"),
        (" 2\n", "3\n", "ends where the name of an instance is expected"),
        (" 2\n", "1\n", "line 7 of .* has other, expected nothing after the last instance"),
        (" 10 3 2", "10", "line 3 of .* has 10, expected a capacity, a number of items and a number of bins"),
        (" 10 3 2", "10 3 2 1", "expected a capacity, a number of items and a number of bins"),
        (" 10 3 2", "0 3 2", "has 0, expected a capacity, an integer between 1 and 10000"),
        (" 10 3 2", "10001 3 2", "has 10001, expected a capacity"),
        (" 10 3 2", "10 0 2", "has 0, expected a number of items"),
        (" 10 3 2", "10 100001 2", "has 100001, expected a number of items \\(at most 100000 in all instances\\)"),
        (" 10 3 2", "10 4 2", "line 7 of .* has other, expected the size of an item"),
        ("6\n", "11\n", "line 4 of .* has 11, expected the size of an item, an integer between 1 and 10"),
        ("6\n", "0\n", "line 4 of .* has 0, expected the size of an item"),
        ("6\n", "-6\n", "has -6, expected the size of an item"),
        ("6\n", "5.5\n", r"has 5\.5, expected the size of an item"),
        ("6\n", "\u0666\n", "expected the size of an item"),
        ("6\n", "9" * 5000 + "\n", "has 9{40}, expected the size of an item"),
        ("7\n1\n", "7\n", "ends where the size of an item is expected"),
    ],
)
def test_a_malformed_file_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(InputError, match=words) as refused:
        find_instances(str(path))
    assert len(str(refused.value).splitlines()) == 1
    assert str(refused.value).startswith("task.instances: ")


def test_a_path_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for named, words in [
        ("weibul5k", r"cannot read weibul5k: No such file or directory.*; expected weibull5k, or3, or a file"),
        ("/dev/zero", "it is a device or a pipe"),
        (str(tmp_path), "Is a directory"),
        ("~nobodyx/a.txt", "cannot read ~nobodyx/a.txt"),
    ]:
        with pytest.raises(InputError, match=words):
            find_instances(named)
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="save it as text in UTF-8"):
        find_instances(str(tmp_path / "binary.txt"))


def test_the_command_line_refuses_instances_that_cannot_be_used() -> None:
    with pytest.raises(InputError, match=r"task\.instances: cannot read absent\.txt"):
        plan("task=bin_packing", "task.instances=absent.txt")
    with pytest.raises(InputError, match=r"task\.instances has no value; expected weibull5k, or3, or a file"):
        plan("task=bin_packing", "task.instances=null")


def test_another_content_of_a_file_is_other_data(tmp_path: Path) -> None:
    settings = ProgramSettings(evaluator="bin_packing", instances=str(write(tmp_path, GOOD)))
    first, other = (
        read_source("instances", domain.sources(settings, str)["instances"])
        for content in (GOOD, GOOD.replace("5", "4"))
        if write(tmp_path, content)
    )
    assert first != other
    assert set(domain.sources(ProgramSettings(evaluator="bin_packing", instances="or3"), str)) == {"initial"}


@pytest.mark.slow
def test_a_run_packs_a_users_own_instances(tmp_path: Path) -> None:
    run = run_here(
        "task=bin_packing",
        f"task.instances={write(tmp_path, GOOD)}",
        "budget.oracle_calls=3",
        "evaluator.workers=1",
        f"outputs={tmp_path}",
    )
    first = min((row for row in rows(run, "evaluations") if row["call"]), key=lambda row: row["call"])
    assert (first["bins"], first["score"]) == (4, pytest.approx((4 / 4) ** 25))
