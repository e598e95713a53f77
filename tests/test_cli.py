"""The command as a user starts it: in a separate process, from any folder."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from evodiverse import __version__
from tests.runs import FROM_ROOT, ROOT, TOY_CONF, evodiverse, log
from tests.starts import Started, run, start

pytestmark = pytest.mark.slow

TOY = ["--config-dir", str(TOY_CONF), "task=bits", "evaluator.workers=1"]
RUN = Path("outputs/bits/pt/off/default/seed0")

OWN_METHOD = f"your own file would be {TOY_CONF}/method/ptt.yaml"

STARTS = {
    "command": [str(Path(sys.executable).with_name("evodiverse"))],
    "module": [sys.executable, "-m", "evodiverse"],
    "file": [sys.executable, str(ROOT / "evodiverse" / "cli.py")],
}


@pytest.mark.parametrize("way", STARTS)
def test_a_run_works_as_command_module_and_file_from_any_folder(tmp_path: Path, way: str) -> None:
    done = subprocess.run([*STARTS[way], *TOY], cwd=tmp_path, env=FROM_ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("complete, stopped by budget: 200 oracle calls; best 0.8")
    assert done.stdout.splitlines()[1] == str(RUN)
    assert json.loads((tmp_path / RUN / "run.json").read_text())["status"] == "complete"


@pytest.mark.parametrize(
    "command", ["evodiverse", "evodiverse-data", "evodiverse-doctor", "evodiverse-show", "evodiverse-tables"]
)
def test_every_command_prints_the_version_of_evodiverse(command: str) -> None:
    program = Path(sys.executable).with_name(command)
    told = subprocess.run([program, "--version"], env=FROM_ROOT, capture_output=True, text=True)
    assert (told.returncode, told.stdout, told.stderr) == (0, f"evodiverse {__version__}\n", "")


@pytest.mark.parametrize(
    "module",
    [
        f"evodiverse.{name}"
        for name in (
            "cli",
            "commands.dock",
            "commands.doctor",
            "commands.figures",
            "commands.new",
            "commands.predict",
            "commands.show",
            "commands.tables",
        )
    ],
)
def test_a_version_is_printed_without_loading_a_library(module: str) -> None:
    code = f"import sys; from {module} import main\ntry: main()\nfinally: print(*sys.modules)"
    command = [sys.executable, "-c", code, "--version"]
    told = subprocess.run(command, env=FROM_ROOT, capture_output=True, text=True, check=True)
    version, loaded = told.stdout.splitlines()
    assert version == f"evodiverse {__version__}"
    assert not {"hydra", "omegaconf", "numpy", "pyarrow", "rich", "rdkit", "litellm"} & set(loaded.split())


def test_a_second_start_says_that_the_run_is_complete(tmp_path: Path) -> None:
    evodiverse(*TOY, cwd=tmp_path, env=FROM_ROOT)
    again = evodiverse(*TOY, cwd=tmp_path, env=FROM_ROOT)
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout == f"{RUN} is complete (stopped by budget); use overwrite=true to run it again\n"


def test_the_files_of_hydra_are_only_in_the_run_directory(tmp_path: Path) -> None:
    evodiverse(*TOY, "seed=3", cwd=tmp_path, env=FROM_ROOT)
    hydra = tmp_path / "outputs/bits/pt/off/default/seed3/.hydra"
    assert yaml.safe_load((hydra / "overrides.yaml").read_text()) == ["task=bits", "evaluator.workers=1", "seed=3"]
    assert yaml.safe_load((hydra / "config.yaml").read_text())["seed"] == 3
    assert yaml.safe_load((hydra / "hydra.yaml").read_text())["hydra"]["runtime"]["choices"]["method"] == "pt"
    assert [path.name for path in tmp_path.iterdir()] == ["outputs"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["sed=1"], "evodiverse: sed is unknown; did you mean seed?\n"),
        (["method=ptt"], f"evodiverse: method=ptt is unknown; did you mean pt? ({OWN_METHOD})\n"),
        (["seed=1.5"], "evodiverse: seed must be an integer, got 1.5\n"),
        (["seed=-1"], "evodiverse: seed must be between 0 and 18446744073709551615, got -1\n"),
        (
            ["task.spoiled=start"],
            (
                "evodiverse: no initial candidate can enter a pool (unparsable 16; the first: unparsable: 7 characters)"
                "; start from other candidates\n"
            ),
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path: Path, arguments: list[str], expected: str) -> None:
    refused = evodiverse(*TOY, *arguments, cwd=tmp_path, env=FROM_ROOT)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.splitlines(keepends=True)[-1] == expected
    assert not [line for line in refused.stderr.splitlines() if "Traceback" in line or "Error executing" in line]


def test_every_violation_has_its_own_line(tmp_path: Path) -> None:
    refused = evodiverse(*TOY, "seed=-1", "method.swap.size=99", "method.ladder=[0.2,0.8]", cwd=tmp_path, env=FROM_ROOT)
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 3
    assert list(tmp_path.iterdir()) == []


def test_a_failed_run_exits_with_1(tmp_path: Path) -> None:
    failed = evodiverse(*TOY, "task.spoiled=worker", "evaluator.workers=2", cwd=tmp_path, env=FROM_ROOT)
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1].startswith("evodiverse: a worker process died")


def start_with_a_bug(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "with_a_bug.py"
    script.write_text(
        "from evodiverse import cli\nfrom evodiverse.runner import loop\nloop.advance = None\ncli.main()\n"
    )
    return run(str(script), *arguments, cwd=tmp_path, env=FROM_ROOT)


def test_a_bug_shows_its_traceback_and_exits_with_1(tmp_path: Path) -> None:
    failed = start_with_a_bug(tmp_path, *TOY)
    assert failed.returncode == 1
    assert "TypeError: 'NoneType' object is not callable" in failed.stderr
    assert "Traceback" in failed.stderr


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_users_domain_is_one_line(tmp_path: Path, workers: int) -> None:
    failed = evodiverse(*TOY, f"evaluator.workers={workers}", "task.spoiled=bug", cwd=tmp_path, env=FROM_ROOT)
    assert (failed.returncode, failed.stdout) == (1, "")
    (line,) = failed.stderr.splitlines()
    assert line.startswith("evodiverse: tests.toys.bits.task.BitTask.evaluate raised ValueError: the toy oracle has a ")
    assert "tests/toys/bits/task.py, line " in line


def test_a_sweep_runs_every_combination(tmp_path: Path) -> None:
    done = evodiverse("-m", *TOY, "method=pt,molleo", "seed=0,1", cwd=tmp_path, env=FROM_ROOT)
    assert done.returncode == 0, done.stderr
    found = sorted(str(path.parent.relative_to(tmp_path)) for path in tmp_path.rglob("run.json"))
    assert found == [f"outputs/bits/{method}/off/default/seed{seed}" for method in ("molleo", "pt") for seed in (0, 1)]


def test_a_failed_run_of_a_sweep_is_listed_at_the_end_and_the_others_continue(tmp_path: Path) -> None:
    swept = evodiverse("-m", *TOY, "task.spoiled=start,nothing", "seed=0,1", cwd=tmp_path, env=FROM_ROOT)
    assert swept.returncode == 1
    first, second, last = [line for line in swept.stderr.splitlines() if line.startswith("evodiverse: ")]
    assert "Error executing job" not in swept.stderr
    for seed, line in enumerate([first, second]):
        assert f"run {seed + 1} (task.spoiled=start seed={seed}) failed: no initial candidate can enter a pool" in line
    assert last == "evodiverse: 2 of 4 runs failed; run the same command again to retry them"
    records = [json.loads(path.read_text())["status"] for path in tmp_path.rglob("run.json")]
    assert records == ["complete", "complete"]  # a refused run leaves nothing


def test_a_sweep_ends_with_a_row_for_each_run(tmp_path: Path) -> None:
    swept = evodiverse("-m", *TOY, "method.swap.period=2,7", "seed=0,1", cwd=tmp_path, env=FROM_ROOT)
    head, *rows = [line.split() for line in swept.stdout.splitlines()]
    assert head == ["run", "method.swap.period", "seed", "state", "calls", "best"]
    assert [row[:5] for row in rows] == [
        [str(number), period, seed, "complete", "200"]
        for number, (period, seed) in enumerate([("2", "0"), ("2", "1"), ("7", "0"), ("7", "1")], start=1)
    ]
    records = [json.loads(path.read_text()) for path in sorted(tmp_path.rglob("run.json"))]
    assert [f"{record['totals']['best_score']:.6g}" for record in records] == [row[5] for row in rows]


def test_the_runs_of_a_sweep_are_numbered_when_they_start_and_end(tmp_path: Path) -> None:
    swept = evodiverse("-m", *TOY, "seed=0,1", "display=plain", cwd=tmp_path, env=FROM_ROOT)
    begun, ended, *others = swept.stderr.splitlines()
    assert begun == "run 1 of 2: seed=0"
    assert ended.startswith("run 1 of 2: complete, stopped by budget | 200 calls | best 0.8")
    assert ended.endswith(str(RUN))
    assert others[0] == "run 2 of 2: seed=1"


def test_a_repeated_sweep_makes_only_the_runs_that_are_not_complete(tmp_path: Path) -> None:
    evodiverse("-m", *TOY, "seed=0,1", cwd=tmp_path, env=FROM_ROOT)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("run.json")}
    more = evodiverse("-m", *TOY, "seed=0,1,2", cwd=tmp_path, env=FROM_ROOT)
    assert "2 of 3 runs are complete" in more.stdout
    assert "run 3 of 3: seed=2" in more.stderr
    assert "run 1 of 3" not in more.stderr
    again = evodiverse("-m", *TOY, "seed=0,1,2", cwd=tmp_path, env=FROM_ROOT)
    assert "3 of 3 runs are complete" in again.stdout
    assert again.stderr == ""
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())


@pytest.mark.parametrize("launcher", [(), ("launcher=joblib", "hydra.launcher.n_jobs=1")])
def test_a_sweep_skips_runs_that_are_complete(tmp_path: Path, launcher: tuple[str, ...]) -> None:
    evodiverse(*TOY, "seed=1", cwd=tmp_path, env=FROM_ROOT)
    words = ["-m", *TOY, "seed=0,1,2,3", "display=plain"]
    rest = evodiverse(*words, *launcher, cwd=tmp_path, env=FROM_ROOT)
    assert rest.returncode == 0, rest.stderr
    assert {line.split(": complete")[0] for line in rest.stderr.splitlines() if ": complete" in line} == {
        f"run {number} of 4" for number in (1, 3, 4)
    }
    records = {json.loads(path.read_text())["settings"]["seed"]: path for path in tmp_path.rglob("run.json")}
    assert [records[seed].parent.name for seed in range(4)] == [f"seed{seed}" for seed in range(4)]
    for seed, path in records.items():
        assert f"seed={seed}" in (path.parent / ".hydra" / "overrides.yaml").read_text()


def test_a_run_that_another_process_completes_has_not_failed(tmp_path: Path) -> None:
    slow = [*TOY, "budget.oracle_calls=100", "task.pause=0.02"]
    env = {**os.environ, **FROM_ROOT}
    one = subprocess.Popen([sys.executable, "-m", "evodiverse", *slow, "seed=0"], cwd=tmp_path, env=env)
    while not list(tmp_path.rglob("run.json")):
        time.sleep(0.02)
    swept = evodiverse("-m", *slow, "seed=0,1", cwd=tmp_path, env=FROM_ROOT)
    assert one.wait() == 0
    assert swept.returncode == 0, swept.stderr
    assert [line.split()[2] for line in swept.stdout.splitlines()[1:]] == ["complete", "complete"]


def test_a_complete_run_that_read_other_data_fails_in_a_sweep(tmp_path: Path) -> None:
    oracle = tmp_path / "mine.py"
    words = ["-m", "task=jnk3", "task.oracle._target_=mine.score", "task.initial.size=10", "method.capacity=10"]
    words += ["method.offspring=5", "budget.oracle_calls=30", "evaluator.workers=1", "seed=0,1", "display=none"]
    oracle.write_text("def score(smiles):\n    return [min(1, len(text) / 99) for text in smiles]\n")
    assert evodiverse(*words, cwd=tmp_path).returncode == 0
    oracle.write_text(oracle.read_text().replace("99", "98"))
    again = evodiverse(*words, cwd=tmp_path)
    assert again.returncode == 1
    assert [line.split()[2] for line in again.stdout.splitlines()[-2:]] == ["failed", "failed"]
    assert "run 1 (seed=0) failed:" in again.stderr
    assert "was started with other data" in again.stderr
    assert "2 of 2 runs failed" in again.stderr


def test_a_sweep_with_an_invalid_run_does_not_start(tmp_path: Path) -> None:
    swept = evodiverse("-m", *TOY, "method.swap.size=99,2,0", "seed=0,1", "+task.lenght=3", cwd=tmp_path, env=FROM_ROOT)
    assert swept.returncode == 2
    assert swept.stderr.splitlines() == [
        "evodiverse: task.lenght is unknown; did you mean task.length?",
        "evodiverse: method.swap.size must not exceed method.capacity=10, got 99",
        "evodiverse: method.swap.size must be at least 1, got 0",
    ]
    assert list(tmp_path.iterdir()) == []


def test_all_runs_of_an_experiment_are_checked_before_the_first_starts(tmp_path: Path) -> None:
    swept = evodiverse(
        "-m", "+experiment=mol_graphga", "method.swap.period=0", "task=jnk3", "seed=0,1", "method=pt", cwd=tmp_path
    )
    assert (swept.returncode, swept.stderr) == (2, "evodiverse: method.swap.period must be at least 1, got 0\n")
    assert list(tmp_path.iterdir()) == []


def test_an_experiment_that_is_a_sweep_is_not_run_as_one_run(tmp_path: Path) -> None:
    refused = evodiverse("+experiment=mol_graphga", cwd=tmp_path)
    assert (refused.returncode, refused.stderr) == (
        2,
        "evodiverse: this experiment is a sweep; start it with evodiverse -m …\n",
    )


def test_mistakes_of_every_kind_are_reported_together(tmp_path: Path) -> None:
    mistakes = ["seed=abc", "method.swap.perid=3", "+task.foo=1", "task.length=0", "method.swap.period=0"]
    refused = evodiverse(*TOY, *mistakes, cwd=tmp_path, env=FROM_ROOT)
    assert refused.returncode == 2
    assert refused.stderr.splitlines() == [
        "evodiverse: seed must be an integer, got abc",
        "evodiverse: method.swap.perid is unknown; did you mean method.swap.period?",
        "evodiverse: task.foo is unknown; evodiverse --cfg job prints all keys",
        "evodiverse: task.length must be at least 1, got 0",
        "evodiverse: method.swap.period must be at least 1, got 0",
    ]


def test_help_is_printed_on_a_terminal_without_greek_letters(tmp_path: Path) -> None:
    told = evodiverse("--help", cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert told.returncode == 0
    assert "GSK3\\u03b2" in told.stdout


def test_help_is_printed_without_loading_a_library() -> None:
    code = "import sys; from evodiverse.cli import main; main(); print(*sys.modules)"
    command = [sys.executable, "-c", code, "--help"]
    told = subprocess.run(command, env=FROM_ROOT, capture_output=True, text=True, check=True)
    *page, loaded = told.stdout.splitlines()
    assert page[0].startswith("EvoDiverse searches for")
    assert not {"hydra", "omegaconf", "numpy", "pyarrow", "rich", "rdkit", "litellm"} & set(loaded.split())


@pytest.mark.parametrize("others", [[], ["task=jnk3", "method=pt"]])
def test_a_mistake_is_reported_without_loading_what_only_runs_need(others: list[str], tmp_path: Path) -> None:
    code = """
