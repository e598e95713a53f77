"""What a run refuses before its first oracle call: a dry run refuses the same, and neither leaves anything behind."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evodiverse.commands.run import job
from evodiverse.commands.sweep import run_sweep
from evodiverse.errors import InputError
from evodiverse.runlog.record import CHECKPOINT
from evodiverse.settings.assembly import rehearse, run
from evodiverse.settings.schema import register
from evodiverse.store.files import locked
from tests.runs import TOY_CONF, Silent, plan, stopped_after

RUN = "bits/pt/off/default/seed0"
TOY = ("task=bits", "evaluator.workers=1")


def refusals(outputs: Path, instead: Mapping[str, Any], *overrides: str) -> tuple[str, str]:
    """Return the errors of the dry run and of the run itself."""
    planned = plan(*(overrides or TOY), f"outputs={outputs}", instead=instead)
    with pytest.raises(InputError) as dry:
        rehearse(planned, pytest.fail)
    with pytest.raises(InputError) as real:
        run(planned, Silent(), pytest.fail, lambda folder: folder.mkdir(exist_ok=True))
    return str(dry.value), str(real.value)


@pytest.mark.parametrize(
    ("instead", "message"),
    [
        ({"task.spoiled": "start"}, "no initial candidate can enter a pool (unparsable 16; the first: unparsable: 7"),
        ({"evaluator.name": "command", "evaluator.command": ["no-such-program"]}, "no-such-program cannot be started"),
        ({"evaluator.name": "ray", "evaluator.address": "127.0.0.1:1"}, "evaluator"),
    ],
)
def test_a_dry_run_refuses_what_the_run_refuses_and_neither_leaves_a_folder(
    tmp_path: Path, instead: Mapping[str, Any], message: str
) -> None:
    dry, real = refusals(tmp_path / "runs" / "all", instead)
    assert dry == real
    assert message in dry
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_sees_that_the_filters_leave_no_initial_molecule(tmp_path: Path) -> None:
    (tmp_path / "start.smi").write_text("CCO\nCCN\n")
    instead = {"task.initial.path": str(tmp_path / "start.smi"), "task.filters": {"require": {"ring": "[R]"}}}
    dry, real = refusals(tmp_path / "runs", instead, "task=jnk3")
    assert dry == real
    assert "task.filters: none of 2 initial molecules pass" in dry
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("was_there", [True, False])
def test_a_run_refused_at_its_first_evaluation_is_no_run(tmp_path: Path, was_there: bool) -> None:
    program = tmp_path / "score"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    kept = tmp_path / "runs" / "mine" / ".kept"
    if was_there:
        kept.parent.mkdir(parents=True)
        kept.touch()
    instead = {"name": "mine", "evaluator.name": "command", "evaluator.command": [str(program)]}
    planned = plan(*TOY, f"outputs={tmp_path / 'runs'}", instead=instead)
    with pytest.raises(InputError, match="cannot be started"):
        run(planned, Silent(), pytest.fail, lambda folder: folder.mkdir(exist_ok=True))
    assert kept.exists() == was_there == (tmp_path / "runs").exists()
    assert not list(tmp_path.rglob("run.json"))


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stopped_after(2, tmp_path_factory.mktemp("stopped"))


def _change(name: str, change: Callable[[str], str]) -> Callable[[Path], object]:
    return lambda run: (run / name).write_text(change((run / name).read_text()))


def _changed(**values: object) -> Callable[[Path], object]:
    return _change("run.json", lambda text: json.dumps(json.loads(text) | values))


HARM = {
    "other settings": (_changed(digest="0" * 16, settings={}), "was started with budget"),
    "other data": (_changed(sources={"oracle": "b"}), "was started with other data (oracle)"),
    "damaged record": (_change("run.json", lambda _: "{"), "run.json is damaged"),
    "lost record": (lambda run: (run / "run.json").unlink(), "has lost its run.json"),
    "damaged checkpoint": (_change(CHECKPOINT, lambda text: text.replace("best", "rest")), "damaged"),
    "a link": (lambda run: (run / "best" / "link").symlink_to("/"), "is a link"),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_dry_run_refuses_the_run_directories_that_the_run_refuses(stopped: Path, tmp_path: Path, harm: str) -> None:
    shutil.copytree(stopped, tmp_path, dirs_exist_ok=True)
    change, message = HARM[harm]
    change(tmp_path / RUN)
    before = sorted(tmp_path.rglob("*"))
    dry, real = refusals(tmp_path, {})
    assert dry == real
    assert message in dry
    assert sorted(tmp_path.rglob("*")) == before


def test_a_dry_run_refuses_a_run_that_another_process_makes(stopped: Path) -> None:
    with locked(stopped / RUN):
        dry, real = refusals(stopped, {})
    assert dry == real
    assert "is being written by process" in dry


def test_a_dry_run_with_overwrite_refuses_files_that_are_no_run(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    dry, real = refusals(tmp_path, {"overwrite": True, "name": "mine"})
    assert dry == real
    assert "holds other files and no run" in dry


def test_a_dry_run_says_that_a_run_is_complete(stopped: Path, tmp_path: Path) -> None:
    shutil.copytree(stopped, tmp_path, dirs_exist_ok=True)
    path, said = tmp_path / RUN, []
    _changed(status="complete", stopped_by="budget")(path)
    rehearse(plan(*TOY, f"outputs={tmp_path}"), said.append)
    assert said == [f"{path} is complete (stopped by budget); use overwrite=true to run it again"]


def test_a_dry_run_downloads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVODIVERSE_CACHE", str(tmp_path))
    monkeypatch.delenv("EVODIVERSE_OFFLINE", raising=False)
    said: list[str] = []
    rehearse(plan("task=jnk3", "outputs=runs"), said.append)
    assert said[0].startswith("would run in runs/jnk3")
    assert "not checked further, since" in said[0]
    assert "evodiverse-data fetch" in said[0]
    assert list(tmp_path.iterdir()) == []


def test_a_dry_sweep_lists_the_runs_that_would_be_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    register()
    words = ["-m", "task=bits", "task.spoiled=start,nothing", "dry_run=true", "--config-dir", str(TOY_CONF)]
    assert run_sweep(words, job) == 1
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("evodiverse: run 1 (task.spoiled=start) would fail: no initial candidate can enter a pool")
    assert last == "evodiverse: 1 of 2 runs would fail"
    assert not list(tmp_path.rglob("run.json"))
