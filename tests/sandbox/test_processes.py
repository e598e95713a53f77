"""Harmless programs, and the loss of the sandbox's own process."""

import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from evodiverse.errors import ServiceError
from evodiverse.sandbox.confinement import find_gaps
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.vocabulary import Array, Execution, Job, Limits, Reason
from tests.sandbox.jobs import AMPLE, body, module, until


def run(sandbox: ProcessSandbox, job: Job) -> Execution:
    (execution,) = sandbox.run([job])
    return execution


def test_jobs_are_answered_in_order(sandbox: ProcessSandbox) -> None:
    assert [ended.value for ended in sandbox.run([body("return argument_0", k) for k in (3, 1, 2)])] == [3, 1, 2]


def test_no_jobs_give_no_answers(sandbox: ProcessSandbox) -> None:
    assert sandbox.run([]) == []


def test_arrays_are_passed_in_both_directions(sandbox: ProcessSandbox) -> None:
    there = np.arange(6.0).reshape(2, 3)
    job = body("argument_0[0, 0] = 9\nreturn argument_0.T, argument_0.sum()", there, returns=(Array((3, 2)), Array(())))
    array, number = run(sandbox, job).value
    assert array.tolist() == [[9, 3], [1, 4], [2, 5]]
    assert float(number) == 24
    assert there[0, 0] == 0


def test_json_is_passed_in_both_directions(sandbox: ProcessSandbox) -> None:
    value = {"a": [1, 2.5, None, True, "ä\n\0"], "b": {}}
    assert run(sandbox, body("return argument_0", value)).value == value


def test_numpy_numbers_are_returned_as_json(sandbox: ProcessSandbox) -> None:
    code = "import numpy as np\nreturn [np.float64(0.5), np.int64(3), np.arange(2), np.bool_(True)]"
    assert run(sandbox, body(code)).value == [0.5, 3, [0, 1], True]


def test_integers_and_lists_are_returned_as_arrays(sandbox: ProcessSandbox) -> None:
    array, number = run(sandbox, body("return [[1, 2]], 3", returns=(Array((1, 2)), Array(())))).value
    assert (array.tolist(), float(number)) == ([[1.0, 2.0]], 3.0)


def test_a_driver_calls_the_programs_function(sandbox: ProcessSandbox) -> None:
    driver = "def drive(function, numbers):\n    return [function(number) for number in numbers]\n"
    job = Job("def main(x): return x * x", "main", ([1, 2, 3],), None, AMPLE, driver)
    assert run(sandbox, job).value == [1, 4, 9]


def test_a_program_does_not_see_the_drivers_names(sandbox: ProcessSandbox) -> None:
    job = Job("def main(): return secret", "main", (), None, AMPLE, "secret = 1\ndef drive(f): return f()\n")
    assert "NameError" in str(run(sandbox, job).failure)


def test_printed_output_is_kept(sandbox: ProcessSandbox) -> None:
    ended = run(sandbox, body("import sys\nprint('one')\nprint('two', file=sys.stderr)\nreturn 1"))
    assert (ended.stdout, ended.stderr) == ("one\n", "two\n")


def test_output_before_a_failure_is_kept(sandbox: ProcessSandbox) -> None:
    assert run(sandbox, body("print('one')\nraise ValueError")).stdout == "one\n"


def test_cpu_time_and_wall_time_are_measured(sandbox: ProcessSandbox) -> None:
    code = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass\nreturn 1"
    ended = run(sandbox, body(code))
    assert 0.19 < ended.cpu_seconds < ended.wall_seconds + 0.05


def test_an_error_names_the_programs_line(sandbox: ProcessSandbox) -> None:
    source = "import json\n\n\ndef main():\n    x = 1\n    return json.loads('{')\n"
    failure = run(sandbox, module(source)).failure
    assert failure is not None
    assert failure.detail.startswith("JSONDecodeError: ")
    assert failure.detail.endswith("(line 6)")


def test_an_error_contains_no_address_or_folder_so_that_it_is_reproducible(sandbox: ProcessSandbox) -> None:
    code = "import os, threading\nraise ValueError(f'{object()} {os.getcwd()} {threading.get_ident()} {1 / 7}')"
    told = "crashed: ValueError: <object object at …> . … 0.14285714285714285 (line 3)"
    assert str(run(sandbox, body(code)).failure) == told
    elsewhere = ProcessSandbox()
    long = body("import os\nraise ValueError('y' * 26 + os.getcwd() * 40)")
    assert run(sandbox, long).failure == run(elsewhere, long).failure
    elsewhere.close()