import sys
from evodiverse.cli import main
try:
    main()
finally:
    print(*sys.modules)
"""
    command = [sys.executable, "-c", code, *others, "sed=1"]
    told = subprocess.run(command, cwd=tmp_path, env=FROM_ROOT, capture_output=True, text=True)
    assert (told.returncode, told.stderr) == (2, "evodiverse: sed is unknown; did you mean seed?\n")
    assert not {"pyarrow", "rich", "rdkit", "litellm", "httpx", "scipy"} & set(told.stdout.split())


def test_help_lists_the_users_own_options_in_their_groups(tmp_path: Path) -> None:
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "mine.yaml").write_text("# What I search for\nname: mine\n")
    (tmp_path / "task" / "jnk3.yaml").write_text("# Another of a published name\n")
    (tmp_path / "method").mkdir()
    (tmp_path / "method" / "pt4.yaml").write_text("name: pt4\n")
    told = evodiverse("--help", "--config-dir", str(tmp_path), cwd=tmp_path)
    lines = [line.split(maxsplit=1) for line in told.stdout.splitlines() if line]
    names = [line[0] for line in lines]
    assert names.index("program") + 1 == names.index("mine") == names.index("method:") - 1
    assert names.index("random_start") + 1 == names.index("pt4") == names.index("llm:") - 1
    assert names.count("jnk3") == 1
    (mine,) = [line[1] for line in lines if line[0] == "mine"]
    assert mine.split("  ")[0] == "What I search for"
    assert mine.endswith(f"  evodiverse --config-dir {tmp_path} task=mine")


def test_a_sweep_that_cannot_write_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused = evodiverse("-m", *TOY, "seed=0,1", "outputs=file", cwd=tmp_path, env=FROM_ROOT)
    assert refused.returncode == 2
    assert refused.stderr.startswith("evodiverse: outputs: ")
    assert len(refused.stderr.splitlines()) == 1


def test_the_user_can_choose_the_folder_of_a_run_or_a_sweep(tmp_path: Path) -> None:
    evodiverse(*TOY, "name=mine/first", cwd=tmp_path, env=FROM_ROOT)
    evodiverse("-m", *TOY, "name=second", "seed=0,1", "method=pt,ea", cwd=tmp_path, env=FROM_ROOT)
    found = sorted(str(path.parent.relative_to(tmp_path / "outputs")) for path in tmp_path.rglob("run.json"))
    named = [f"second/seed={seed},method={method}" for seed in (0, 1) for method in ("ea", "pt")]
    assert found == ["mine/first", *named]
    inner = evodiverse(*TOY, "name=mine/first/inner", cwd=tmp_path, env=FROM_ROOT)
    assert inner.returncode == 2
    told = "outputs/mine/first/inner would be inside the run outputs/mine/first; choose another folder with name=… or "
    assert told in inner.stderr
    other = evodiverse(*TOY, "name=mine/first", "seed=1", cwd=tmp_path, env=FROM_ROOT)
    assert other.returncode == 2
    assert "was started with seed=0, now it is seed=1" in other.stderr


@pytest.mark.parametrize("name", ["../x", "/x", "a//b", "'a b'", ".x", "''"])
def test_a_folder_outside_of_outputs_is_refused(tmp_path: Path, name: str) -> None:
    refused = evodiverse(*TOY, f"name={name}", cwd=tmp_path, env=FROM_ROOT)
    assert refused.returncode == 2
    assert refused.stderr.startswith("evodiverse: name must be a folder below outputs, ")
    assert list(tmp_path.iterdir()) == []


def test_a_file_named_like_a_module_does_not_disturb_workers(tmp_path: Path) -> None:
    (tmp_path / "random.py").write_text("x = 1\n")
    command = [*STARTS["command"], *TOY, "evaluator.workers=2"]
    assert subprocess.run(command, cwd=tmp_path, env=FROM_ROOT, capture_output=True).returncode == 0


def test_a_dry_run_prints_what_would_run_and_runs_nothing(tmp_path: Path) -> None:
    dry = evodiverse(*TOY, "dry_run=true", "method.swap.period=7", cwd=tmp_path, env=FROM_ROOT)
    assert dry.returncode == 0
    settings, summary = dry.stdout.split("\n\n")
    assert yaml.safe_load(settings)["method"]["swap"]["period"] == 7
    assert summary == (
        "would run in outputs/bits/pt/off/method.swap.period=7/seed0\n"
        "with 200 oracle calls, 16 of them for the initial candidates\n"
    )
    assert list(tmp_path.iterdir()) == []


LONG = [*TOY, "evaluator.workers=2", "budget.oracle_calls=600", "search.patience=1000", "task.pause=0.01"]
LONG_RUN = RUN.parent.parent / "budget.oracle_calls=600,search.patience=1000,task.pause=0.01/seed0"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a long run that was never stopped."""
    folder = tmp_path_factory.mktemp("whole")
    assert evodiverse(*LONG, cwd=folder, env=FROM_ROOT).returncode == 0
    return folder / LONG_RUN


