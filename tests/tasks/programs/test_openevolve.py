"""Evaluators with OpenEvolve's interface, in the real sandbox: what they may do, and what their answers mean."""

import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from evodiverse.errors import InputError, ServiceError
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.tasks.programs import domain
from evodiverse.tasks.programs.evaluator import MAX_FILES, Scored, list_files
from evodiverse.tasks.programs.openevolve import OpenEvolveEvaluator, has_interface
from evodiverse.tasks.programs.settings import Initial, ProgramSettings
from evodiverse.tasks.programs.task import ProgramTask
from evodiverse.tasks.programs.user_evaluator import UserEvaluator
from evodiverse.vocabulary import Evaluation, Hypothesis, Reason, Rejection

LOAD = """
import importlib.util

def load(path):
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

"""
PLAIN = LOAD + "def evaluate(program_path):\n    return {}\n"
START = "def run():\n    return 0.5\n"
Evaluate = Callable[..., Evaluation]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ProcessSandbox]:
    sandbox = ProcessSandbox()
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="module")
def unconfined() -> Iterator[ProcessSandbox]:
    sandbox = ProcessSandbox(confines=False)
    yield sandbox
    sandbox.close()


def settings_of(folder: Path, evaluator: str, program: str = START, config: str = "", **keys: Any) -> ProgramSettings:
    (folder / "evaluator.py").write_text(dedent(evaluator))
    (folder / "initial_program.py").write_text(dedent(program))
    if config:
        (folder / "config.yaml").write_text(dedent(config))
    return ProgramSettings(evaluator=str(folder / "evaluator.py"), timeout=10.0, **keys)


def returning(result: str) -> str:
    """Return an evaluator that loads the program, calls its function and returns this."""
    return LOAD + f"def evaluate(program_path):\n    value = load(program_path).run()\n    return {result}\n"


@pytest.fixture
def evaluate(tmp_path: Path, sandbox: ProcessSandbox, unconfined: ProcessSandbox) -> Evaluate:
    def run(evaluator: str, program: str = START, config: str = "", *, trust: bool = False) -> Evaluation:
        settings = settings_of(tmp_path, evaluator, START, config, trust=trust)
        task = ProgramTask(OpenEvolveEvaluator(settings), unconfined if trust else sandbox, [START], 10_000)
        (evaluation,) = task.evaluate([Hypothesis(dedent(program), "key")])
        return evaluation

    return run


@pytest.mark.parametrize(
    ("result", "score"),
    [
        ("{'combined_score': value, 'other': 9.0}", 0.5),
        ("{'a': value, 'b': 1, 'is_fast': True, 'note': 'text'}", 0.75),
        ("{'combined_score': 'text', 'a': value}", 0.5),
        ("{'a': value, 'b': float('nan')}", 0.5),
        ("{'combined_score': __import__('numpy').float32(value)}", 0.5),
        ("{'combined_score': 12}", 12.0),
        ("{}", 0.0),
        ("{'combined_score': 0.0, 'error': 0.3}", 0.0),
        ("{'combined_score': -1.0}", 0.5e-6),
        ("{'combined_score': -1e300}", pytest.approx(0, abs=1e-300)),
    ],
)
def test_the_score_is_the_combined_score_or_the_mean_of_the_numbers(
    evaluate: Evaluate, result: str, score: float
) -> None:
    evaluation = evaluate(returning(result))
    assert (evaluation.score, evaluation.valid, evaluation.error) == (score, True, "")