def test_an_interrupted_job_leaves_no_answer_for_the_next_job(sandbox: ProcessSandbox) -> None:
    class Stop(BaseException):
        pass

    def stop(signum: int, frame: object) -> None:
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    run(sandbox, body("return 'there'"))
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(Stop):
            run(sandbox, body("import time\ntime.sleep(0.5)\nreturn 'late'"))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert run(sandbox, body("return 'next'")).value == "next"


def test_a_job_may_keep_no_output_and_return_no_values(sandbox: ProcessSandbox) -> None:
    silent = Limits(cpu_seconds=5.0, output_bytes=0)
    ended = run(sandbox, body("print('x' * 10**6)\nreturn ()", returns=(), limits=silent))
    assert (ended.value, ended.stdout) == ((), "")


CHANCE = [
    "uuid.uuid4().hex",
    "secrets.token_hex()",
    "random.SystemRandom().random()",
    "os.urandom(4).hex()",
    "(random.seed(), random.random())[1]",
    "(np.random.seed(), np.random.rand())[1]",
    "random.random()",
    "random.Random().random()",
    "np.random.rand()",
    "np.random.RandomState().rand()",
    "np.random.default_rng().random()",
    "float(np.random.Generator(np.random.PCG64()).random())",
]


def test_random_numbers_are_the_same_every_time_in_every_process(sandbox: ProcessSandbox) -> None:
    draws = ", ".join(CHANCE)
    job = body(f"import os, random, secrets, uuid\nimport numpy as np\nreturn [{draws}, {draws}], str(set('abcdef'))")
    other = ProcessSandbox()
    first, again, elsewhere = (run(asked, job).value for asked in (sandbox, sandbox, other))
    other.close()
    assert first == again == elsewhere
    assert len(set(first[0])) == 2 * len(CHANCE)


def test_a_program_may_choose_its_own_seed(sandbox: ProcessSandbox) -> None:
    code = "import numpy as np\nreturn np.random.default_rng(5).random()"
    assert run(sandbox, body(code)).value == np.random.default_rng(5).random()


@pytest.mark.parametrize(
    "code",
    [
        "import scipy.optimize as o\nreturn float(o.minimize(lambda x: (x[0] - 2) ** 2, [0.0]).x[0].round(3))",
        "import numpy as np\nreturn float(np.linalg.solve(2 * np.eye(300), np.full(300, 4.0))[0])",
        "from scipy.spatial import Delaunay\nimport numpy as np\nreturn Delaunay(np.random.rand(9, 2)).ndim",
        "from scipy import stats\nreturn int(stats.norm.ppf(0.5)) + 2",
        "from concurrent.futures import ThreadPoolExecutor\nreturn list(ThreadPoolExecutor(4).map(abs, [-2]))[0]",
        "import tempfile\nwith tempfile.TemporaryFile() as f: return f.write(b'ab')",
        "open('a.txt', 'w').write('ab')\nreturn len(open('a.txt').read())",
        "import time, math, itertools, functools, dataclasses, decimal, fractions, heapq, bisect, statistics\nreturn 2",
        "import warnings\nwarnings.warn('beware')\nreturn 2",
        "import os, shutil\nos.makedirs('a/b')\nopen('a/b/c', 'w').close()\nshutil.rmtree('a')\nreturn 2",
        "import time\ntime.sleep(0.01)\nreturn 2",
        "import subprocess, socket, multiprocessing, asyncio\nreturn 2",
    ],
)
def test_features_that_programs_commonly_use_work(sandbox: ProcessSandbox, code: str) -> None:
    assert run(sandbox, body(code)).value == 2


def test_what_is_loaded_before_a_program_depends_on_its_own_imports_alone(sandbox: ProcessSandbox) -> None:
    code = "import sys\nreturn 'sci' 'py.optimize' in sys.modules"
    other = "if False:\n    import a_library_that_needs_it"
    jobs = [body(code), body(f"import scipy\n{code}"), body(f"{other}\n{code}"), body(code)]
    assert [ended.value for ended in sandbox.run(jobs)] == [False, True, True, False]


def test_a_program_may_import_by_a_name_that_it_computes(sandbox: ProcessSandbox) -> None:
    code = "from importlib import import_module\nreturn import_module('sci' 'py.optimize').__name__"
    assert run(sandbox, body(code)).value == "scipy.optimize"


