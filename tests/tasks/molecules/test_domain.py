"""The molecule domain as the rest of EvoDiverse sees it: settings checked, tasks and operators built."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evodiverse.data.artifacts import find_artifact
from evodiverse.data.cache import artifact_path
from evodiverse.errors import ContractError, DataError, InputError, ServiceError
from evodiverse.kit.documented import find_beyond
from evodiverse.runner.workers import Bench, Workers
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.settings.plan import read_source
from evodiverse.store.files import Journal
from evodiverse.tasks.molecules import domain, oracle
from evodiverse.tasks.molecules.initial import read_published
from evodiverse.tasks.molecules.operators import GraphGA
from evodiverse.tasks.molecules.oracle import PUBLISHED, open_published
from evodiverse.tasks.molecules.settings import Initial, MoleculeSettings, Oracle
from evodiverse.tasks.molecules.task import MoleculeTask
from evodiverse.vocabulary import Candidate, Hypothesis, Prompt, Rejection, Request, Stream
from tests.runs import plan
from tests.tasks.molecules.drugs import DRUGS

JNK3 = Oracle(published="jnk3")
MODULE = """
import signal
import threading

def by_length(smiles):
    return [len(text) / 10 for text in smiles]

class Halves:
    def __init__(self):
        self.score = 0.5
    def __call__(self, smiles):
        return [self.score] * len(smiles)

class Locked(Halves):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

nameless = lambda smiles: [0.25] * len(smiles)

class Mute:
    pass

def too_few(smiles):
    return [0.5]

def too_high(smiles):
    return [0.5] * (len(smiles) - 1) + [1.5]

def at_a_loss(smiles):
    return [float("nan")] * len(smiles)

def light(smiles):
    assert "CC" not in smiles, "heavy"
    return [0.5] * len(smiles)

def choosy(smiles):
    while "CCCC" in smiles:
        signal.pause()
    assert "CCC" not in smiles, "three atoms"
    assert "CC" not in smiles
    return [0.5] * len(smiles)

def rings_only(smiles):
    return [{"C1CC1": 0.5, "C1CCC1": 0.5}[text] for text in smiles]

number = 3
"""
BUSY = """
def score(smiles):
    with open({path!r}, "a+") as calls:
        print(end=".", file=calls)
        if calls.tell() <= {n_failures}:
            raise ConnectionError("busy")
    return [0.5] * len(smiles)
