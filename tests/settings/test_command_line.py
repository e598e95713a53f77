"""An invalid command line gives one line for each problem."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from evodiverse.errors import InputError
from evodiverse.settings import find_conf
from evodiverse.settings.command_line import explain, parse_arguments, put_options_last
from evodiverse.settings.compose import COMPOSITION_ERRORS
from evodiverse.settings.plan import plan_run
from evodiverse.settings.schema import register
from tests.runs import FROM_ROOT, TOY_CONF, evodiverse

pytestmark = pytest.mark.slow

OWN_METHOD = "to use your own FOLDER/method/ptt.yaml, add --config-dir FOLDER"


def refuse(*arguments: str) -> tuple[str, ...]:
    """Return what a user is told about a command line that does not compose."""
    register()
    overrides = [argument for argument in arguments if not argument.startswith("-")]
    try:
        with initialize_config_dir(config_dir=str(find_conf()), version_base="1.3"):
            compose("config", overrides=overrides)
    except COMPOSITION_ERRORS as error:
        return explain(error, arguments, plan_run).violations
    pytest.fail("Hydra composed it")


def test_overrides_that_contradict_each_other_are_one_line() -> None:
    assert refuse("~seed", "seed=1") == (
        "~seed seed=1 contradict each other (Could not override 'seed'.); drop one of them",
    )


# Each is explained alone, so one command line may have them all. Choices of options come first.
MISTAKES = {
    "experiment=mol_graphga": "experiment=mol_graphga must be written with a plus: +experiment=mol_graphga",
    "+task=gsk3b": "+task=gsk3b must be written without a plus: task=gsk3b",
    "sed=1": "sed is unknown; did you mean seed?",
    "methd=pt": "methd is unknown; did you mean method?",
    "method.swap.perid=3": "method.swap.perid is unknown; did you mean method.swap.period?",
    "period=3": "period is unknown; did you mean method.swap.period?",
    "xyzzy=3": "xyzzy is unknown; evodiverse --cfg job prints all keys",
    "task.initail.size=3": "task.initail.size is unknown; did you mean task.initial.size?",
    "task.foo=1": "task.foo is unknown; evodiverse --cfg job prints all keys",
    "task.mutation=1": "task.mutation is unknown; did you mean task.mutation_rate?",
    "llm.extra.effort=1": "llm.extra holds your own keys; add each with a plus: +llm.extra.name=value",
    "llm.extra={effort: 1}": "llm.extra holds your own keys; add each with a plus: +llm.extra.name=value",
    "seed=abc": "seed must be an integer, got abc",
    "method.ladder=null": "method.ladder must be a value other than null, got null",
    "method.ladder=3": "method.ladder must be a list, got 3",
    'method.ladder=["a"]': 'method.ladder[0] must be a number, got ["a"]',
    "method.ladder={a: 1}": "method.ladder must be a list, got {a: 1}",
    "method.ladder=[0.8,null]": "method.ladder[1] must be a value other than null, got [0.8,null]",
    "method.swap=3": "method.swap must be a group of keys, got 3",
    "method.swap={size: big}": "method.swap.size must be an integer, got big",
    "llm.extra=[1]": "llm.extra must be a group of keys, got [1]",
    "llm.model={a: 1}": "llm.model must be text, got {a: 1}",
    "seed=1.5": "seed must be an integer, got 1.5",
    "overwrite=maybe": "overwrite must be true or false, got maybe",
    "method.swap.xi=big": "method.swap.xi must be a number, got big",
    "method.niche.radius=0.4": "method.niche.radius=0.4: method.niche is null; set all of its keys at once, such as 'method.niche={radius: 0.4, …}'",  # noqa: E501
}


def test_each_mistake_gives_one_line() -> None:
    assert refuse(*MISTAKES) == tuple(dict.fromkeys(MISTAKES.values()))


UNKNOWN = {
    "method=ptt": "did you mean pt?",
    "llm=gpt": "did you mean gpt5?",
    "task=protein": "expected one of autocorrelation1, autocorrelation2, autocorrelation3, bin_packing, cap_set, circle_packing, circles_in_rectangle, distances, dual_kinase, equation, gsk3b, heilbronn, heilbronn_convex13, heilbronn_convex14, hexagons11, hexagons12, jnk3, kissing, minimum_overlap, program, sums_differences",  # noqa: E501
    "task=kinase": "did you mean dual_kinase?",
    "task=zaleplon_mpo": "did you mean pmo/zaleplon_mpo?",
    "task=pmo/zaleplon": "did you mean pmo/zaleplon_mpo?",
    "+experiment=mol_graphgaa": "did you mean mol_graphga?",
}


def test_an_unknown_option_comes_with_a_hint_on_your_own_files() -> None:
    expected = []
    for override, hint in UNKNOWN.items():
        choice = override.lstrip("+")
        file = f"FOLDER/{choice.replace('=', '/')}.yaml"
        expected.append(f"{choice} is unknown; {hint} (to use your own {file}, add --config-dir FOLDER)")
    assert refuse(*UNKNOWN) == tuple(expected)


def test_an_override_that_cannot_be_read_is_quoted_back() -> None:
    (line,) = refuse("method.ladder=[0.8")
    assert line.startswith("method.ladder=[0.8 cannot be read")
    assert line.endswith("write key=value, in quotes if it contains brackets")


@pytest.mark.parametrize(
    ("arguments", "written", "right"),
    [
        (["-m", "method.swap.period=2,", "5"], "method.swap.period=2, 5", "method.swap.period=2,5"),
        (["method.swap.period=2,", "5"], "method.swap.period=2, 5", "method.swap.period=2,5"),
        (["-m", "seed=0", ",1,", "2"], "seed=0 ,1, 2", "seed=0,1,2"),
        (["method.ladder=[0.8,", "0.2]"], "method.ladder=[0.8, 0.2]", "method.ladder=[0.8,0.2]"),
        (["method.ladder=[", "0.8,0.2", "]"], "method.ladder=[ 0.8,0.2 ]", "method.ladder=[0.8,0.2]"),
        (["seed=", "3", "method=pt"], "seed= 3", "seed=3"),
        (["seed", "=", "3"], "seed = 3", "seed=3"),
    ],
)
def test_an_option_that_a_space_has_split_is_put_together(arguments: list[str], written: str, right: str) -> None:
    assert refuse(*arguments) == (f"{written} contains a space; write {right}, or quote it",)


def test_a_text_that_hydra_misreads_is_shown_as_it_must_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("my molecules (1).smi", "[1].smi"):
        (tmp_path / name).touch()
    texts = {
        "task.initial.path": "my molecules (1).smi",
        "task.prompts.dir": "[1].smi",
        "task.prompts.target": "\u00d6l",
        "task.prompts.meaning": "a,b",
    }
    written = [f"{key}={text}" for key, text in texts.items()]
    lines = refuse(*written[0].split(), *written[1:], "task.highlight=[c1", "seed=1;")
    assert [line.rpartition(" write ")[2] for line in lines] == [
        *(shlex.quote(f'{key}="{text}"') for key, text in texts.items()),
        *["key=value, in quotes if it contains brackets"] * 2,
    ]


def test_words_without_an_equals_sign_are_put_together() -> None:
    assert refuse("-m", "seed", "0", "method.ladder", "0.8", "budget=10,20", "+experiment", "mol_main") == (
        "seed 0 has no equals sign; write seed=0",
        "method.ladder 0.8 has no equals sign; write method.ladder=0.8",
        "+experiment mol_main has no equals sign; write +experiment=mol_main",
        "budget=10 is unknown; to set a number, write budget.oracle_calls=10",
        "budget=20 is unknown; to set a number, write budget.oracle_calls=20",
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--task", "jnk3"], ["--task jnk3: --task is unknown; write task=jnk3"]),
        (["-m", "-task=jnk3", "seed=0,1"], ["-task=jnk3: -task is unknown; write task=jnk3"]),
        (["-method=pt"], ["-method=pt: -method is unknown; write method=pt"]),
        (
            ["--dry-run", "--seed=1"],
            ["--dry-run: --dry-run is unknown; write dry_run=true", "--seed=1: --seed is unkn"],
        ),
        (["--task", "-m"], ["--task: --task is unknown; write task=…"]),
        (["--config_dir", "x"], ["--config_dir x: --config_dir is unknown; did you mean --config-dir?"]),
        (["seed=1", "--config-dir"], ["argument --config-dir/-cd: expected one argument; evodiverse --help shows how"]),
        (["--cfg", "jobs"], ["argument --cfg/-c: invalid choice: 'jobs' (choose from 'job', 'hydra', 'all'); evodiv"]),
    ],
)
def test_a_flag_that_does_not_exist_is_one_line(arguments: list[str], expected: list[str]) -> None:
    with pytest.raises(InputError) as raised:
        parse_arguments(arguments)
    assert len(raised.value.violations) == len(expected)
    for line, start_of_line in zip(raised.value.violations, expected, strict=True):
        assert line.startswith(start_of_line)


@pytest.mark.parametrize("flag", [["--multi"], ["-cd", "x"], ["--config-dir=x"]])
def test_a_flag_that_argparse_knows_is_accepted(flag: list[str]) -> None:
    assert parse_arguments([*flag, "seed=1"]).overrides == ["seed=1"]


# Each is explained alone, so one command line may have them all.
SLIPS = {
    "task==jnk3": "task==jnk3 has two equals signs; write task=jnk3",
    "task:jnk3": "task:jnk3 has no equals sign; write task=jnk3",
    "graph_ga": "graph_ga is not an option; did you mean method=graph_ga?",
    "mol_main": "mol_main is not an option; did you mean +experiment=mol_main?",
    "xyzzy": "xyzzy is not an option; write key=value",
    "task": "task has no value; write task=…",
    "budget=1e4": "budget=1e4 is unknown; to set a number, write budget.oracle_calls=10000",
    "evaluator=4": "evaluator=4 is unknown; to set a number, write evaluator.workers=4",
    "tracking=true": "tracking=true is unknown; expected one of mlflow, none",
    "launcher=4": "launcher=4 is unknown; expected one of basic, joblib, ray, slurm",
    "seed=0..2": "seed must be an integer, got 0..2; for several runs, write evodiverse -m seed=0,1,2",
    "seed=0-20": "seed must be an integer, got 0-20; for several runs, write evodiverse -m 'seed=range(0,21)'",
    "seed=[4,7]": "seed must be an integer, got [4,7]; for several runs, write evodiverse -m seed=4,7",
}


def test_each_slip_is_told_with_what_to_write_instead() -> None:
    assert refuse(*SLIPS) == tuple(SLIPS.values())


def test_all_mistakes_are_reported_at_once() -> None:
    lines = refuse("method=ptt", "seed=abc", "sed=1", "budget=smoke", "method.swap.period=2")
    assert lines == (
        f"method=ptt is unknown; did you mean pt? ({OWN_METHOD})",
        "seed must be an integer, got abc",
        "sed is unknown; did you mean seed?",
    )


def test_every_value_of_a_sweep_is_looked_at() -> None:
    assert refuse("-m", "method=pt,ptt", "seed=0,x") == (
        f"method=ptt is unknown; did you mean pt? ({OWN_METHOD})",
        "seed must be an integer, got x",
    )


def test_a_sweep_without_the_flag_is_reported() -> None:
    assert refuse("seed=0,1") == ("seed=0,1 has 2 values; start a sweep with evodiverse -m …, or quote the value",)


def test_a_missing_folder_of_options_is_reported_with_the_rest() -> None:
    assert refuse("--config-dir=nowhere", "seed=x") == (
        "--config-dir nowhere is not a folder; check the path",
        "seed must be an integer, got x",
    )


@pytest.fixture
def options(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A folder of a user's own task options, with a name that needs care."""
    folder = tmp_path / "my [conf], ü=1"
    (folder / "task").mkdir(parents=True)
    return folder


