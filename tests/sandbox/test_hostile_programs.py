"""Malicious programs: each ends with a clear outcome, and neither the runner nor the machine is affected."""

import os
import re
from pathlib import Path

import pytest

from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.vocabulary import Array, Execution, Job, Limits, Reason
from tests.sandbox.jobs import AMPLE, QUICK, body, module

PAIR = (Array((2,)), Array(()))
# On a machine that is busy with other tests, a program may not get its CPU time within the wall time.
SPINNING = r"^it used more than 0\.4 s of CPU$|^it was still running after 1\.2 s$"


@pytest.fixture(autouse=True)
def _unharmed(sandbox: ProcessSandbox) -> None:
    """Check after each test that the sandbox still works, in the same process, without leftovers of the program."""
    pid = sandbox._parent().pid
    yield
    (after,) = sandbox.run([body("return 6 * 7")])
    assert (after.value, after.failure) == (42, None)
    assert sandbox._parent().pid == pid
    assert Path(f"/proc/{pid}/task/{pid}/children").read_text() == ""


def run(sandbox: ProcessSandbox, job: Job) -> Execution:
    (execution,) = sandbox.run([job])
    return execution


def refuse(sandbox: ProcessSandbox, code: str, *arguments: object) -> str:
    """Return the error with which a program crashes."""
    execution = run(sandbox, body(code, *arguments))
    assert execution.value is None
    assert execution.failure is not None
    assert execution.failure.reason is Reason.CRASHED
    return execution.failure.detail


@pytest.mark.parametrize(
    ("code", "reason", "detail"),
    [
        ("while True: pass", Reason.TIMED_OUT, SPINNING),
        ("import time\ntime.sleep(1000)", Reason.TIMED_OUT, r"^it was still running after 1\.2 s$"),
        ("import signal\nsignal.pause()", Reason.TIMED_OUT, r"^it was still running after 1\.2 s$"),
        ("try:\n    while True: pass\nexcept BaseException: pass\nreturn 1", Reason.TIMED_OUT, SPINNING),
        ("import sys\nsys.setrecursionlimit(1000)\ndef f(): return f()\nreturn f()", Reason.CRASHED, "RecursionError"),
        ("import os\nos._exit(3)", Reason.CRASHED, "it exited with status 3"),
        ("import os\nos._exit(0)", Reason.CRASHED, "it ended without a result"),
        ("raise SystemExit(0)", Reason.CRASHED, "SystemExit: 0"),
        ("raise KeyboardInterrupt", Reason.CRASHED, "KeyboardInterrupt"),
        ("import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\nwhile True: pass", Reason.CRASHED, "SIGALRM"),
        ("import ctypes\nctypes.string_at(0)", Reason.CRASHED, "SIGSEGV"),
        ("return input()", Reason.CRASHED, "EOFError"),
        ("import sys\nreturn len(sys.stdin.read()) / 0", Reason.CRASHED, "ZeroDivisionError"),
        ("breakpoint()\nreturn 1", Reason.CRASHED, "BdbQuit"),
        ("class E(Exception):\n    def __str__(self): raise self\nraise E", Reason.CRASHED, "E"),
        ("raise ValueError('x' * 10**6)", Reason.CRASHED, "ValueError: xxx"),
        ("raise ValueError(chr(0xD800) + chr(27) + '[2J')", Reason.CRASHED, "ValueError"),
    ],
)
def test_a_program_that_does_not_return_fails_with_a_reason(
    sandbox: ProcessSandbox, code: str, reason: Reason, detail: str
) -> None:
    execution = run(sandbox, body(code, limits=QUICK))
    assert execution.value is None
    assert execution.failure is not None
    assert execution.failure.reason is reason
    assert re.search(detail, execution.failure.detail)
    assert execution.failure.detail.isprintable()
    assert len(execution.failure.detail) < 600
    assert execution.cpu_seconds < 2 * QUICK.cpu_seconds


@pytest.mark.parametrize(
    "code",
    [
        "return len(bytearray(10**11))",
        "import numpy\nreturn float(numpy.ones(10**10).sum())",
        "hoard = []\nwhile True: hoard.append(bytearray(10**7))",
        "return len('x' * 10**11)",
    ],
)
def test_a_program_that_requests_too_much_memory_fails(sandbox: ProcessSandbox, code: str) -> None:
    failure = run(sandbox, body(code)).failure
    assert failure is not None
    assert failure.reason is Reason.OUT_OF_MEMORY


