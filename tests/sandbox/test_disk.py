"""What a program may write: on its own disk, which the kernel limits, and in a folder whose size is measured."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.vocabulary import Execution, Job, Limits, Reason
from tests.sandbox.jobs import body, until

LIMITS = Limits(cpu_seconds=4.0, memory_mb=1_000)


@pytest.fixture(scope="module", params=[True, False], ids=["own disk", "counted"])
def disk(request: pytest.FixtureRequest) -> Iterator[ProcessSandbox]:
    sandbox = ProcessSandbox(mounts=request.param)
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="module")
def counted() -> Iterator[ProcessSandbox]:
    sandbox = ProcessSandbox(mounts=False)
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="module")
def own(sandbox: ProcessSandbox) -> ProcessSandbox:
    """A sandbox whose programs have their own disks, which the kernel of this machine must allow."""
    (execution,) = sandbox.run([body("import os\nreturn os.statvfs('.').f_blocks * os.statvfs('.').f_frsize")])
    assert execution.value == 64_000_000
    return sandbox


def run(sandbox: ProcessSandbox, job: Job) -> Execution:
    (execution,) = sandbox.run([job])
    return execution


def folder_of(sandbox: ProcessSandbox) -> Path:
    return Path(run(sandbox, body("import os\nreturn os.getcwd()")).value)


@pytest.mark.parametrize(
    "code",
    [
        "for k in range(5000): open(f'f{k}', 'w').close()\nimport time\ntime.sleep(99)",
        "while True:\n  with open('big', 'ab') as file: file.write(b'x' * 10**7)",
        "import time\nfor k in range(20):\n  with open(str(k), 'wb') as f: f.write(b'x' * 10**7)\ntime.sleep(99)",
    ],
)
def test_a_program_that_fills_the_disk_fails(disk: ProcessSandbox, code: str) -> None:
    failure = run(disk, body(code, limits=LIMITS)).failure
    assert failure is not None
    assert failure.reason is Reason.CRASHED


# Each writes at least 5 files of 15.9 MB, of which at most 4 are allowed.
DELETED_AND_MAPPED = """
import mmap, os, time
held = []
def hold(name):
    with open(name, "w+b") as file:
        file.write(b"x" * 15_900_000)
        file.flush()
        held.append(mmap.mmap(file.fileno(), 4096))
    os.closerange(4, 60)  # closes the descriptor of the mapping too
    os.unlink(name)
"""
TRICKS = {
    "deleted and mapped": DELETED_AND_MAPPED + "for k in range(10): hold('f')\ntime.sleep(30)",
    "with a carriage return in the name": DELETED_AND_MAPPED + "for k in range(10): hold('\\rf')\ntime.sleep(30)",
    "with a name that no encoding knows": DELETED_AND_MAPPED + "for k in range(10): hold(b'\\xff\\n')\ntime.sleep(30)",
    "deleted and open, one at the end of a long path": """
import os, time
held = []
def hold():
    held.append(open("f", "wb"))
    held[-1].write(b"x" * 15_900_000)
    held[-1].flush()
    os.unlink("f")
for k in range(20):
    os.mkdir("a" * 250)
    os.chdir("a" * 250)
hold()
for k in range(20):
    os.chdir("..")
    os.rmdir("a" * 250)
for k in range(9): hold()
time.sleep(30)
""",
    "moved about": """
import os, threading
os.mkdir("a"), os.mkdir("z")
def move():
    while True:
        for one, other in ("az", "za"):
            for name in os.listdir(one): os.rename(f"{one}/{name}", f"{other}/{name}")
threading.Thread(target=move).start()
for k in range(5):
    with open(f"a/{k}", "wb") as file: file.write(b"x" * 15_900_000)