def test_negative_scores_keep_their_order_below_all_others_and_above_failures(
    evaluate: Evaluate, caplog: pytest.LogCaptureFixture
) -> None:
    scores = [evaluate(returning(f"{{'combined_score': {value}}}")).score for value in (-3, -0.5, -1e-9, 1e-6)]
    assert 0 < scores[0] < scores[1] < scores[2] < scores[3]  # type: ignore[operator]
    assert "the evaluator reported -3; negative scores hardly guide the search" in caplog.text


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ("{'combined_score': float('nan')}", "non_finite: the evaluator reported the score nan"),
        ("{'a': float('inf'), 'b': 1.0}", "non_finite: the evaluator reported the score inf"),
        ("{'combined_score': 0.0, 'error': 'circles overlap'}", "invalid: circles overlap"),
        ("{'combined_score': -5, 'error': 'circles overlap'}", "invalid: circles overlap"),
        ("7", "crashed: TypeError: the evaluator returned a int, expected a dictionary of metrics"),
        ("1 / 0", "crashed: ZeroDivisionError: division by zero (evaluator.py, line 12)"),
        ("__import__('sys').exit(3)", "crashed: SystemExit: 3 (evaluator.py, line 12)"),
        ("[0] * 10**12", "out_of_memory: it needs more memory than it may use"),
        ("__import__('os')._exit(0)", "crashed: it ended without a result"),
    ],
)
def test_errors_fail_the_program_with_a_reason(evaluate: Evaluate, result: str, error: str) -> None:
    evaluation = evaluate(returning(result))
    assert (evaluation.score, evaluation.valid, evaluation.error) == (0.0, False, error)


def test_an_error_names_the_line_of_the_program(evaluate: Evaluate) -> None:
    failed = evaluate(returning("{'combined_score': value}"), "def run():\n    x = 1\n    return [x][2]\n")
    assert failed.error == "crashed: IndexError: list index out of range (program.py, line 3)"