"""
CHOOSY_LINE = MODULE.split("\n").index('    assert "CC" not in smiles') + 1
BROKEN = [
    pytest.param("def score(:", "SyntaxError: invalid syntax", id="syntax"),
    pytest.param("score = undefined", "NameError: name 'undefined' is not defined", id="unknown-name"),
    pytest.param("import absent_module", "ModuleNotFoundError: No module named 'absent_module'", id="import"),
    pytest.param("raise OSError('no weights')", "OSError: no weights", id="raises"),
    pytest.param("class score:\n    def __init__(self, model): ...", "TypeError: .*'model'", id="needs-arguments"),
    pytest.param("class score:\n    def __init__(self): 1 / 0", "ZeroDivisionError: division", id="constructor"),
]


def violations_of(settings: MoleculeSettings) -> list[str]:
    return [*find_beyond(settings, "task."), *domain.find_violations(settings)]


@pytest.fixture
def write_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Write a user's module where it is found; its name is another one in each test, for Python imports a name once."""

    def write(code: str) -> str:
        name = f"own_{tmp_path.name}"
        (tmp_path / f"{name}.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        return name

    return write


@pytest.fixture
def module(write_module: Callable[[str], str]) -> str:
    """Name of a user's module of sound and unsound oracles."""
    return write_module(MODULE)


@pytest.fixture
def smi(tmp_path: Path) -> Callable[[str], Initial]:
    """Write the user's file to start from."""

    def write(content: str) -> Initial:
        (tmp_path / "own.smi").write_text(content)
        return Initial(path=str(tmp_path / "own.smi"))

    return write


@pytest.fixture
def own_forest(tmp_path: Path) -> Path:
    """The JNK3 forest as a file of the user's own."""
    path = tmp_path / "own.npz"
    open_published("jnk3", artifact_path("jnk3")).classifier.save_npz(path)
    return path


def build(
    oracle: Oracle = JNK3,
    initial: Initial | None = None,
    score_timeout: float | None = None,
    objective: dict[str, Any] | None = None,
) -> MoleculeTask:
    settings = MoleculeSettings(oracle, initial or Initial(), objective or {}, score_timeout=score_timeout)
    return domain.build_task(settings, artifact_path, ProcessSandbox)


def sources(oracle: Oracle = JNK3, initial: Initial | None = None) -> dict[str, str | None]:
    settings = MoleculeSettings(oracle=oracle, initial=initial or Initial())
    found = domain.sources(settings, lambda name: find_artifact(name).sha256)
    return {role: read_source(role, source).sha256 for role, source in found.items()}


def scores(task: MoleculeTask, *smiles: str) -> list[float | None]:
    return [answer.score for answer in task.evaluate([Hypothesis(text, text) for text in smiles])]


def request(slot: int) -> Request:
    parents = tuple(Candidate(call, DRUGS[slot + call], DRUGS[slot + call], None, None) for call in (1, 2))
    return Request(1, 0, slot, 1, parents, Prompt.COLD, Stream(0, 4, 1, 0, slot, 1))


# Values


def test_sound_settings_have_no_violations() -> None:
    assert domain.find_violations(MoleculeSettings(oracle=JNK3)) == []


@pytest.mark.parametrize(
    ("settings", "violation"),
    [
        (MoleculeSettings(JNK3, Initial(size=0)), "task.initial.size must be at least 1, got 0"),
        (MoleculeSettings(JNK3, max_heavy_atoms=-3), "task.max_heavy_atoms must be at least 1, got -3"),
        (MoleculeSettings(JNK3, mutation_rate=-0.1), "task.mutation_rate must be between 0 and 1, got -0.1"),
        (MoleculeSettings(JNK3, mutation_rate=1.5), "task.mutation_rate must be between 0 and 1, got 1.5"),
        (MoleculeSettings(JNK3, mutation_rate=float("nan")), "task.mutation_rate must be between 0 and 1, got nan"),
        (MoleculeSettings(Oracle()), "task.oracle names no oracle; set published, path, _target_ or elsewhere"),
        (
            MoleculeSettings(JNK3, scaffold="c1ccccc1"),
            "task.scaffold=c1ccccc1 has no open position; mark at least one by [*:1], as in c1ccc2[nH]c([*:1])nc2c1",
        ),
        (
            MoleculeSettings(Oracle(path="/dev/zero")),
            "task.oracle.path: cannot read /dev/zero (it is a device or a pipe, expected a file); check the path",
        ),
        (
            MoleculeSettings(JNK3, Initial(path="/dev/zero")),
            "task.initial.path: cannot read /dev/zero: it is a device or a pipe, expected a file; check the path",
        ),
    ],
)
def test_a_value_that_cannot_be_meant_is_named_with_its_key(settings: MoleculeSettings, violation: str) -> None:
    assert violations_of(settings) == [violation]


@pytest.mark.parametrize(
    "settings",
    [
        MoleculeSettings(JNK3, Initial(size=1), max_heavy_atoms=1, mutation_rate=0.0),
        MoleculeSettings(JNK3, mutation_rate=1.0),
    ],
)
def test_values_at_the_ends_of_their_ranges_can_be_meant(settings: MoleculeSettings) -> None:
    assert domain.find_violations(settings) == []


def test_all_that_is_wrong_is_named_at_once(smi: Callable[[str], Initial]) -> None:
    initial = smi("((\nCC\n))\n")
    initial.skip_invalid = False
    settings = MoleculeSettings(Oracle(path="/absent.pkl"), initial, mutation_rate=2)
    rate, oracle, line_1, line_3 = violations_of(settings)
    assert rate.startswith("task.mutation_rate must be between 0 and 1")
    assert (f"{initial.path} line 1: " in line_1, f"{initial.path} line 3: " in line_3) == (True, True)
    assert oracle.startswith("task.oracle.path: cannot read /absent.pkl (No such file or directory)")


def test_a_forest_and_a_function_of_ones_own_exclude_each_other(module: str, own_forest: Path) -> None:
    settings = MoleculeSettings(Oracle(path=str(own_forest), _target_=f"{module}.by_length"))
    violation = "task.oracle.path and task.oracle._target_ exclude each other; set all but one to null"
    assert violations_of(settings) == [violation]


# How pools start


def test_a_pool_starts_from_as_many_published_molecules_as_told() -> None:
    assert domain.count_initial(MoleculeSettings(JNK3, Initial(size=7))) == 7


@pytest.mark.parametrize(("size", "n_initial"), [(2, 2), (3, 3), (120, 3)])
def test_a_short_file_gives_fewer_initial_molecules(smi: Callable[[str], Initial], size: int, n_initial: int) -> None:
    initial = smi("C\nCC\n# none\nCCC\n")
    initial.size = size
    assert domain.count_initial(MoleculeSettings(JNK3, initial)) == n_initial


@pytest.mark.parametrize("content", ["((\n))\n", ""])
def test_a_file_that_cannot_be_used_costs_no_oracle_calls(smi: Callable[[str], Initial], content: str) -> None:
    assert domain.count_charged(MoleculeSettings(JNK3, smi(content)), 2) == 0


@pytest.mark.parametrize("path", ["~no-such-user/own.smi", "/absent.smi"], ids=["home", "absent"])
def test_a_path_that_cannot_be_read_costs_no_oracle_calls(path: str) -> None:
    assert domain.count_charged(MoleculeSettings(JNK3, Initial(path=path)), 2) == 0


@pytest.mark.parametrize("path", ["~no-such-user/own.smi", "/absent.smi"], ids=["home", "absent"])
def test_a_path_that_cannot_be_read_is_a_violation_before_the_run(path: str) -> None:
    (violation,) = domain.find_violations(MoleculeSettings(JNK3, Initial(path=path)))
    assert violation.startswith(f"task.initial.path: cannot read {path}: ")


def test_a_file_edited_after_its_check_starts_the_pools_as_it_is_now(smi: Callable[[str], Initial]) -> None:
    assert domain.find_violations(MoleculeSettings(JNK3, smi("CCO\n"))) == []
    assert build(initial=smi("CC\nC\n")).initial(Stream(0, 1)) == ["CC", "C"]


def test_a_file_in_the_home_folder_has_a_checksum(
    smi: Callable[[str], Initial], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(Path(str(smi("CCO\n").path)).parent))
    assert sources(initial=Initial(path="~/own.smi"))["initial"] == hashlib.sha256(b"CCO\n").hexdigest()


@pytest.mark.parametrize("shared", [True, False])
def test_pools_share_their_start_when_told_so(shared: bool) -> None:
    assert domain.is_shared(MoleculeSettings(JNK3, Initial(shared=shared))) is shared


def test_pools_start_from_zinc_unless_told_otherwise() -> None:
    library = read_published(artifact_path("zinc250k"))
    drawn = library.sample(120, Stream(5, 1).rng())
    assert build().initial(Stream(5, 1)) == [molecule.smiles for molecule in drawn]


def test_pools_start_from_a_users_file(smi: Callable[[str], Initial]) -> None:
    assert build(initial=smi("OCC ethanol\nCC\n")).initial(Stream(0, 1)) == ["CCO", "CC"]


def test_pools_start_from_a_scaffold_with_substituents(smi: Callable[[str], Initial]) -> None:
    initial = smi("CCO\nCC(F)c1ccccc1\nOCc1ccccc1\n")
    initial.size = 5
    settings = MoleculeSettings(JNK3, initial, scaffold="[*:1]c1ccccc1")
    task = domain.build_task(settings, artifact_path, ProcessSandbox)
    started = task.initial(Stream(0, 1))
    assert set(started[:2]) == {"CC(F)c1ccccc1", "OCc1ccccc1"}
    assert len(started) == domain.count_initial(settings) == 5
    parsed = task.parse([*started, "Cc1ccc(F)cc1"])
    assert [isinstance(one, Rejection) for one in parsed] == [False] * 5 + [True]
    assert str(parsed[-1]) == "filtered: scaffold not kept"
    lines = [task.trace(one).get("library_line") for one in parsed if isinstance(one, Hypothesis)]
    assert set(lines[:2]) == {2, 3}
    assert lines[2:] == [None] * 3


def test_the_limit_of_size_holds_for_a_users_file(smi: Callable[[str], Initial]) -> None:
    settings = MoleculeSettings(JNK3, smi("CCO\n"), max_heavy_atoms=2)
    with pytest.raises(
        InputError, match=r"contains no molecules; line 1: 'CCO' is malformed \(too_large: 3 heavy atoms, at most 2\)"
    ):
        domain.build_task(settings, artifact_path, ProcessSandbox)


def test_malformed_lines_that_are_passed_over_are_counted_in_a_warning(
    smi: Callable[[str], Initial], caplog: pytest.LogCaptureFixture
) -> None:
    initial = smi("((\nCC\n))\n")
    build(initial=initial)
    (told,) = caplog.messages
    assert told.startswith(
        f"{initial.path}: skipped 2 of 3 records, which cannot be used; the first fault: line 1: '(('"
    )


def test_a_sound_file_gives_no_warning(smi: Callable[[str], Initial], caplog: pytest.LogCaptureFixture) -> None:
    build(initial=smi("CC\n"))
    assert caplog.messages == []


# Published oracles


@pytest.mark.parametrize("name", [*PUBLISHED])
def test_a_published_oracle_is_found_by_its_name(name: str) -> None:
    pinned = PUBLISHED[name].pinned_scores
    assert scores(build(Oracle(published=name)), *pinned) == pytest.approx(list(pinned.values()), abs=1e-12)


def test_an_unknown_published_oracle_is_refused() -> None:
    with pytest.raises(DataError, match="unknown artifact 'drd3'; did you mean drd2"):
        build(Oracle(published="drd3"))


def test_stereoisomers_are_two_molecules_of_one_score() -> None:
    task = build()
    left, right = task.parse(["C[C@@H](N)C(=O)O", "C[C@H](N)C(=O)O"])
    assert isinstance(left, Hypothesis)
    assert isinstance(right, Hypothesis)
    assert left.key != right.key
    assert len(set(scores(task, left.genotype, right.genotype))) == 1


# A user's own oracle


def test_a_function_in_the_current_folder_is_an_oracle(module: str) -> None:
    assert scores(build(Oracle(_target_=f"{module}.by_length")), "CCO", "C") == [0.3, 0.1]


def test_a_class_in_the_current_folder_is_called_for_an_oracle(module: str) -> None:
    assert scores(build(Oracle(_target_=f"{module}.Halves")), "CCO", "C") == [0.5, 0.5]


@pytest.mark.parametrize(("name", "score"), [("nameless", 0.25), ("Locked", 0.5)])
def test_an_oracle_that_no_pickle_holds_works_in_worker_processes(
    tmp_path: Path, module: str, name: str, score: float
) -> None:
    bench = Bench(build(Oracle(_target_=f"{module}.{name}")), GraphGA(0.0), Journal(tmp_path / "journal"))
    with Workers(bench, 2) as workers:
        ((evaluation, _),) = workers.evaluate([Hypothesis("CCO", "CCO")])
    assert evaluation.score == score


def test_a_function_that_never_returns_fails_the_molecule_and_another_process_scores_the_others(
    tmp_path: Path, module: str
) -> None:
    task = build(Oracle(_target_=f"{module}.choosy"), score_timeout=1.5)
    with Workers(Bench(task, GraphGA(0.0), Journal(tmp_path / "journal")), 1) as workers:
        answers = workers.evaluate([Hypothesis(text, text) for text in ("CCCC", "CCC", "CC", "C")])
    assert [(answer.score, answer.error) for answer, _ in answers] == [
        (None, "timed_out: no score after 1.5 s"),
        (None, "invalid: three atoms"),
        (None, f'invalid: assert "CC" not in smiles ({module}.py, line {CHOOSY_LINE})'),
        (0.5, ""),
    ]


def test_a_function_that_asserts_rejects_only_the_molecule_that_fails(module: str) -> None:
    answers = build(Oracle(_target_=f"{module}.light")).evaluate([Hypothesis(text, text) for text in ("C", "CC", "N")])
    assert [(answer.score, answer.error) for answer in answers] == [(0.5, ""), (None, "invalid: heavy"), (0.5, "")]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_function_that_raises_fails_only_the_molecule_for_which_it_does(
    tmp_path: Path, module: str, workers: int
) -> None:
    task = build(Oracle(_target_=f"{module}.rings_only"))
    with Workers(Bench(task, GraphGA(0.0), Journal(tmp_path / "journal")), workers) as started:
        answers = started.evaluate([Hypothesis(text, text) for text in ("C1CC1", "CC", "C1CCC1")])
    (first, _), (chain, _), (last, _) = answers
    assert (first.score, last.score) == (0.5, 0.5)
    assert (chain.score, chain.valid) == (None, False)
    assert re.fullmatch(rf"raised: the oracle raised KeyError: 'CC' \(.*{module}\.py, line \d+\)", chain.error)


def test_an_exception_ends_the_run_if_the_user_wants_it(module: str) -> None:
    task = build(Oracle(_target_=f"{module}.rings_only", on_error="fail"))
    with pytest.raises(ServiceError, match=r"^the oracle raised KeyError: 'CC' \("):
        task.evaluate([Hypothesis("C1CC1", "C1CC1"), Hypothesis("CC", "CC")])


@pytest.mark.parametrize(("n_failures", "score"), [(2, 0.5), (3, None)])
def test_a_function_that_raises_is_called_twice_more_if_the_user_wants_it(
    tmp_path: Path, write_module: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, n_failures: int, score: float
) -> None:
    monkeypatch.setattr(oracle, "_PAUSES", (0.0, 0.0))
    (tmp_path / "calls").touch()
    busy = write_module(BUSY.format(path=str(tmp_path / "calls"), n_failures=n_failures))
    (answer,) = build(Oracle(_target_=f"{busy}.score", on_error="retry")).evaluate([Hypothesis("C", "C")])
    assert answer.score == score
    assert (tmp_path / "calls").stat().st_size == 3


def test_a_component_of_an_objective_that_raises_fails_the_molecule(module: str) -> None:
    own = {"kind": "oracle", "_target_": f"{module}.rings_only"}
    ring, chain = build(objective={"components": {"own": own}}).evaluate(
        [Hypothesis("C1CC1", "C1CC1"), Hypothesis("CC", "CC")]
    )
    assert ring.score == 0.5
    assert chain.error.startswith("raised: task.objective.components.own raised KeyError: 'CC' (")


def test_a_function_goes_before_the_published(module: str) -> None:
    assert scores(build(Oracle("jnk3", _target_=f"{module}.by_length")), "CCO") == [0.3]


@pytest.mark.parametrize("name", ["by_length", "Halves"])
def test_a_function_or_class_that_can_be_used_has_no_violations(module: str, name: str) -> None:
    assert domain.find_violations(MoleculeSettings(Oracle(_target_=f"{module}.{name}"))) == []


def test_a_function_that_scores_too_few_molecules_breaks_the_contract(module: str) -> None:
    with pytest.raises(ContractError, match=r"shape \(1,\) for 2 molecules"):
        scores(build(Oracle(_target_=f"{module}.too_few")), "CCO", "C")


def test_a_function_that_scores_above_one_breaks_the_contract(module: str) -> None:
    with pytest.raises(ContractError, match=r"the oracle scored C as 1\.5; a score must lie in \[0, 1\]"):
        scores(build(Oracle(_target_=f"{module}.too_high")), "CCO", "C")


def test_a_function_that_answers_nan_fails_an_evaluation(module: str) -> None:
    (answer,) = build(Oracle(_target_=f"{module}.at_a_loss")).evaluate([Hypothesis("C", "C")])
    assert (answer.score, answer.energy, answer.valid) == (None, None, False)


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("absent_module.score", "ModuleNotFoundError"),
        ("os.no_such_function", "AttributeError"),
        ("by_length", "ValueError"),
        ("", "ValueError"),
        (".a.b", "TypeError"),
        ("a..b", "ModuleNotFoundError"),
    ],
)
def test_what_cannot_be_imported_is_refused_by_name(target: str, error: str) -> None:
    message = rf"^task\.oracle\._target_={re.escape(target)} cannot be used \({error}: .*set it to module\.name"
    with pytest.raises(InputError, match=message):
        build(Oracle(_target_=target))