def start(options: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return evodiverse(*arguments, "dry_run=true", f"--config-dir={options}", cwd=options.parent)


def test_a_sweep_over_options_of_ones_own_is_accepted(options: Path) -> None:
    (options / "task" / "own.yaml").write_text("defaults: [jnk3, _self_]\nname: own\n")
    swept = start(options, "-m", "task=own,jnk3", "method=pt")
    assert swept.returncode == 0, swept.stderr
    assert "outputs/own/pt" in swept.stdout


def test_a_missing_option_comes_with_the_path_of_your_own_file(options: Path) -> None:
    refused = start(options, "task=mine")
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert line.endswith(f" (your own file would be {options}/task/mine.yaml)")


@pytest.mark.parametrize(
    ("sweep", "content", "expected"),
    [
        ([], "name: [x\n", r"task=own: .*own\.yaml, line 2, column 1: expected ',' or ']'"),
        (["-m"], "name: a\nname: b\n", r"task=own: .*own\.yaml, line 2, column 1: found duplicate key name"),
        ([], "name: !!nothing a\n", r"task=own: .*own\.yaml, line 1, column 7: could not determine a constructor"),
        (["-m"], "name: ${name\n", r"task=own: "),
        ([], "defaults: [absent]\n", r"task=own: its defaults name .*absent, which does not exist; fix the file"),
        (
            ["-m"],
            "name: own\ndomain: evodiverse.tasks.molecules\n",
            r"undefined references: task\.defaults\..*, task\.defaults\..*; set these keys in the task's file$",
        ),
    ],
)
def test_an_option_file_that_cannot_be_used_is_one_line(
    options: Path, sweep: list[str], content: str, expected: str
) -> None:
    (options / "task" / "own.yaml").write_text(content)
    refused = start(options, *sweep, "task=own")
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert re.match(f"evodiverse: {expected}", line), line


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(:\n", r"task.domain=own cannot be imported \(SyntaxError: invalid syntax"),
        ("import sys; sys.exit(0)\n", r"task.domain=own cannot be imported \(SystemExit: 0, .*domain\.py, line 1\)"),
        ("x = 1\n", r"task.domain=own: the module lacks settings, find_violations"),
    ],
)
def test_a_domain_of_ones_own_that_cannot_be_used_is_one_line(options: Path, code: str, expected: str) -> None:
    (options.parent / "own").mkdir()
    (options.parent / "own" / "domain.py").write_text(code)
    refused = start(options, "task.domain=own")
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert re.match(f"evodiverse: {expected}", line), line


def test_a_key_that_is_missing_from_the_tasks_file_takes_a_plus(tmp_path: Path) -> None:
    defaults = TOY_CONF / "task" / "defaults" / "bits.yaml"
    (tmp_path / "task" / "defaults").mkdir(parents=True)
    (tmp_path / "task" / "defaults" / "bits.yaml").write_text(defaults.read_text())
    (tmp_path / "task" / "own.yaml").write_text(
        "defaults: [defaults/bits@defaults, _self_]\nname: own\ndomain: tests.toys.bits\n"
    )
    options = ["task=own", "task.length=9", "task.lenght=9", "--config-dir", str(tmp_path), "dry_run=true"]
    refused = evodiverse(*options, cwd=tmp_path, env=FROM_ROOT)
    assert refused.stderr.splitlines() == [
        "evodiverse: task.length is not in the task's file; add it there, or write +task.length=9",
        "evodiverse: task.lenght is unknown; did you mean task.length?",
    ]


@pytest.mark.parametrize(
    ("arguments", "ordered"),
    [
        (["a=1", "--config-dir", "conf", "b=2"], ["a=1", "b=2", "--config-dir", "conf"]),
        (["-m", "a=1", "--config-dir=conf", "~c"], ["a=1", "~c", "-m", "--config-dir=conf"]),
        (["--cfg", "job", "--resolve", "b=2"], ["b=2", "--cfg", "job", "--resolve"]),
        (["--info", "defaults", "b=2"], ["b=2", "--info", "defaults"]),
        (["--info", "b=2"], ["b=2", "--info"]),
    ],
)
def test_options_may_stand_anywhere(arguments: list[str], ordered: list[str]) -> None:
    assert put_options_last(arguments) == ordered


def test_a_sweep_by_its_mode_is_checked_too(tmp_path: Path) -> None:
    swept = evodiverse("hydra.mode=MULTIRUN", "seed=0,-1", cwd=tmp_path)
    assert (swept.returncode, len(swept.stderr.splitlines())) == (2, 1)
    assert list(tmp_path.iterdir()) == []