def test_an_evaluation_that_takes_too_long_fails(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    settings = settings_of(tmp_path, returning("value"))
    settings.timeout = 0.5
    task = ProgramTask(OpenEvolveEvaluator(settings), sandbox, [START], 10_000)
    (failed,) = task.evaluate([Hypothesis("def run():\n    while True: pass\n", "key")])
    assert failed.error.startswith("timed_out: it ")


def test_metrics_and_artifacts_are_logged_and_told_to_the_model(evaluate: Evaluate) -> None:
    imports = "from openevolve.evaluation_result import EvaluationResult\n"
    artifacts = (
        "{'advice': 'smaller\\nsteps', 'raw': b'\\xff1', 'gap': 0.123456789012345, 'id': id(load), 'object': object()}"
    )
    metrics = "{'combined_score': value, 'fast': True, 'ratio': float('inf')}"
    result = f"EvaluationResult(metrics={metrics}, artifacts={artifacts})"
    evaluation = evaluate(imports + returning(result))
    assert json.loads(str(evaluation.details["metrics"])) == {
        "combined_score": 0.5,
        "fast": True,
        "ratio": "inf",
    }
    feedback = str(evaluation.details["feedback"])
    assert feedback.startswith("combined_score: 0.5\nfast: True\nratio: inf\nadvice:\nsmaller\nsteps\nraw:\n\ufffd1\n")
    assert "\ngap:\n0.123456789012345\nid:\n…\n" in feedback
    assert feedback.endswith("object:\n<object object at …>")


def test_a_failure_keeps_its_artifacts_as_feedback_without_temporary_paths(evaluate: Evaluate) -> None:
    evaluator = LOAD + dedent("""
        import traceback
        from openevolve.evaluation_result import EvaluationResult

        def evaluate(path):
            try:
                load(path).run()
            except Exception:
                traceback.print_exc()
                return EvaluationResult({"combined_score": 0.0}, {"traceback": traceback.format_exc()})
    """)
    failed = evaluate(evaluator, "def run():\n    return undefined\n")
    assert failed.error == "invalid: NameError: name 'undefined' is not defined"
    assert 'File "./program.py", line 2, in run' in str(failed.details["feedback"])
    assert 'sandbox-…/job/program.py", line 2, in run' in str(failed.details["output"])


STAGED = (
    LOAD
    + """
def evaluate_stage1(path):
    return {"quick": load(path).run()}

def evaluate_stage2(path):
    return {"combined_score": load(path).run() + 1, "error": 0.0}

def evaluate_stage3(path):
    return {"combined_score": load(path).run() + 2}

def evaluate(path):
    return {"combined_score": 99}
"""
)


@pytest.mark.parametrize(
    ("value", "config", "stage", "score"),
    [
        (0.4, "", "stage1", 0.4),
        (0.6, "", "stage3", 2.6),
        (0.6, "evaluator: {cascade_thresholds: [0.5, 1.7]}", "stage2", 1.6),
        (0.6, "evaluator: {cascade_thresholds: [0.5]}", "stage2", 1.6),
        (0.6, "evaluator: {cascade_evaluation: false}", None, 99.0),
    ],
)
def test_stages_run_as_long_as_the_score_reaches_the_threshold(
    evaluate: Evaluate, value: float, config: str, stage: str | None, score: float
) -> None:
    evaluation = evaluate(STAGED, f"def run():\n    return {value}\n", config)
    assert (evaluation.score, evaluation.details.get("stage"), evaluation.valid) == (score, stage, True)
    reached = [name for name in evaluation.details if name.startswith("seconds_")]
    assert reached == [f"seconds_stage{number}" for number in range(1, int((stage or "0")[-1]) + 1)]


def test_a_stage_that_raises_is_the_last_one_and_what_came_before_it_is_kept(evaluate: Evaluate) -> None:
    evaluation = evaluate(STAGED.replace("load(path).run() + 1", "1 / 0"), "def run():\n    return 0.6\n")
    assert (evaluation.valid, evaluation.error) == (
        False,
        "crashed: ZeroDivisionError: division by zero (evaluator.py, line 15)",
    )
    assert (evaluation.details["stage"], evaluation.details["metrics"]) == ("stage2", '{"quick": 0.6}')
    assert evaluation.details["seconds_stage2"] is not None
    assert "seconds_stage3" not in evaluation.details


def test_metrics_of_earlier_stages_count_in_the_mean(evaluate: Evaluate) -> None:
    evaluator = LOAD + "def evaluate_stage1(p):\n    return {'a': 1}\ndef evaluate_stage2(p):\n    return {'b': 3}\n"
    assert evaluate(evaluator + "def evaluate(p):\n    return {}\n").score == 2.0


def test_the_evaluator_uses_the_modules_and_files_of_its_folder_and_temporary_files(
    evaluate: Evaluate, tmp_path: Path
) -> None:
    (tmp_path / "helper.py").write_text("def double(x):\n    return 2 * x\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.txt").write_text("3")
    evaluator = LOAD + dedent("""
        import concurrent.futures, os, pickle, tempfile
        from helper import double

        DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "x.txt")

        def evaluate(path):
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                value = pool.submit(load(path).run).result(timeout=5)
            with tempfile.NamedTemporaryFile(suffix=".pkl", delete=False) as file:
                pickle.dump(double(value) + int(open(DATA).read()), file)
            return {"combined_score": pickle.load(open(file.name, "rb"))}
    """)
    assert evaluate(evaluator, "import helper\n\n\ndef run():\n    return helper.double(1)\n").score == 7.0


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("import subprocess; subprocess.run(['true'])", "start processes"),
        ("import os; os.system('true')", "start processes"),
        ("import multiprocessing as m; p = m.get_context('fork').Process(target=len); p.start()", "start processes"),
        ("import multiprocessing as m; p = m.get_context('spawn').Process(target=len); p.start()", ""),
        ("import multiprocessing as m; m.Queue()", ""),
        ("import urllib.request as u; u.urlopen('http://127.0.0.1:9')", "open sockets"),
        ("open('/etc/passwd').read()", "open /etc/passwd"),
        ("open(__file__ + 'x', 'w')", "open /"),
    ],
)
@pytest.mark.parametrize("is_caught", [False, True])
def test_what_the_sandbox_refuses_to_an_evaluator_leads_to_a_message_with_the_remedy(
    evaluate: Evaluate, code: str, refused: str, is_caught: bool, caplog: pytest.LogCaptureFixture
) -> None:
    if is_caught:
        body = f"    try:\n        {code}\n    except Exception as error:\n"
        body += "        return {'combined_score': 0.0, 'error': str(error)}\n"
    else:
        body = f"    {code}\n"
    failed = evaluate(f"def evaluate(path):\n{body}")
    assert not failed.valid
    wanted = f"the sandbox does not let it {'' if is_caught else refused}"
    assert wanted in failed.error
    assert "task.trust=true runs the evaluator outside of the sandbox" in failed.error
    assert caplog.text.count("task.trust=true") == 1