@pytest.mark.parametrize(("code", "error"), BROKEN)
def test_what_a_users_module_raises_is_named(write_module: Callable[[str], str], code: str, error: str) -> None:
    target = f"{write_module(code)}.score"
    with pytest.raises(InputError, match=rf"^task\.oracle\._target_={target} cannot be used \({error}"):
        build(Oracle(_target_=target))


@pytest.mark.parametrize(("code", "error"), BROKEN)
def test_a_broken_module_is_a_violation_before_the_run(
    write_module: Callable[[str], str], code: str, error: str
) -> None:
    target = f"{write_module(code)}.score"
    (violation,) = domain.find_violations(MoleculeSettings(Oracle(_target_=target)))
    assert re.match(rf"task\.oracle\._target_={target} cannot be used \({error}", violation)


@pytest.mark.parametrize("name", ["number", "Mute"])
def test_what_cannot_be_called_is_refused_by_name(module: str, name: str) -> None:
    with pytest.raises(
        InputError, match=rf"_target_={module}\.{name} is neither a function nor a class whose instances"
    ):
        build(Oracle(_target_=f"{module}.{name}"))


@pytest.mark.parametrize("name", ["absent", "number", "Mute"])
def test_a_function_that_cannot_be_used_is_a_violation_before_the_run(module: str, name: str) -> None:
    (violation,) = domain.find_violations(MoleculeSettings(Oracle(_target_=f"{module}.{name}")))
    assert violation.startswith(f"task.oracle._target_={module}.{name} ")