@pytest.mark.parametrize(
    "code",
    [
        "import os\nwhile True: os.fork()",
        "import os\nreturn os.forkpty()",
        "import os\nif os.fork() == 0:\n    os.setsid()\n    while True: pass\nreturn 1",
        "import subprocess\nreturn subprocess.run(['true']).returncode",
        "import os\nos.execv('/bin/true', ['true'])",
        "import os\nreturn os.posix_spawn('/bin/true', ['true'], {})",
        "import ctypes, os\nif ctypes.CDLL(None).fork() < 0: raise PermissionError(1, 'fork')",
        "import ctypes, os\nif ctypes.CDLL(None).syscall(57) < 0: raise PermissionError(1, 'fork by its number')",
    ],
)
def test_a_program_cannot_start_a_process(sandbox: ProcessSandbox, code: str) -> None:
    assert "PermissionError" in refuse(sandbox, code)


def test_a_program_holds_at_most_64_files_open(sandbox: ProcessSandbox) -> None:
    opened = "held = []\ntry:\n    while True: held.append(open('/dev/null'))\nexcept OSError: return held[-1].fileno()"
    assert run(sandbox, body(opened)).value == 63


def test_a_shell_command_does_not_run(sandbox: ProcessSandbox) -> None:
    assert run(sandbox, body("import os\nreturn os.system('true')")).value != 0


@pytest.mark.parametrize(
    "code",
    [
        "import socket\nreturn socket.create_connection(('127.0.0.1', 80))",
        "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_STREAM)",
        "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
        "import socket\nsocket.socket(socket.AF_INET6)",
        "import socket\nsocket.socket(socket.AF_UNIX)",
        "import socket\nsocket.socketpair()",
        "import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
        "import urllib.request\nurllib.request.urlopen('http://127.0.0.1/').read()",
    ],
)
def test_a_program_cannot_open_a_socket(sandbox: ProcessSandbox, code: str) -> None:
    assert re.search("PermissionError|Operation not permitted", refuse(sandbox, code))


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.kill(os.getppid(), 9)",
        "import os\nos.kill(os.getppid(), 0)",
        "import os\nos.killpg(0, 9)",
        "import os\nos.kill(-1, 9)",
        "import os, signal\nsignal.pidfd_send_signal(os.pidfd_open(os.getppid()), 9)",
        "import os, resource\nresource.prlimit(os.getppid(), resource.RLIMIT_CPU, (0, 0))",
        "import os\nos.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
        "import os\nos.sched_setaffinity(os.getppid(), [0])",
        "import os\nos.setpgid(0, os.getpgid(os.getppid()))",
        "import fcntl, os\nfcntl.fcntl(1, fcntl.F_SETOWN, os.getppid())",
        "import fcntl, os\nfcntl.flock(os.open(os.__file__, os.O_RDONLY), fcntl.LOCK_SH)",
        "import fcntl, os\nfcntl.lockf(os.open(os.__file__, os.O_RDONLY), fcntl.LOCK_SH)",
        "import fcntl, os\nfcntl.fcntl(os.open(os.__file__, os.O_RDONLY), fcntl.F_GETLK, bytes(32))",
        "import os\nos.setuid(65534)",
        "import os\nos.unshare(os.CLONE_NEWUSER)" if hasattr(os, "unshare") else "raise PermissionError",
        "import os\nos.chroot('.')",
        "import os\nos.memfd_create('x')",
    ],
)
def test_a_program_cannot_reach_other_processes_or_gain_privileges(sandbox: ProcessSandbox, code: str) -> None:
    assert "PermissionError" in refuse(sandbox, code)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("ptrace", 101),
        ("mount", 165),
        ("unshare", 272),
        ("process_vm_readv", 310),
        ("bpf", 321),
        ("userfaultfd", 323),
        ("io_uring_setup", 425),
        ("perf_event_open", 298),
        ("keyctl", 250),
        ("shmget", 29),
        ("reboot", 169),
    ],
)
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86_64")
def test_a_system_call_by_its_number_is_refused(sandbox: ProcessSandbox, name: str, number: int) -> None:
    code = f"""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    return [libc.syscall({number}, 0, 0, 0, 0, 0), ctypes.get_errno()]
    """
    assert run(sandbox, body(code)).value == [-1, 1]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="only x86_64 has such calls")