def test_with_trust_the_evaluator_may_do_what_the_sandbox_refuses(evaluate: Evaluate, tmp_path: Path) -> None:
    evaluator = dedent("""
        import subprocess, sys, tempfile

        def evaluate(path):
            code = "import runpy, sys; print(runpy.run_path(sys.argv[1])['run']())"
            done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=20)
            open(__file__ + ".log", "w").write(done.stdout)
            return {"combined_score": float(done.stdout)}
    """)
    assert evaluate(evaluator, trust=True).score == 0.5
    assert (tmp_path / "evaluator.py.log").read_text() == "0.5\n"


WRITES = """
import json, os
report = json.dumps({"score": 9.0, "metrics": {}, "artifacts": {}, "seconds": [1.0], "refused": []})
os.write(3, json.dumps({"value": [report, "0" * 128]}).encode() + b"\\n")
os._exit(0)
"""
CHANGES = """
import json
keep = json.dumps
json.dumps = lambda told, **more: keep({"value": [told["value"][0].replace("0.5", "9.5"), told["value"][1]]}, **more)
"""


@pytest.mark.parametrize("code", [WRITES, CHANGES])
def test_a_report_that_the_evaluator_did_not_write_is_not_accepted(evaluate: Evaluate, code: str) -> None:
    failed = evaluate(returning("{'combined_score': value}"), f"{code}\ndef run():\n    return 0.5\n")
    assert (failed.valid, failed.score) == (False, 0.0)
    assert failed.error == "invalid: something other than the evaluator wrote its report"


@pytest.mark.parametrize(
    "value", [None, 3, ["a"], ["{", "seal"], [[], "seal"], ['{"score": 1.0}', "seal"], ["[" * 10_000, "seal"]]
)
def test_a_report_is_checked_even_if_it_bears_the_seal(tmp_path: Path, value: Any) -> None:
    from hashlib import blake2b

    evaluator = OpenEvolveEvaluator(settings_of(tmp_path, PLAIN))
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str):
        value = [value[0], blake2b(value[0].encode(), key=bytes.fromhex(evaluator._key)).hexdigest()]
    assert evaluator.score(value) == Rejection(Reason.INVALID, "something other than the evaluator wrote its report")


def test_an_evaluator_that_cannot_be_imported_stops_the_run(evaluate: Evaluate) -> None:
    with pytest.raises(ServiceError, match=r"cannot be imported \(ModuleNotFoundError: No module named 'nowhere'"):
        evaluate("import nowhere\n" + PLAIN)


def test_only_a_file_with_evaluate_and_without_our_interface_is_one_of_openevolve(tmp_path: Path) -> None:
    path = tmp_path / "evaluator.py"
    for text, expected in {
        PLAIN: True,
        "from common import evaluate\n": True,
        "def score(x):\n    return x\n" + PLAIN: True,
        "ENTRY_POINT = 'main'\ndef score(x):\n    return x\ndef evaluate(path):\n    return {}\n": False,
        "def measure(path):\n    return {}\n": False,
        "def evaluate(": False,
    }.items():
        path.write_text(text)
        assert has_interface(path) is expected
        found = domain._find_task(ProgramSettings(evaluator=str(path)))
        assert found is (OpenEvolveEvaluator if expected else UserEvaluator)
    assert not has_interface(tmp_path / "missing.py")


def test_the_entry_point_is_the_last_function_that_the_evaluator_uses_or_else_a_class(tmp_path: Path) -> None:
    program = "def run():\n    return 1\n\nclass A:\n    pass\n\ndef helper():\n    return 2\n"
    for use, expected in (("m.run()", "run"), ("getattr(m, 'A')", "A"), ("m.A(m.run)", "run"), ("3", "helper")):
        evaluator = OpenEvolveEvaluator(settings_of(tmp_path, f"def evaluate(m):\n    return {use}\n", program))
        assert evaluator.entry_point == expected
    assert (
        "uses its run and A."
        in OpenEvolveEvaluator(settings_of(tmp_path, "def evaluate(m):\n    m.A, m.run\n", program)).description
    )