def test_a_users_forest_goes_before_the_published_one(own_forest: Path) -> None:
    pinned = PUBLISHED["jnk3"].pinned_scores
    task = build(Oracle(published="gsk3b", path=str(own_forest)))
    assert scores(task, *pinned) == pytest.approx(list(pinned.values()), abs=1e-12)


def test_a_users_forest_that_can_be_used_has_no_violations(own_forest: Path) -> None:
    assert domain.find_violations(MoleculeSettings(Oracle(path=str(own_forest)))) == []


def test_a_missing_forest_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*/absent\.pkl \(No such file or directory\)"):
        build(Oracle(path=str(tmp_path / "absent.pkl")))


def test_a_file_that_holds_no_forest_is_a_violation_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "forest.pkl").write_bytes(b"no forest")
    (violation,) = domain.find_violations(MoleculeSettings(Oracle(path=str(tmp_path / "forest.pkl"))))
    assert str(tmp_path / "forest.pkl") in violation


# What a resumed run must meet


def test_the_sources_of_a_published_task_are_the_checksums_of_its_artifacts() -> None:
    expected = {"oracle": find_artifact("jnk3").sha256, "initial": find_artifact("zinc250k").sha256}
    assert sources() == expected


def test_the_sources_of_a_users_own_files_are_their_checksums(smi: Callable[[str], Initial], own_forest: Path) -> None:
    found = sources(Oracle(path=str(own_forest)), smi("CC\n"))
    assert found["initial"] == hashlib.sha256(b"CC\n").hexdigest()
    assert found["oracle"] == hashlib.sha256(own_forest.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["by_length", "Halves"])