def test_an_x32_system_call_kills_the_program(sandbox: ProcessSandbox) -> None:
    assert "SIGSYS" in refuse(sandbox, "import ctypes\nctypes.CDLL(None).syscall(0x40000000 + 39)")


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/shadow').read()",
        "open('/etc/passwd').read()",
        "open(argument_0 + '/.env').read()",
        "open(argument_0 + '/replies.sqlite', 'rb').read()",
        "import os\nos.listdir(argument_0)",
        "import os\nos.listdir('/')",
        "import os\nopen(f'/proc/{os.getppid()}/environ').read()",
        "open('/proc/self/environ').read()",
        "open('/proc/self/mem', 'r+b')",
        "open(argument_0 + '/new', 'w')",
        "open('../escaped', 'w')",
        "open('/tmp/evodiverse-escaped', 'w')",
        "open('/dev/shm/evodiverse-escaped', 'w')",
        "import os\nos.remove(argument_0 + '/.env')",
        "import shutil\nshutil.rmtree(argument_0)",
        "import os\nos.rename(argument_0 + '/.env', 'mine')",
        "import os\nos.link(argument_0 + '/.env', 'mine')",
        "import os\nos.truncate(argument_0 + '/.env', 0)",
        "import os\nos.chmod(argument_0 + '/.env', 0)",
        "import os\nos.utime(argument_0 + '/.env')",
        "import os\nos.mkdir(argument_0 + '/new')",
        "import os\nos.mkfifo('pipe')",
        "import os\nos.symlink(argument_0 + '/.env', 'mine')\nopen('mine').read()",
    ],
)
def test_a_program_cannot_read_or_change_files_of_others(sandbox: ProcessSandbox, tmp_path: Path, code: str) -> None:
    for name in (".env", "replies.sqlite"):
        (tmp_path / name).write_text("secret")
    assert re.search("PermissionError|Invalid cross-device link", refuse(sandbox, code, str(tmp_path)))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        ".env": "secret",
        "replies.sqlite": "secret",
    }


@pytest.mark.parametrize(
    "code",
    [
        "import os\nreturn dict(os.environ)",
        """
        import ctypes
        get = ctypes.CDLL(None).getenv
        get.restype = ctypes.c_char_p
        return {name: 1 for name in ("PATH", "HOME", "PYTHONHASHSEED") if get(name.encode())}
        """,
    ],
)
def test_the_environment_is_empty(sandbox: ProcessSandbox, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert run(sandbox, body(code)).value == {}


def test_a_program_inherits_no_open_file(sandbox: ProcessSandbox) -> None:
    code = """
    import os
    def is_open(fd):
        try:
            os.fstat(fd)
        except OSError:
            return False
        return True
    return [fd for fd in range(60) if is_open(fd)]
    """
    assert run(sandbox, body(code)).value == [0, 1, 2, 3]


def test_only_the_end_of_a_huge_output_is_kept(sandbox: ProcessSandbox) -> None:
    execution = run(sandbox, body("for _ in range(300): print('x' * 10**5)\nprint('end')\nreturn 1"))
    assert execution.value == 1
    assert execution.stdout.endswith("x\nend\n")
    assert len(execution.stdout) == AMPLE.output_bytes


@pytest.mark.parametrize(
    ("code", "returns"),
    [
        ("return 'x' * 10**7", None),
        ("return [0] * 10**7", None),
        ("import os\nwhile True: os.write(3, b'x' * 10**6)", None),
        ("import numpy\nreturn numpy.zeros(10**7), 1.0", (Array((10**7,)), Array(()))),
    ],
)
def test_a_huge_result_is_a_failure(sandbox: ProcessSandbox, code: str, returns: tuple[Array, ...] | None) -> None:
    failure = run(sandbox, body(code, returns=returns)).failure
    assert failure is not None
    assert failure.reason is Reason.WRONG_RESULT


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\n",
        b"{}",
        b"null\n",
        b"{\n",
        b'{"failure": ["evaluated", ""]}\n',
        b'{"failure": 7}\n',
        b'{"failure": ["crashed", "' + b"x" * 5000 + b'"]}\n',
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        b"1" * 5_000 + b"\n",
        b"{}\n" + b"\0" * 23,
        b"{}\n" + b"\0" * 25,
        b"{}\n" + b"\xff" * 24,
    ],
)
def test_a_forged_result_is_a_failure(sandbox: ProcessSandbox, sent: bytes) -> None:
    code = f"import os\nsent = {sent!r}\nwhile sent: sent = sent[os.write(3, sent):]\nos._exit(0)"
    execution = run(sandbox, body(code, returns=PAIR))
    assert execution.value is None
    assert execution.failure is not None
    assert execution.failure.reason in {Reason.CRASHED, Reason.WRONG_RESULT, Reason.NON_FINITE}
    assert len(execution.failure.detail) <= 400