def test_the_task_is_described_by_the_configuration_or_else_by_the_evaluator(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, '"""Pack circles."""\n' + PLAIN)
    assert OpenEvolveEvaluator(settings).description.startswith("Pack circles.\n\nAn evaluator imports")
    (tmp_path / "config.yaml").write_text("prompt:\n  system_message: You pack spheres.\n")
    assert OpenEvolveEvaluator(settings).description.startswith("You pack spheres.\n")


def test_modules_that_the_evaluator_imports_are_loaded_in_advance_but_for_its_own(tmp_path: Path) -> None:
    (tmp_path / "yaml.py").write_text("")
    imports = "import os, yaml, nowhere\nimport openevolve.x\nfrom scipy import stats\nfrom numpy import array\n"
    evaluator = OpenEvolveEvaluator(settings_of(tmp_path, imports + PLAIN, "import scipy.signal\n" + START))
    assert evaluator.libraries == ("numpy", "scipy", "scipy.signal", "scipy.stats")


def test_compiled_modules_do_not_count_among_the_files_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").mkdir()
    for number in range(MAX_FILES):
        (tmp_path / "__pycache__" / f"{number}.pyc").touch()
    (tmp_path / "a.py").touch()
    assert list(list_files(tmp_path, "evaluator")) == ["evaluator/a.py"]


def test_the_files_of_the_folder_are_sources_of_the_run_but_for_links(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, PLAIN)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.csv").write_text("1")
    (tmp_path / "link").symlink_to("/etc/passwd")
    roles = OpenEvolveEvaluator.find_sources(settings)
    assert sorted(roles) == [
        "evaluator",
        *(f"evaluator/{name}" for name in ("data/x.csv", "evaluator.py", "initial_program.py")),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"program": "x = 1\n"}, "task.initial.path: the program defines neither a function nor a class"),
        ({"program": "def run(:\n"}, r"task.initial.path=.*initial_program.py is not Python \(SyntaxError"),
        ({"config": "evaluator: [\n"}, r"config.yaml cannot be read \(.*; fix the file"),
        ({"evaluator": STAGED, "config": "evaluator: {cascade_thresholds: 3}"}, "cascade_thresholds must be a list"),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path, change: dict[str, str], message: str) -> None:
    settings = settings_of(tmp_path, change.pop("evaluator", PLAIN), **change)
    with pytest.raises(InputError, match=message):
        OpenEvolveEvaluator(settings)


def test_a_missing_start_program_is_named(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, PLAIN)
    (tmp_path / "initial_program.py").unlink()
    assert domain.find_violations(settings) == [
        "task.initial.path has no value; name the program that the search starts from"
    ]
    settings.initial = Initial(str(tmp_path / "other.py"))
    assert any("other.py cannot be read" in violation for violation in domain.find_violations(settings))


def test_a_folder_around_the_current_folder_is_refused_unless_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_of(tmp_path, PLAIN)
    assert domain.find_violations(settings) == []
    (tmp_path / "below").mkdir()
    for place in (tmp_path, tmp_path / "below"):
        monkeypatch.chdir(place)
        (violation,) = domain.find_violations(settings)
        assert "programs may read its folder, which holds the current folder or your home" in violation
    settings.trust = True
    assert domain.find_violations(settings) == []


def test_trust_is_only_for_this_interface() -> None:
    settings = ProgramSettings(evaluator="circle_packing", n=26, reference=2.635, trust=True)
    assert domain.find_violations(settings) == [
        "task.trust=true: only evaluators with OpenEvolve's interface run outside of the sandbox"
    ]


def test_a_copy_in_another_process_reads_the_reports(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    evaluator = OpenEvolveEvaluator(settings_of(tmp_path, returning("{'combined_score': value}")))
    (execution,) = sandbox.run([evaluator.job(START)])
    scored = pickle.loads(pickle.dumps(evaluator)).score(execution.value)
    assert isinstance(scored, Scored)
    assert scored.score == 0.5