while True: pass
""",
}


@pytest.mark.parametrize("code", TRICKS.values(), ids=TRICKS)
def test_hidden_files_are_counted(counted: ProcessSandbox, code: str) -> None:
    failure = run(counted, body(code, limits=LIMITS)).failure
    assert str(failure) == "crashed: it wrote more files or bytes than it may"


@pytest.mark.parametrize("code", TRICKS.values(), ids=TRICKS)
def test_hidden_files_get_no_more_space_from_the_kernel(own: ProcessSandbox, code: str) -> None:
    failure = run(own, body(code, limits=LIMITS)).failure
    assert "No space left on device" in str(failure)


def test_writing_through_a_mapping_is_limited_by_the_kernel(own: ProcessSandbox) -> None:
    code = """
    import mmap
    held = []
    for k in range(10):
        with open(str(k), "w+b") as file:
            file.truncate(15_900_000)
            held.append(mmap.mmap(file.fileno(), 15_900_000))
            held[-1].write(b"x" * 15_900_000)
    return "done"
    """
    assert "SIGBUS" in str(run(own, body(code)).failure)


def test_a_disk_does_not_outlive_its_program(own: ProcessSandbox) -> None:
    code = "import os\nopen('f', 'wb').write(b'x' * 15_000_000)\nreturn [os.stat('f').st_ino, os.listdir()]"
    assert [run(own, body(code)).value for _ in range(6)] == [[2, ["f"]]] * 6


def test_shared_memory_of_a_program_does_not_count_as_a_file(disk: ProcessSandbox) -> None:
    code = """
    import mmap, time
    held = [mmap.mmap(-1, 4096) for _ in range(8)]
    end = time.monotonic() + 0.3
    while time.monotonic() < end: pass
    return 1
    """
    assert run(disk, body(code)).value == 1


def test_a_program_continues_after_its_files_are_counted(counted: ProcessSandbox) -> None:
    code = """
    import threading, time
    ticks = []
    def tick():
        while len(ticks) < 40:
            ticks.append(time.sleep(0.01))
    threads = [threading.Thread(target=tick) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return len(ticks) >= 40
    """
    assert run(counted, body(code)).value is True


def test_the_files_of_a_program_are_deleted(disk: ProcessSandbox) -> None:
    code = """
    import os
    os.makedirs("a/" * 200)
    open("a/file", "w").close()
    """
    run(disk, body(code))
    folder = folder_of(disk)
    assert folder.parent.parent == Path(tempfile.gettempdir())
    assert list(folder.parent.iterdir()) == [folder]
    assert list(folder.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "import os\nfor k in range(990): os.mkdir('a'); os.chdir('a')\nreturn 1",
        "import os\nfor k in range(40): os.mkdir('a' * 250); os.chdir('a' * 250)\nreturn 1",
        "import os\nos.umask(0o777)\nos.makedirs('a/b')\nreturn 1",
        "import os\nos.mkdir(b'\\xff\\n')\nopen(b'\\xff\\n/\\xfe', 'w').close()\nreturn 1",
    ],
)
def test_deep_or_odd_folders_are_deleted(disk: ProcessSandbox, code: str) -> None:
    folder = folder_of(disk)
    run(disk, body(code))
    assert run(disk, body("import os\nreturn os.listdir()")).value == []
    assert list(folder.iterdir()) == []


def test_the_files_on_a_programs_disk_exist_only_there(own: ProcessSandbox) -> None:
    code = "import time\nopen('f', 'w').write('x')\ntime.sleep(0.2)\nreturn __import__('os').getcwd()"
    folder = Path(run(own, body(code)).value)
    assert list(folder.iterdir()) == []
    assert "evodiverse-sandbox-" not in Path("/proc/self/mounts").read_text()


HOLDER = """
from evodiverse.sandbox.processes import ProcessSandbox
from tests.sandbox.jobs import body, until
sandbox = ProcessSandbox()
(execution,) = sandbox.run([body("import os\\nreturn os.getcwd()")])
print(sandbox._parent().pid, execution.value, flush=True)
sandbox.run([body("import time\\nopen('f', 'w').write('x')\\nprint('there')\\nwhile True: time.sleep(1)")])
"""


def test_no_file_is_left_when_both_processes_are_killed_at_once() -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True, cwd=root) as holder:
        warm, folder = holder.stdout.readline().split()
        assert until(lambda: Path(f"/proc/{warm}/task/{warm}/children").read_text() != "")
        os.kill(int(warm), signal.SIGSTOP)  # so that it cannot clean up when the other one is gone
        holder.kill()
        holder.wait()
        os.kill(int(warm), signal.SIGKILL)
    assert list(Path(folder).parent.rglob("*")) == [Path(folder)]
    Path(folder).rmdir()
    Path(folder).parent.rmdir()
