"""The cache of docking results."""

from dataclasses import replace
from pathlib import Path

import pytest

from evodiverse.docking.docked import Docked, Job, find_docked, keep_docked
from evodiverse.docking.target import Box
from evodiverse.errors import DataError
from tests.docking.receptors import SETTINGS, make_job


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return make_job(tmp_path)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_a_result_is_found_again(cache: Path, job: Job) -> None:
    assert find_docked(cache, job) is None
    keep_docked(cache, job, Docked(-7.5, "pose"))
    assert find_docked(cache, job) == Docked(-7.5, "pose")


def test_a_result_of_another_docking_is_not_used(cache: Path, job: Job) -> None:
    keep_docked(cache, job, Docked(-7.5, "pose"))
    target = job.target
    others = [
        replace(job, key="CCN"),
        replace(job, target=replace(target, sha256="0" * 64)),
        replace(job, target=replace(target, box=Box((0.0, 0.0, 0.0), (10.0, 10.0, 10.5)))),
        replace(job, settings=replace(SETTINGS, exhaustiveness=9)),
        replace(job, settings=replace(SETTINGS, versions={"toy": "2"})),
        replace(job, settings=replace(SETTINGS, seed=2)),
        replace(job, settings=replace(SETTINGS, n_poses=1)),
    ]
    assert [find_docked(cache, other) for other in others] == [None] * 7


def test_a_receptor_is_identified_by_its_content_not_by_its_name(cache: Path, job: Job) -> None:
    keep_docked(cache, job, Docked(-7.5, "pose"))
    assert find_docked(cache, replace(job, target=replace(job.target, name="x", receptor=Path("other.pdbqt"))))


def test_a_failure_is_not_stored(cache: Path, job: Job) -> None:
    keep_docked(cache, job, Docked(None, error="no conformer"))
    assert find_docked(cache, job) is None


@pytest.mark.parametrize("content", ["", "[]", '{"key": "CCO", "score": NaN, "pose": "p"}', '{"score": -7.5}'])
def test_a_damaged_file_is_ignored(cache: Path, job: Job, content: str) -> None:
    keep_docked(cache, job, Docked(-7.5, "pose"))
    (file,) = cache.iterdir()
    file.write_text(content)
    assert find_docked(cache, job) is None


def test_a_folder_that_cannot_be_written_is_reported(job: Job, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"cannot be written \(.*\); set EVODIVERSE_CACHE to a writable folder"):
        keep_docked(tmp_path / "file", job, Docked(-7.5, "pose"))
