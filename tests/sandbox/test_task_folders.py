"""Programs may read a folder of their task and import its modules. A sandbox that confines nothing only limits time."""

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.vocabulary import Execution, Job, Reason
from tests.sandbox.jobs import AMPLE, QUICK, body


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "task"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "numbers.txt").write_text("4 5")
    (folder / "helper.py").write_text("def double(x):\n    return 2 * x\n")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    return folder


def run(sandbox: ProcessSandbox, job: Job, folder: Path) -> Execution:
    (execution,) = sandbox.run([replace(job, folder=str(folder))])
    return execution


def test_a_program_reads_the_files_of_the_folder_and_imports_its_modules(sandbox: ProcessSandbox, folder: Path) -> None:
    code = (
        "import helper\nreturn [helper.double(int(x)) for x in open(argument_0 + '/data/numbers.txt').read().split()]"
    )
    execution = run(sandbox, body(code, str(folder)), folder)
    assert (execution.value, execution.failure) == ([8, 10], None)


@pytest.mark.parametrize(
    "code",
    [
        "open(argument_0 + '/../secret.txt').read()",
        "open(argument_0 + '/link.txt').read()",
        "import os\nos.listdir(argument_0 + '/..')",
        "open('/etc/passwd').read()",
        "open(argument_0 + '/helper.py', 'a')",
        "open(argument_0 + '/new', 'w')",
        "import os\nos.truncate(argument_0 + '/helper.py', 0)",
        "import os\nos.remove(argument_0 + '/helper.py')",
        "import os\nos.rename(argument_0 + '/helper.py', argument_0 + '/other.py')",
        "import os\nos.mkdir(argument_0 + '/data/new')",
        "import os\nos.symlink('/', argument_0 + '/data/root')",
        "import os\nos.chmod(argument_0 + '/helper.py', 0)",
    ],
)
def test_a_program_reads_nothing_beyond_the_folder_and_changes_nothing_in_it(
    sandbox: ProcessSandbox, folder: Path, code: str
) -> None:
    before = {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}
    failure = run(sandbox, body(code, str(folder)), folder).failure
    assert failure is not None
    assert failure.reason is Reason.CRASHED
    assert "PermissionError" in failure.detail
    assert {path: path.lstat().st_mtime_ns for path in folder.rglob("*")} == before


def test_the_next_program_without_a_folder_cannot_read_it(sandbox: ProcessSandbox, folder: Path) -> None:
    read = body("return open(argument_0 + '/helper.py').read()", str(folder))
    assert run(sandbox, read, folder).failure is None
    (execution,) = sandbox.run([read])
    assert "PermissionError" in str(execution.failure)


def test_a_driver_loads_a_program_without_an_entry_point_itself(sandbox: ProcessSandbox) -> None:
    driver = "def drive(source, more):\n    return source + more"
    (execution,) = sandbox.run([Job("1 /", None, ("!",), None, AMPLE, driver)])
    assert (execution.value, execution.failure) == ("1 /!", None)


@pytest.fixture
def unconfined() -> Iterator[ProcessSandbox]:
    sandbox = ProcessSandbox(confines=False)
    yield sandbox
    sandbox.close()


def test_a_program_that_is_not_confined_starts_processes_and_gets_the_environment_without_secrets(
    unconfined: ProcessSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("OPENAI_API_KEY", "MY_TOKEN", "Db_Password", "HARMLESS")
    for name in names:
        monkeypatch.setenv(name, "7")
    code = """
    import os, subprocess
    subprocess.run(["touch", argument_0 + "/made"], check=True)
    return [name for name in argument_1 if name in os.environ]
    """
    (execution,) = unconfined.run([body(code, str(tmp_path), names)])
    assert (execution.value, execution.failure) == (["HARMLESS"], None)
    assert (tmp_path / "made").exists()


def test_a_program_that_is_not_confined_is_stopped_in_time_with_all_its_processes(
    unconfined: ProcessSandbox, tmp_path: Path
) -> None:
    code = """
    import subprocess, time
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    open(argument_0, "w").write(str(child.pid))
    time.sleep(60)
    """
    (execution,) = unconfined.run([body(code, str(tmp_path / "pid"), limits=QUICK)])
    assert str(execution.failure) == "timed_out: it was still running after 1.2 s"
    assert not Path("/proc", (tmp_path / "pid").read_text()).exists()


def test_what_a_program_that_is_not_confined_writes_is_not_limited(unconfined: ProcessSandbox) -> None:
    code = "open('large', 'wb').write(bytes(70_000_000))\nfor k in range(1_001): open(str(k), 'w').close()\nreturn 1"
    executions = unconfined.run([body(code), body("import os\nreturn os.listdir()")])
    assert [execution.value for execution in executions] == [1, []]


def test_what_a_program_that_is_not_confined_starts_can_be_terminated(unconfined: ProcessSandbox) -> None:
    code = """
    import multiprocessing, time
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    process.start()
    process.terminate()
    process.join(5)
    return process.exitcode
    """
    (execution,) = pickle.loads(pickle.dumps(unconfined)).run([body(code)])
    assert (execution.value, execution.failure) == (-15, None)
