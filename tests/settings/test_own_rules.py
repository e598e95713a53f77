"""Rules of a user's own: what they can decide, and what they are told if they cannot be used."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from evodiverse.errors import ContractError, InputError
from tests.runs import log, plan, run_toy

BEST = """import numpy as np


def best(contenders, method, rng):
    return np.argsort(-contenders.scores, kind="stable")[: method.capacity]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def write(folder: Path, name: str, code: str) -> Path:
    path = folder / f"{name}.py"
    path.write_text(code)
    return path


def test_a_rule_of_a_users_own_does_what_one_of_ours_does(folder: Path) -> None:
    sha256 = hashlib.sha256(write(folder, "my_survivors", BEST).read_bytes()).hexdigest()
    own = run_toy(folder / "own", "method.survivors.rule=my_survivors.best", "budget.oracle_calls=80")
    ours = run_toy(folder / "ours", "method.survivors.rule=append", "budget.oracle_calls=80")
    assert log(own) == log(ours)
    assert json.loads((own / "run.json").read_text())["sources"]["rule/my_survivors"] == sha256


def test_weights_and_exchanges_may_be_own_too(folder: Path) -> None:
    code = "from evodiverse.search.exchange import exchange_rules\nfrom evodiverse.search.weights import weights\n"
    code += "\n\ndef swap(pools, event):\n    return exchange_rules['ring'](pools, event)\n"
    code += "\n\ndef weigh(scores, beta):\n    return weights['rank'](scores, beta)\n"
    write(folder, "my_others", code)
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
    ],
)
def test_what_a_rule_returns_is_checked(
    folder: Path, request: pytest.FixtureRequest, key: str, body: str, error: type[Exception], expected: str
) -> None:
    name = f"wrong{request.node.callspec.indices['key']}"
    write(folder, name, f"def rule(contenders, *others):\n    {body}\n")
    with pytest.raises(error, match=expected):
        run_toy(folder / "runs", f"{key}={name}.rule", "budget.oracle_calls=200")


def test_a_rule_that_is_not_there_is_told_before_the_run() -> None:
    with pytest.raises(
        InputError, match=re.escape("method.swap.rule=no_such.rule cannot be used (ModuleNotFoundError")
    ):
        plan("task=jnk3", "method.swap.rule=no_such.rule")
    with pytest.raises(InputError, match=r"method\.swap\.rule=metropolos is unknown; did you mean metropolis"):
        plan("task=jnk3", "method.swap.rule=metropolos")