def test_closing_every_file_is_a_failure(sandbox: ProcessSandbox) -> None:
    assert run(sandbox, body("import os, time\nos.closerange(0, 99)\ntime.sleep(99)")).failure is not None


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("return [1.0, float('nan')], 1.0", Reason.NON_FINITE),
        ("return [1.0, float('inf')], 1.0", Reason.NON_FINITE),
        ("return [1.0, 2.0], -float('inf')", Reason.NON_FINITE),
        ("return [1.0, 2.0, 3.0], 1.0", Reason.WRONG_RESULT),
        ("return [[1.0], [2.0]], 1.0", Reason.WRONG_RESULT),
        ("return [1.0, 2.0]", Reason.WRONG_RESULT),
        ("return [1.0, 2.0], 1.0, 1.0", Reason.WRONG_RESULT),
        ("return None", Reason.WRONG_RESULT),
        ("return ['1.0', '2.0'], 1.0", Reason.WRONG_RESULT),
        ("return [1j, 2.0], 1.0", Reason.WRONG_RESULT),
        ("return [True, False], 1.0", Reason.WRONG_RESULT),
        ("return [object(), 1.0], 1.0", Reason.WRONG_RESULT),
        ("return [[1.0], [1.0, 2.0]], 1.0", Reason.CRASHED),
        ("class Liar(list):\n  def __len__(self): return 2\nreturn Liar([[1.0, 2.0], 1.0, 1.0])", Reason.WRONG_RESULT),
        ("class Liar:\n  def __float__(self): return 1e9\n  __len__ = int\nreturn Liar(), Liar()", Reason.WRONG_RESULT),
        ("class Liar:\n    def __array__(self, *a, **k): return 'no array'\nreturn Liar(), 1.0", Reason.CRASHED),
        ("class Liar:\n    @property\n    def __class__(self): return tuple\nreturn Liar()", Reason.CRASHED),
    ],
)
def test_a_result_of_the_wrong_form_is_a_failure(sandbox: ProcessSandbox, code: str, reason: Reason) -> None:
    failure = run(sandbox, body(code, returns=PAIR)).failure
    assert failure is not None
    assert failure.reason is reason


@pytest.mark.parametrize("value", ["float('nan')", "[1, float('inf')]", "{'a': -float('inf')}", "object()", "{1, 2}"])
def test_a_json_result_must_hold_finite_plain_values(sandbox: ProcessSandbox, value: str) -> None:
    failure = run(sandbox, body(f"return {value}")).failure
    assert failure is not None
    assert failure.reason in {Reason.NON_FINITE, Reason.WRONG_RESULT}


def test_numbers_are_checked_outside_of_the_reach_of_a_program(sandbox: ProcessSandbox) -> None:
    code = """
    import json, math
    import numpy as np
    np.isfinite = lambda value: np.bool_(True)
    math.isfinite = lambda value: True
    json.loads = json.dumps = lambda *args, **kwargs: "{}"
    return [float("nan"), 1.0], 1.0
    """
    failure = run(sandbox, body(code, returns=PAIR)).failure
    assert failure is not None
    assert failure.reason is Reason.NON_FINITE


def test_a_patched_module_does_not_affect_the_next_program(sandbox: ProcessSandbox) -> None:
    run(sandbox, body("import numpy, builtins\nnumpy.pi = 3\nbuiltins.abs = None\nreturn 1"))
    assert run(sandbox, body("import numpy\nreturn [numpy.pi > 3, abs(-1)]")).value == [True, 1]


def test_threads_left_running_end_with_the_program(sandbox: ProcessSandbox) -> None:
    code = """
    import threading
    def work():
        while True: pass
    for _ in range(8): threading.Thread(target=work).start()
    return 1
    """
    assert run(sandbox, body(code)).value == 1


def test_the_cpu_time_of_all_threads_counts(sandbox: ProcessSandbox) -> None:
    code = """
    import hashlib, threading
    def work():
        while True: hashlib.sha256(b"x" * 10**6)
    for _ in range(3): threading.Thread(target=work).start()
    while True: pass
    """
    failure = run(sandbox, body(code, limits=QUICK)).failure
    assert failure is not None
    assert failure.reason is Reason.TIMED_OUT