def test_numerical_libraries_use_one_thread(sandbox: ProcessSandbox) -> None:
    code = """
    import threading, os
    import numpy as np
    a = np.random.rand(400, 400)
    a @ a
    times = os.times()
    return times.user + times.system
    """
    ended = run(sandbox, body(code))
    assert ended.cpu_seconds <= ended.wall_seconds + 0.05


def test_a_missing_function_is_a_failure(sandbox: ProcessSandbox) -> None:
    assert "KeyError: 'main'" in str(run(sandbox, module("def other(): pass")).failure)


def test_the_confinement_has_no_gaps_on_this_machine() -> None:
    assert find_gaps() == []


def test_a_sandbox_can_be_sent_to_another_process(sandbox: ProcessSandbox) -> None:
    sent = pickle.loads(pickle.dumps(sandbox))
    assert run(sent, body("return 7")).value == 7
    assert sent._parent().pid != sandbox._parent().pid
    sent.close()


def test_a_killed_warm_parent_is_replaced(sandbox: ProcessSandbox) -> None:
    before = sandbox._parent().pid
    os.kill(before, signal.SIGKILL)
    assert run(sandbox, body("return 7")).value == 7
    assert sandbox._parent().pid != before


@pytest.mark.parametrize("mounts", [True, False])
def test_a_killed_warm_parent_leaves_no_folder(mounts: bool) -> None:
    sandbox = ProcessSandbox(mounts=mounts)
    folder = Path(run(sandbox, body("import os\nreturn os.getcwd()")).value).parent
    os.kill(sandbox._parent().pid, signal.SIGKILL)
    assert run(sandbox, body("open('f', 'w').close()\nreturn 7")).value == 7
    assert not folder.exists()
    sandbox.close()


def killed_while_it_starts(tmp_path: Path, times: int) -> ProcessSandbox:
    """Return a sandbox whose warm parent is killed this number of times by a module that it loads."""
    tmp_path.joinpath("deadly_library.py").write_text(
        f"import os, signal\n"
        f"for k in range({times}):\n"
        f"    try:\n"
        f"        os.mkdir({str(tmp_path)!r} + f'/{{k}}')\n"
        f"    except FileExistsError:\n"
        f"        continue\n"
        f"    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    return ProcessSandbox(preload=["deadly_library"])


def test_a_warm_parent_that_is_killed_while_it_starts_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    sandbox = killed_while_it_starts(tmp_path, times=1)
    assert run(sandbox, body("return 7")).value == 7
    sandbox.close()


def test_a_warm_parent_that_is_killed_twice_while_it_starts_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        ServiceError,
        match=r"died twice \(SIGKILL: killed, or out of memory\); run the same command again",
    ):
        killed_while_it_starts(tmp_path, times=2).prepare()


def test_a_job_larger_than_a_pipe_arrives(sandbox: ProcessSandbox) -> None:
    array = np.arange(500_000.0)
    assert run(sandbox, body("return float(argument_0.sum())", array)).value == array.sum()


PAUSED = """
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.vocabulary import Limits
from tests.sandbox.jobs import body
sandbox = ProcessSandbox()
print(sandbox._parent().pid, flush=True)
limits = Limits(cpu_seconds=0.4)
code = "import ctypes, time\\nctypes.CDLL(None).prctl(15, b'asleep')\\ntime.sleep(0.5)\\nreturn 'x' * 10**5"
(execution,) = sandbox.run([body(code, limits=limits)])
print(execution.failure, flush=True)
"""


def test_time_during_which_the_asking_process_was_stopped_does_not_count() -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", PAUSED], stdout=subprocess.PIPE, text=True, cwd=root) as asking:
        warm = int(asking.stdout.readline())
        children = Path(f"/proc/{warm}/task/{warm}/children")
        assert until(lambda: children.read_text() != "")
        name = Path(f"/proc/{int(children.read_text())}/comm")
        assert until(lambda: name.read_text() == "asleep\n")
        asking.send_signal(signal.SIGSTOP)
        time.sleep(1.5)  # more than the 1.2 s that the program may take
        asking.send_signal(signal.SIGCONT)
        assert asking.stdout.readline() == "None\n"


