"""The program domain's settings and the files that they name."""

import dataclasses
import logging
from pathlib import Path

import pytest

from evodiverse.errors import InputError
from evodiverse.kit.documented import find_beyond
from evodiverse.settings import assembly
from evodiverse.settings.plan import read_source
from evodiverse.store.record import Source
from evodiverse.tasks.programs import domain
from evodiverse.tasks.programs.evaluator import Evaluator
from evodiverse.tasks.programs.settings import BUILTINS, Initial, ProgramSettings, PromptSettings
from evodiverse.vocabulary import Candidate, Prompt, Request, Stream
from tests.runs import plan, run_here
from tests.tasks.programs.builders import EVALUATOR, EXAMPLE, write
from tests.tasks.programs.samples import request

PACKING = ProgramSettings(evaluator="circle_packing", n=26, reference=2.635)
BINS = ProgramSettings(evaluator=str(EXAMPLE / "evaluator.py"), initial=Initial(str(EXAMPLE / "worst_fit.py")))


@pytest.mark.parametrize("settings", [PACKING, BINS])
def test_valid_settings_have_no_violations(settings: ProgramSettings) -> None:
    assert domain.find_violations(settings) == []


@pytest.mark.parametrize(
    "settings",
    [
        PACKING,
        ProgramSettings(evaluator="heilbronn", n=11, reference=0.0365299),
        ProgramSettings(evaluator="distances", n=16, reference=12.88923),
        ProgramSettings(evaluator="heilbronn_convex", n=13, reference=0.03093689),
        ProgramSettings(evaluator="circles_in_rectangle", n=21, reference=2.36583237),
        ProgramSettings(evaluator="hexagons", n=12, reference=3.941643),
        ProgramSettings(evaluator="minimum_overlap", reference=0.38087031),
        ProgramSettings(evaluator="autocorrelation", n=2, reference=0.962643),
        ProgramSettings(evaluator="sums_differences", reference=1.1584172816),
        ProgramSettings(evaluator="kissing", n=11, reference=593),
        ProgramSettings(evaluator="cap_set", n=8, reference=512),
    ],
)
def test_the_layouts_that_come_with_a_task_can_be_its_start(settings: ProgramSettings) -> None:
    chosen = dataclasses.replace(settings, initial=Initial("builtin/layouts"))
    assert domain.find_violations(chosen) == []
    assert domain.sources(chosen, str)["initial"] != domain.sources(settings, str)["initial"]


def test_programs_of_an_earlier_run_may_be_shorter_than_the_start_of_the_task() -> None:
    chosen = dataclasses.replace(PACKING, initial=Initial(run="runs/earlier"), max_characters=1000)
    assert domain.find_violations(chosen) == []
    assert domain.sources(chosen, str) == domain.sources(PACKING, str)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": 0}, "task.n must be between 1 and 500, or null, got 0"),
        ({"n": 2000}, "task.n must be between 1 and 500, or null, got 2000"),
        ({"n": None}, "task.n has no value; task=circle_packing sets it"),
        ({"evaluator": "minimum_overlap", "n": 3}, "task.n has no meaning for task=minimum_overlap; leave it out"),
        ({"evaluator": "autocorrelation", "n": 4}, "task.n must be from 1 to 3 for task=autocorrelation, got 4"),
        ({"reference": None}, "task.reference has no value"),
        ({"reference": 0.0}, "task.reference must be between 0.001 and 1e\\+06, or null, got 0.0"),
        ({"reference": 1e-320}, "task.reference must be between"),
        ({"reference": float("inf")}, "task.reference must be between"),
        ({"reference": float("nan")}, "task.reference must be between"),
        ({"n": 30}, "task.reference=2.635 is for task.n=26; give the one for task.n=30"),
        ({"timeout": 0.0}, "task.timeout must be above 0 and below 1e\\+06"),
        ({"timeout": float("nan")}, "task.timeout must be above 0"),
        ({"memory": 100}, "task.memory must be between 500 and 1000000, got 100"),
        ({"memory": 10**15}, "task.memory must be between 500 and 1000000, got 1000000000000000"),
        ({"initial": Initial("/dev/zero")}, r"task.initial.path: cannot read /dev/zero: it is a device or a pipe"),
        ({"evaluator": "/dev/zero"}, r"task.evaluator=/dev/zero cannot be read \(it is a device or a pipe"),
        ({"max_characters": 0}, "task.max_characters must be at least 1"),
        ({"evaluator": ""}, "task.evaluator has no value"),
        (
            {"prompts": PromptSettings(mode="patch")},
            "task.prompts.mode=patch is unknown; expected one of diff, rewrite, mixed",
        ),
        ({"prompts": PromptSettings(hot="wild")}, "task.prompts.hot=wild is unknown"),
        ({"initial": Initial("absent.py")}, "task.initial.path: cannot read absent.py"),
        ({"initial": Initial(["absent.py", "lost.py"])}, "task.initial.path: cannot read lost.py"),
        ({"initial": Initial("builtin/absent")}, "task.initial.path: cannot read .*circle_packing/absent.py"),
        ({"initial": Initial("builtin/../seed")}, "task.initial.path: cannot read builtin/../seed"),
        ({"initial": Initial([])}, "task.initial.path has no value"),
        ({"initial": Initial("~nobodyx/a.py")}, "task.initial.path: cannot read ~nobodyx/a.py"),
        ({"prompts": PromptSettings(dir="~nobodyx/a")}, "task.prompts.dir: cannot read"),
        ({"evaluator": "absent.py"}, "task.evaluator=.*absent.py cannot be read"),
        ({"max_characters": 10, "initial": Initial(str(EXAMPLE / "worst_fit.py"))}, "is not a program of this task"),
    ],
)
def test_invalid_settings_are_named(change: dict[str, object], words: str) -> None:
    settings = dataclasses.replace(BINS if change.get("evaluator") else PACKING, **change)
    with pytest.raises(InputError, match=words):
        raise InputError(*find_beyond(settings, "task."), *domain.find_violations(settings))