def test_the_number_of_threads_is_limited(sandbox: ProcessSandbox) -> None:
    code = """
    import threading, time
    threading.stack_size(32768)
    for _ in range(400): threading.Thread(target=time.sleep, args=(60,)).start()
    time.sleep(60)
    """
    failure = run(sandbox, body(code, limits=Limits(cpu_seconds=20.0, memory_mb=200_000))).failure
    assert "more than 256 threads" in str(failure)


@pytest.mark.parametrize("code", ["sys.stdout.close()", "sys.stdout = None", "sys.stdout = 3", "del sys.stdout"])
def test_a_program_without_standard_output_still_returns(sandbox: ProcessSandbox, code: str) -> None:
    assert run(sandbox, body(f"import sys\n{code}\nreturn 1")).value == 1


@pytest.mark.parametrize("name", ["builtins.open", "io.open", "os.fdopen", "os.write", "builtins.__import__"])
def test_a_program_that_replaces_functions_still_returns(sandbox: ProcessSandbox, name: str) -> None:
    assert run(sandbox, body(f"import builtins, io, os\n{name} = None\nreturn 1")).value == 1


def test_an_exit_while_an_error_is_formatted_is_a_failure(sandbox: ProcessSandbox) -> None:
    code = "class E(Exception):\n    def __str__(self): raise SystemExit(0)\nraise E"
    execution = run(sandbox, body(code))
    assert str(execution.failure) == "crashed: E (line 4)"
    assert execution.stderr == ""


def test_earlier_programs_leave_nothing_in_the_frames(sandbox: ProcessSandbox) -> None:
    run(sandbox, body("print('a secret')\nreturn 'a secret'"))
    code = """
    import sys
    frame, seen = sys._getframe(), []
    while frame is not None:
        seen.append(repr(frame.f_locals))
        frame = frame.f_back
    return "a sec" + "ret" in " ".join(seen[1:])
    """
    assert run(sandbox, body(code)).value is False


def test_programs_do_not_share_open_files(sandbox: ProcessSandbox) -> None:
    code = "import fcntl\nfcntl.fcntl(0, fcntl.F_SETFL, 0o6000)\nreturn 1"
    run(sandbox, body(code))
    assert run(sandbox, body("import fcntl\nreturn fcntl.fcntl(0, fcntl.F_GETFL) & 0o6000")).value == 0


@pytest.mark.parametrize(
    "code",
    [
        "return 10**400",
        "return [10**4000]",
        "return '\\ud800'",
        "return {'a': ['\\udfff']}",
        "value = []\nfor _ in range(90): value = [value]\nreturn value",
    ],
)
def test_json_that_cannot_be_processed_further_is_a_failure(sandbox: ProcessSandbox, code: str) -> None:
    failure = run(sandbox, body(code)).failure
    assert failure is not None
    assert failure.reason is Reason.WRONG_RESULT


def test_a_program_cannot_claim_a_reason_that_only_others_can_know(sandbox: ProcessSandbox) -> None:
    for reason in ("timed_out", "model_error", "invalid"):
        code = f'import os\nos.write(3, b\'{{"failure": ["{reason}", "x"]}}\\n\')\nos._exit(0)'
        assert run(sandbox, body(code)).failure.reason is Reason.CRASHED


def test_a_source_that_breaks_the_compiler_is_a_failure(sandbox: ProcessSandbox) -> None:
    for source in ("(" * 100_000, "-" * 200_000 + "1", "def main(): return " + "[" * 5_000 + "]" * 5_000, "\0"):
        failure = run(sandbox, module(source)).failure
        assert failure is not None
        assert failure.reason in {Reason.CRASHED, Reason.OUT_OF_MEMORY}


def test_the_limits_hold_before_the_function_is_called(sandbox: ProcessSandbox) -> None:
    failure = run(sandbox, module("while True: pass\ndef main(): return 1", limits=QUICK)).failure
    assert failure is not None
    assert failure.reason is Reason.TIMED_OUT


def test_a_program_within_wall_time_but_beyond_cpu_time_has_timed_out(sandbox: ProcessSandbox) -> None:
    code = "import time\nend = time.process_time() + 0.08\nwhile time.process_time() < end: pass\nreturn 1"
    failure = run(sandbox, body(code, limits=Limits(cpu_seconds=0.05))).failure
    assert failure is not None
    assert failure.reason is Reason.TIMED_OUT