def test_threads_run_programs_in_parallel_with_a_warm_parent_each() -> None:
    sandbox = ProcessSandbox()
    job = body("import time\ntime.sleep(0.2)\nreturn time.monotonic()")
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda _: sandbox.prepare(), range(3)))
        ended = list(threads.map(lambda _: run(sandbox, job), range(3)))
        assert max(execution.value for execution in ended) - min(execution.value for execution in ended) < 0.2
        assert len(sandbox._parents) == 3
    assert until(lambda: len(sandbox._parents) == 0)


def test_closing_ends_programs_in_other_threads(tmp_path: Path) -> None:
    sandbox = ProcessSandbox()
    with ThreadPoolExecutor(1) as threads:
        threads.submit(sandbox.prepare).result()
        (parent,) = sandbox._parents
        running = threads.submit(run, sandbox, body("import time\nwhile True: time.sleep(1)"))
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        assert until(lambda: children.read_text() != "")
        sandbox.close()
        with pytest.raises(ServiceError, match="the sandbox was closed while a program ran"):
            running.result(timeout=20)
    assert not children.exists()


def test_a_sandbox_that_does_not_start_is_reported_with_the_reason() -> None:
    with pytest.raises(ServiceError, match=r"the sandbox failed .*no_such_module"):
        ProcessSandbox(preload=["no_such_module"]).run([body("return 1")])


def test_a_closed_sandbox_leaves_no_process_and_no_folder() -> None:
    sandbox = ProcessSandbox()
    folder = Path(run(sandbox, body("import os\nreturn os.getcwd()")).value).parent
    pid = sandbox._parent().pid
    assert folder.exists()
    sandbox.close()
    assert not Path(f"/proc/{pid}").exists()
    assert until(lambda: not folder.exists())


HOLDER = """
from evodiverse.sandbox.processes import ProcessSandbox
from tests.sandbox.jobs import body
sandbox = ProcessSandbox()
(execution,) = sandbox.run([body("import os\\nreturn os.getcwd()")])
print(sandbox._parent().pid, execution.value, flush=True)
sandbox.run([body("import time\\nwhile True: time.sleep(1)")])
"""


def test_the_warm_parent_and_the_program_end_when_the_asking_process_is_killed() -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True, cwd=root) as holder:
        warm, folder = holder.stdout.readline().split()
        children = Path(f"/proc/{warm}/task/{warm}/children")
        assert until(lambda: children.read_text() != "")
        program = int(children.read_text())
        holder.kill()
    assert until(lambda: not Path(f"/proc/{program}").exists())
    assert until(lambda: not Path(f"/proc/{warm}").exists() or "Z" in Path(f"/proc/{warm}/stat").read_text())
    assert until(lambda: not Path(folder).parent.exists())


ORPHAN = """
import os, sys, time
from evodiverse.sandbox import parent
from evodiverse.sandbox.kernel import PR_SET_CHILD_SUBREAPER, Ending, prctl
prctl(PR_SET_CHILD_SUBREAPER, 1)
read, write = os.pipe()
child = os.fork()
if child == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        os.write(write, str(os.getpid()).encode())
        time.sleep(1000)
    time.sleep(1000)
grandchild = os.read(read, 20).decode()
parent.end(child, Ending())
print(os.path.exists("/proc/" + grandchild))
"""


def test_a_grandchild_in_another_session_does_not_outlive_its_job_even_unconfined() -> None:
    ended = subprocess.run([sys.executable, "-c", ORPHAN], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "False\n"


@pytest.mark.leak
def test_ten_thousand_programs_leave_no_process_and_no_open_file() -> None:
    sandbox = ProcessSandbox()
    limits = Limits(cpu_seconds=1.0)
    programs = [
        body("return 1", limits=limits),
        body("1 / 0", limits=limits),
        body("import os\nos._exit(1)", limits=limits),
        body("open('a', 'w').write('b')\nreturn 1", limits=limits),
        body(
            "import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()\nreturn 1", limits=limits
        ),
    ]
    folder = Path(run(sandbox, body("import os\nreturn os.getcwd()")).value).parent
    pid = sandbox._parent().pid

    def count() -> tuple[int, int, str, int]:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        n_fds, n_there = (len(os.listdir(f"/proc/{process}/fd")) for process in ("self", pid))
        return n_fds, n_there, children, len(list(folder.iterdir()))

    before = count()
    ended = sandbox.run(programs * 2_000)
    assert [execution.failure is None for execution in ended] == [True, False, False, True, True] * 2_000
    assert {execution.failure.reason for execution in ended if execution.failure} == {Reason.CRASHED}
    assert count() == before
    sandbox.close()