def start_long_run(folder: Path) -> Started:
    """Start the long run, and return it once it has committed more than its initial candidates."""
    process = start("-m", "evodiverse", *LONG, cwd=folder, env=FROM_ROOT)
    while len(list((folder / LONG_RUN / "evaluations").glob("part-*"))) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)  # no assertion depends on how long it takes
    return process


@pytest.mark.parametrize(("signum", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_interrupts_and_the_same_command_resumes(
    tmp_path: Path, whole: Path, signum: int, exit_code: int
) -> None:
    process, run = start_long_run(tmp_path), tmp_path / LONG_RUN
    process.send_signal(signum)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == exit_code
    assert errors.splitlines()[-1].endswith(f"to resume: evodiverse {shlex.join(LONG)}")
    assert json.loads((run / "run.json").read_text())["status"] == "interrupted"
    assert evodiverse(*LONG, cwd=tmp_path, env=FROM_ROOT).returncode == 0
    assert log(run) == log(whole)


def test_a_stop_waits_for_running_evaluations_and_none_is_repeated(tmp_path: Path) -> None:
    slow = [*TOY, "evaluator.workers=2", "task.pause=0.3", f"task.diary={tmp_path}/diary", "budget.oracle_calls=17"]
    process = start("-m", "evodiverse", *slow, cwd=tmp_path, env=FROM_ROOT)
    while not (tmp_path / "diary").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    told = errors.splitlines()
    assert told[-2] == (
        "evodiverse: interrupted by SIGTERM: finishing the work in progress; interrupt again to stop at once"
    )
    assert process.returncode == 143
    assert evodiverse(*slow, cwd=tmp_path, env=FROM_ROOT).returncode == 0
    evaluated = (tmp_path / "diary").read_text().split()
    assert len(evaluated) == len(set(evaluated)) == 17


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["start", "middle"])
def test_a_signal_to_all_processes_of_a_run_stops_it_like_one_to_the_main_process(
    tmp_path: Path, signum: int, moment: str
) -> None:
    slow = [*TOY, "evaluator.workers=2", "task.pause=0.05", f"task.diary={tmp_path}/diary", "budget.oracle_calls=40"]
    process = start("-m", "evodiverse", *slow, cwd=tmp_path, env=FROM_ROOT, new_session=True)
    awaited = tmp_path.joinpath("diary") if moment == "middle" else tmp_path / "outputs"
    while not awaited.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    os.killpg(process.pid, signum)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signum, errors
    assert errors.splitlines()[-1].startswith("evodiverse: interrupted by ")
    assert "Traceback" not in errors
    assert evodiverse(*slow, cwd=tmp_path, env=FROM_ROOT).returncode == 0
    evaluated = (tmp_path / "diary").read_text().split()
    assert len(evaluated) == len(set(evaluated)) == 40


def test_a_second_process_on_a_run_is_refused_with_the_name_of_the_first(tmp_path: Path) -> None:
    process = start_long_run(tmp_path)
    process.send_signal(signal.SIGSTOP)  # so that it does not end before the others begin
    for arguments in (LONG, [*LONG, "overwrite=true"]):
        second = evodiverse(*arguments, cwd=tmp_path, env=FROM_ROOT)
        assert second.returncode == 2
        assert f"is being written by process {process.pid} on " in second.stderr
        assert len(second.stderr.splitlines()) == 1
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert json.loads((tmp_path / LONG_RUN / "run.json").read_text())["status"] == "complete"


def test_a_killed_run_leaves_no_process_behind_and_resumes(tmp_path: Path, whole: Path) -> None:
    process, run = start_long_run(tmp_path), tmp_path / LONG_RUN
    process.kill()
    process.communicate()
    assert json.loads((run / "run.json").read_text())["status"] == "running"
    for _ in range(1000):
        left = [entry for entry in Path("/proc").glob("[0-9]*/cwd") if _points_to(entry, tmp_path)]
        if not left:
            break
        time.sleep(0.01)
    assert not left
    assert evodiverse(*LONG, cwd=tmp_path, env=FROM_ROOT).returncode == 0
    assert log(run) == log(whole)


def _points_to(link: Path, folder: Path) -> bool:
    try:
        return link.resolve() == folder
    except OSError:
        return False


def test_the_options_of_hydra_print_what_hydra_prints(tmp_path: Path) -> None:
    printed = evodiverse(*TOY, "--cfg", "job", cwd=tmp_path, env=FROM_ROOT)
    assert printed.returncode == 0
    assert yaml.safe_load(printed.stdout)["task"]["domain"] == "tests.toys.bits"