def test_a_users_task_needs_a_program_to_start_from() -> None:
    violations = domain.find_violations(dataclasses.replace(BINS, initial=Initial()))
    assert violations == ["task.initial.path has no value; name the program that the search starts from"]


def test_an_unreadable_evaluator_is_reported_together_with_the_missing_program() -> None:
    violations = domain.find_violations(dataclasses.replace(BINS, evaluator="absent.py", initial=Initial()))
    assert violations[0] == "task.initial.path has no value; name the program that the search starts from"
    assert "absent.py cannot be read" in violations[1]


def test_the_seed_has_as_many_circles_as_the_task() -> None:
    assert "\nN = 40\n" in domain._read_initial(dataclasses.replace(PACKING, n=40, reference=3.3))[0]


def test_all_pools_share_the_initial_programs_and_each_is_counted_once(tmp_path: Path) -> None:
    paths = [str(write(tmp_path, f"{name}.py", f"def choose_bin(i, s): return {name!r}")) for name in "ab"]
    settings = dataclasses.replace(BINS, initial=Initial(paths))
    assert domain.is_shared(settings)
    assert (domain.count_initial(BINS), domain.count_initial(settings)) == (1, 2)


def sources(settings: ProgramSettings) -> dict[str, Source]:
    return {role: read_source(role, source) for role, source in domain.sources(settings, str).items()}


def test_only_modules_that_are_named_evaluator_define_built_in_tasks() -> None:
    before = dict(Evaluator.built_in)
    type("Own", (Evaluator,), {"__module__": "own"})
    assert Evaluator.built_in == before
    assert before.keys() <= BUILTINS


def test_a_changed_evaluator_or_start_is_other_data(tmp_path: Path) -> None:
    program = write(tmp_path, "program.py", "def main(): return 1")
    evaluator = write(tmp_path, "evaluator.py", EVALUATOR)
    settings = ProgramSettings(evaluator=str(evaluator), initial=Initial(str(program)))
    before = sources(settings)
    write(tmp_path, "evaluator.py", EVALUATOR + "\n    a = 1")
    assert sources(settings)["initial"] == before["initial"]
    assert sources(settings)["evaluator"] != before["evaluator"]
    write(tmp_path, "program.py", "def main(): return 2")
    assert sources(settings)["initial"] != before["initial"]


def test_a_model_is_told_what_the_evaluator_says() -> None:
    request = Request(1, 0, 0, 1, (Candidate(1, "def f(): pass\n", "k", 0.5, -0.5),), Prompt.COLD, Stream(0, 1))
    system, _ = domain.build_prompts(BINS).messages(request)
    assert "online bin packing" in system.content
    system, _ = domain.build_prompts(PACKING).messages(request)
    assert "26" in system.content


