"""A run that grows in its place survives a kill at any moment: as it was, or as the longer run."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evodiverse.store.opening import drop, finish, set_aside


class Killed(BaseException):
    """Ends the process in place of a signal."""


def write_run(folder: Path, name: str) -> None:
    for entry in ("run.json", "checkpoint", "evaluations/part"):
        (folder / entry).parent.mkdir(exist_ok=True)
        (folder / entry).write_text(name)


def read_run(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


def grow(folder: Path) -> None:
    with set_aside(folder):
        write_run(folder, "long")
    drop(folder)


@pytest.fixture
def kill_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let the process die at a renaming or deletion, counted from 0; nothing is undone then."""
    rename, rmdir, unlink = os.rename, os.rmdir, os.unlink

    def plan_kill(at: int) -> None:
        left = iter(range(at + 1))

        def counted(change: Callable[..., None]) -> Callable[..., None]:
            def change_or_die(*args: object, **kwargs: object) -> None:
                if next(left, None) is None:
                    raise Killed
                change(*args, **kwargs)

            return change_or_die

        for name, change in (("rename", rename), ("rmdir", rmdir), ("unlink", unlink)):
            monkeypatch.setattr(os, name, counted(change))

    return plan_kill


def test_a_kill_at_any_moment_leaves_the_old_run_or_the_new_one(
    tmp_path: Path, kill_at: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = []
    for at in range(30):
        folder = tmp_path / str(at)
        folder.mkdir()
        write_run(folder, "short")
        kill_at(at)
        try:
            grow(folder)
        except Killed:
            monkeypatch.undo()
            finish(folder)
            outcomes.append({*read_run(folder).values()})
        else:
            monkeypatch.undo()
            break
    assert {"short"} in outcomes
    assert {"long"} in outcomes
    assert all(len(outcome) == 1 for outcome in outcomes)
    assert read_run(folder) == {"run.json": "long", "checkpoint": "long", "evaluations/part": "long"}
