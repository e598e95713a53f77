"""A user's own domain and rules give one line for whatever does not fit."""

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evodiverse.errors import ContractError, InputError, ServiceError
from evodiverse.ports import Domain, Prompted
from evodiverse.settings.domain import import_domain, read_settings
from tests.runs import log, plan, run_toy

WHOLE = """
from dataclasses import dataclass

@dataclass
class settings:
    length: int = 3

def find_violations(settings): return []
def count_initial(settings): return 1
def is_shared(settings): return True
def sources(settings, artifact_sha256): return {}
def build_operator(settings): return Part()
def build_task(settings, artifact, sandbox): return Part()
def build_prompts(settings): return Part()

class Part:
    columns = {"n": int}
    sha256 = ""
    example = ""
    def initial(self, stream): ...
    def parse(self, genotypes): ...
    def evaluate(self, hypotheses): ...
    def propose(self, requests): ...
    def messages(self, request): ...
    def read(self, request, reply): ...
"""
NUMBERS = itertools.count()
Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write a domain and return its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def write(code: str) -> str:
        name = f"domain_of_mine_{next(NUMBERS)}"
        (tmp_path / name).mkdir()
        (tmp_path / name / "domain.py").write_text(code)
        return name

    return write


def call(domain: Domain, function: str) -> Any:
    n_others = {"sources": 1, "build_task": 2}.get(function, 0)
    return getattr(domain, function)(domain.settings(), *([None] * n_others))


FUNCTIONS = [
    "find_violations",
    "count_initial",
    "is_shared",
    "sources",
    "build_operator",
    "build_task",
    "build_prompts",
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_fits_its_port_is_passed_on(write: Write, function: str) -> None:
    domain = import_domain(write(WHOLE))
    answer = call(domain, function)
    assert type(answer).__name__ in {"list", "int", "bool", "dict", "Part"}


@pytest.mark.parametrize(
    ("function", "returned", "expected"),
    [
        (
            "find_violations",
            "None",
            r"returned None; expected a list with one str for each problem, \[\] for none",
        ),
        ("find_violations", "'no'", r"returned a str \('no'\); expected a list with one str for each problem"),
        ("count_initial", "'8'", r"returned a str \('8'\); expected an int, the largest number of initial candidates"),
        ("is_shared", "None", "returned None; expected True or False"),
        ("sources", "None", "returned None; expected a dictionary from roles to files"),
        ("sources", "{'data': 3}", r"returned a dict \({'data': 3}\); expected a dictionary from roles to files"),
        ("build_operator", "None", "returned None, which lacks propose; expected Operator of evodiverse.ports"),
        (
            "build_task",
            "object()",
            "returned an object, which lacks columns, initial, parse, evaluate; expected Task",
        ),
        ("build_prompts", "3", r"returned an int \(3\), which lacks sha256, example, messages, read; expected Prompts"),
    ],
)
def test_what_does_not_is_one_line_that_names_the_function(
    write: Write, function: str, returned: str, expected: str
) -> None:
    name = write(f"{WHOLE}\ndef {function}(*arguments): return {returned}\n")
    with pytest.raises(ContractError, match=rf"^{name}\.domain\.{function} {expected}"):
        call(import_domain(name), function)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("columns = None", r"returned a task whose columns are None; expected a dictionary from names to types"),
        ("columns = {'n': list}", r"returned a task whose columns are a dict \({'n': <class 'list'>}\); expected"),
        ("columns = ['n']", r"returned a task whose columns are a list \(\['n'\]\); expected a dictionary from names"),
        ("batch_size = 0", r"returned a task whose batch_size is an int \(0\); expected an int of at least 1"),
    ],
)
def test_the_facts_of_a_task_are_checked_with_it(write: Write, line: str, expected: str) -> None:
    with pytest.raises(ContractError, match=expected):
        call(import_domain(write(f"{WHOLE}    {line}\n")), "build_task")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_a_function_raises_is_one_line_with_its_place(write: Write, function: str) -> None:
    name = write(f"{WHOLE}\ndef {function}(*arguments):\n    return 1 / 0\n")
    line = WHOLE.count("\n") + 3
    expected = rf"\.{function} raised ZeroDivisionError: division by zero \(.*{name}/domain\.py, line {line}\)"
    with pytest.raises(ServiceError, match=expected):
        call(import_domain(name), function)


def test_an_error_of_the_import_has_its_line(write: Write) -> None:
    name = write("x = 1\ny = z\n")
    with pytest.raises(InputError, match=rf"\(NameError: name 'z' is not defined, .*{name}/domain\.py, line 2\)"):
        import_domain(name)


def test_a_syntax_error_has_its_line_once(write: Write) -> None:
    with pytest.raises(InputError, match=r"\(SyntaxError: expected ':' \(domain\.py, line 1\)\); name a package"):
        import_domain(write("def f()\n"))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("settings = dict", "the settings must be a dataclass with one field for each key of task.*, got a type"),
        ("settings = 3", "the settings must be a dataclass"),
        ("@dataclass\nclass settings:\n    name: str = ''", "the settings have the field name, but task.name is Evo"),
        ("@dataclass\nclass settings:\n    s: set[int] | None = None", r"cannot be read from YAML \(Unexpected type"),
        (
            "@dataclass\nclass settings:\n    n: int = 'x'",
            r"cannot be read from YAML \(Value 'x' of type 'str' could not",
        ),
    ],
)
def test_settings_that_cannot_hold_the_keys_are_refused(write: Write, code: str, expected: str) -> None:
    with pytest.raises(InputError, match=f"^task.domain=domain_of_mine_.*: .*{expected}"):
        import_domain(write(f"{WHOLE}\n{code}\n"))