def test_what_the_kernel_is_missing_is_reported_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(assembly, "find_gaps", lambda: ["files", "processes"])
    overrides = ["task=circle_packing", f"outputs={tmp_path}", "budget.oracle_calls=2", "evaluator.workers=1"]
    with caplog.at_level(logging.WARNING, "evodiverse"):
        run_here(*overrides)
    told = "this kernel cannot prevent programs from reaching files and processes"
    assert f"{told}; sandbox.require=strict" in caplog.text
    with pytest.raises(InputError, match=rf"sandbox\.require=strict: {told}"):
        run_here(*overrides, "sandbox.require=strict", "overwrite=true")


def test_a_kernel_that_has_all_of_it_passes_strict(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    overrides = ["task=circle_packing", f"outputs={tmp_path}", "budget.oracle_calls=1", "sandbox.require=strict"]
    run_here(*overrides, "evaluator.workers=1")
    assert caplog.text == ""


def test_another_requirement_is_the_same_run() -> None:
    paths = {plan("task=circle_packing", f"sandbox.require={require}").path for require in ("available", "strict")}
    assert len(paths) == 1


MOVES_OF_ONES_OWN = """
places:
  later: {after: [total]}
moves:
  nudge:
    place: later
    weight: 1
    draw: SIZE=1..3
    code: total = twice(total) + $SIZE
"""


def own_task(folder: Path, moves: str) -> ProgramSettings:
    folder.mkdir(exist_ok=True)
    (folder / "evaluator.py").write_text("ENTRY_POINT = 'solve'\n\n\ndef score(result):\n    return result\n")
    (folder / "start.py").write_text("import numpy as np\n\n\ndef solve():\n    total = 1\n    return total\n")
    (folder / "moves.yaml").write_text(moves)
    (folder / "blocks.py").write_text("def twice(value):\n    return 2 * value\n")
    return ProgramSettings(evaluator=str(folder / "evaluator.py"), initial=Initial(str(folder / "start.py")))


def test_a_users_task_has_the_moves_next_to_its_evaluator(tmp_path: Path) -> None:
    settings = own_task(tmp_path, MOVES_OF_ONES_OWN)
    assert domain.find_violations(settings) == []
    source = (tmp_path / "start.py").read_text()
    made = domain.build_operator(settings).propose([request(source, slot=slot) for slot in range(30)])
    children = [child.genotype or "" for child in made]
    assert any("total = twice(total) + " in child and "def twice(value):" in child for child in children)
    roles = domain.sources(settings, str)
    assert [roles[name] for name in ("moves", "blocks")] == [tmp_path / "moves.yaml", tmp_path / "blocks.py"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (("later: {after", "later: {befor"), "the place later has befor; expected the keys after"),
        (("place: later", "place: sooner"), "the move nudge is at the unknown place sooner; expected one of later"),
        (("weight: 1", "weight: -1"), "the move nudge has the weight -1; expected a number above 0"),
        (
            ("SIZE=1..3", "SIZE=1-3"),
            "a $NAME has no draw such as NAME=0.1..0.9",
        ),
        (("$SIZE", "$SIDE"), "the code of the move nudge is no Python, or a $NAME has no draw"),
        (("total = twice", "total = = twice"), "the code of the move nudge is no Python"),
        (("moves:", "move:"), "the file has places, move; expected the keys places moves"),
        (("places:", "]places:"), "moves.yaml has no moves"),
        (("SIZE=1..3", "SIZE=0~3.0"), "a $NAME has no draw such as NAME=0.1..0.9"),
        (("weight: 1", "weight: 1e3"), "the move nudge has the weight '1e3'; expected a number above 0"),
        (("places:", "fixed: 5\nplaces:"), "fixed must list names"),
        (("moves:", "moves: {}\nprograms:"), "moves must have at least one move"),
    ],
)
def test_what_is_wrong_with_moves_is_told_with_the_file(tmp_path: Path, wrong: tuple[str, str], told: str) -> None:
    (violation,) = domain.find_violations(own_task(tmp_path, MOVES_OF_ONES_OWN.replace(*wrong)))
    assert violation.startswith(str(tmp_path / "moves.yaml"))
    assert told in violation