def test_the_source_of_a_users_function_or_class_is_the_checksum_of_its_module(module: str, name: str) -> None:
    source = sources(Oracle(_target_=f"{module}.{name}"))["oracle"]
    assert source == hashlib.sha256(MODULE.encode()).hexdigest()


def test_the_source_of_a_function_without_a_file_is_its_name() -> None:
    assert sources(Oracle(_target_="builtins.len"))["oracle"] == "builtins.len"


# Offspring


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_the_operator_is_graph_ga_with_the_mutation_rate_told(rate: float) -> None:
    requests = [request(slot) for slot in range(10)]
    built = domain.build_operator(MoleculeSettings(JNK3, mutation_rate=rate)).propose(requests)
    assert built == GraphGA(rate).propose(requests)
    assert built != GraphGA(1 - rate).propose(requests)


# What the picture of the best marks


@pytest.mark.parametrize("highlight", ["c1ccncc1", ["c1ccncc1", "[NX3]"], []])
def test_smarts_to_be_marked_are_one_or_a_list(highlight: object) -> None:
    assert domain.find_violations(MoleculeSettings(oracle=Oracle(published="jnk3"), highlight=highlight)) == []


@pytest.mark.parametrize(
    ("highlight", "told"),
    [
        ("c1ccn", "task.highlight: expected a SMARTS of 1 to 1000 characters, got 'c1ccn'"),
        (["C", ""], "task.highlight: expected a SMARTS of 1 to 1000 characters, got ''"),
        (3, "task.highlight must be a SMARTS or a list of SMARTS, got 3"),
        ([3], "task.highlight must be a SMARTS or a list of SMARTS, got [3]"),
    ],
)
def test_what_is_no_smarts_is_told_before_the_run(highlight: object, told: str) -> None:
    settings = MoleculeSettings(oracle=Oracle(published="jnk3"), highlight=highlight)
    assert domain.find_violations(settings) == [told]


def test_what_is_marked_is_no_part_of_a_run_s_identity() -> None:
    assert plan("task=jnk3", "task.highlight=C").path == plan("task=jnk3").path