def test_settings_may_be_frozen(write: Write) -> None:
    domain = import_domain(write(f"{WHOLE}\n@dataclass(frozen=True)\nclass settings:\n    length: int = 3\n"))
    settings, violations = read_settings(domain, {"name": "mine", "length": 5})
    assert (settings.length, violations) == (5, [])


def test_keys_that_the_settings_lack_are_reported(write: Write) -> None:
    _, violations = read_settings(import_domain(write(WHOLE)), {"lenght": 5})
    assert violations == ["task.lenght is unknown; did you mean task.length?"]


def test_what_the_settings_raise_is_reported_with_its_place(write: Write) -> None:
    code = (
        "@dataclass\nclass settings:\n    n: int = 3\n    def __post_init__(self):\n        raise ValueError('odd')\n"
    )
    domain = import_domain(write(f"{WHOLE}\n{code}"))
    with pytest.raises(ServiceError, match=r"\.domain\.settings raised ValueError: odd \(.*domain\.py, line \d+\)"):
        read_settings(domain, {})


def test_prompts_are_offered_where_the_module_has_them(write: Write) -> None:
    assert isinstance(import_domain(write(WHOLE)), Prompted)
    assert not isinstance(import_domain(write(WHOLE.replace("build_prompts", "build_nothing"))), Prompted)


BEST = """import numpy as np


def best(contenders, method, rng):
    return np.argsort(-contenders.scores, kind="stable")[: method.capacity]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def write_rule(folder: Path, name: str, code: str) -> Path:
    path = folder / f"{name}.py"
    path.write_text(code)
    return path


def test_a_rule_of_a_users_own_does_what_one_of_ours_does(folder: Path) -> None:
    sha256 = hashlib.sha256(write_rule(folder, "my_survivors", BEST).read_bytes()).hexdigest()
    own = run_toy(folder / "own", "method.survivors.rule=my_survivors.best", "budget.oracle_calls=80")
    ours = run_toy(folder / "ours", "method.survivors.rule=append", "budget.oracle_calls=80")
    assert log(own) == log(ours)
    assert json.loads((own / "run.json").read_text())["sources"]["rule/my_survivors"] == sha256


def test_weights_and_exchanges_may_be_own_too(folder: Path) -> None:
    code = "from evodiverse.search.exchange import exchange_rules\nfrom evodiverse.search.weights import weights\n"
    code += "\n\ndef swap(pools, event):\n    return exchange_rules['ring'](pools, event)\n"
    code += "\n\ndef weigh(scores, beta):\n    return weights['rank'](scores, beta)\n"
    write_rule(folder, "my_others", code)
    keys = ("method.swap.rule", "method.mating_pool.weight", "method.survivors.weight")
    of_own, of_ours = ("my_others.swap", "my_others.weigh", "my_others.weigh"), ("ring", "rank", "rank")
    runs = [
        run_toy(folder / rules[0], *(f"{key}={rule}" for key, rule in zip(keys, rules, strict=True)), "seed=3")
        for rules in (of_own, of_ours)
    ]
    assert log(runs[0]) == log(runs[1])


@pytest.mark.parametrize(
    ("key", "body", "error", "expected"),
    [
        (
            "method.survivors.rule",
            "return [0, 0]",
            ContractError,
            r"wrong0\.rule returned a list \(\[0, 0\]\); expected",
        ),
        ("method.survivors.rule", "return contenders.scores > 0", ContractError, "different integers below"),
        ("method.survivors.weight", "return contenders * float('nan')", ContractError, "the logarithms of the weights"),
        ("method.swap.rule", "return contenders", ContractError, "Exchanged with 2 sorted pools"),
        ("method.swap.rule", "return 1 / 0", Exception, r"wrong4\.rule raised .*division by zero.*line 2"),
        ("method.survivors.weight", "return contenders + float('inf')", ContractError, "the logarithms of the weights"),
    ],
)
def test_what_a_rule_returns_is_checked(
    folder: Path, request: pytest.FixtureRequest, key: str, body: str, error: type[Exception], expected: str
) -> None:
    name = f"wrong{request.node.callspec.indices['key']}"
    write_rule(folder, name, f"def rule(contenders, *others):\n    {body}\n")
    with pytest.raises(error, match=expected):
        run_toy(folder / "runs", f"{key}={name}.rule", "budget.oracle_calls=200")


def test_a_rule_may_leave_pools_empty(folder: Path) -> None:
    code = "from evodiverse.search.exchange import Exchanged\n\n\ndef keep(contenders, method, rng):\n"
    code += "    return [] if contenders.rung else [0]\n"
    code += "\n\ndef swap(pools, event):\n    return Exchanged(([], *pools[1:]))\n"
    write_rule(folder, "my_empty", code)
    run_toy(folder / "kept", "method.survivors.rule=my_empty.keep", "budget.oracle_calls=60")
    run_toy(folder / "swapped", "method.swap.rule=my_empty.swap", "budget.oracle_calls=60")


def test_a_rule_that_is_not_there_is_told_before_the_run() -> None:
    with pytest.raises(
        InputError, match=re.escape("method.swap.rule=no_such.rule cannot be used (ModuleNotFoundError")
    ):
        plan("task=jnk3", "method.swap.rule=no_such.rule")
    with pytest.raises(InputError, match=r"method\.swap\.rule=metropolos is unknown; did you mean metropolis"):
        plan("task=jnk3", "method.swap.rule=metropolos")
