import hashlib
import re
from collections import Counter
from functools import cache

import numpy as np
import pytest

from evodiverse.tasks.equations.problems import N_TEST, N_TRAIN, PROBLEMS, Splits


@cache
def data(name: str) -> Splits:
    return PROBLEMS[name].sample()


def test_there_are_eight_of_each_domain() -> None:
    domains = Counter(problem.domain for problem in PROBLEMS.values())
    assert domains == {"physics": 8, "biology": 8, "chemistry": 8, "materials": 8}


def test_the_constants_of_a_law_come_in_its_order() -> None:
    for name, problem in PROBLEMS.items():
        numbers = dict.fromkeys(re.findall(r"params\[(\d+)\]", problem.law))
        assert list(map(int, numbers)) == list(range(len(problem.constants))), name


def test_data_are_finite_and_vary() -> None:
    for name in PROBLEMS:
        splits = data(name)
        assert [len(rows.target) for rows in splits] == [N_TRAIN, N_TEST, N_TEST], name
        for rows in splits:
            assert np.isfinite(rows.inputs).all(), name
            assert np.isfinite(rows.target).all(), name
            assert np.ptp(rows.target) > 1e-3 * np.ptp(splits.train.target), name


def test_what_is_out_of_domain_lies_beyond_what_is_fitted() -> None:
    for name, problem in PROBLEMS.items():
        train, test, beyond = (rows.inputs for rows in data(name))
        is_outside = ((beyond < train.min(axis=0)) | (beyond > train.max(axis=0))).any(axis=1)
        if "t" in [variable.name for variable in problem.variables] or problem.domain not in ("physics", "biology"):
            assert is_outside.mean() > 0.95, name
        assert ((test >= train.min(axis=0)) & (test <= train.max(axis=0))).all(axis=1).mean() > 0.98, name


@pytest.mark.parametrize("name", ["oscillator2", "oscillator5", "oscillator8"])
def test_a_trajectory_solves_its_equation(name: str) -> None:
    """By differences along the trajectory, which the solver knows nothing of."""
    splits = data(name)
    rows = np.concatenate([splits.train.inputs, splits.test_id.inputs])
    targets = np.concatenate([splits.train.target, splits.test_id.target])
    order = np.argsort(rows[:, 0])
    (t, x, v), a = rows[order].T, targets[order]
    assert np.max(np.abs(np.gradient(x, t)[1:-1] - v[1:-1])) < 1e-2
    assert np.max(np.abs(np.gradient(v, t)[1:-1] - a[1:-1])) < 2e-2


def test_the_law_of_oscillator1_by_hand() -> None:
    x, v = 0.3, -0.4
    by_hand = 0.8 * np.sin(x) - 0.5 * v**3 - 0.2 * x**3 - 0.5 * x * v - x * np.cos(x)
    assert PROBLEMS["oscillator1"].evaluate(np.array([[x, v]])) == pytest.approx([by_hand], rel=1e-15)


def test_the_data_are_those_that_were_published() -> None:
    """Six digits, so that another processor's last bits do not count."""
    digest = hashlib.sha256()
    for name in PROBLEMS:
        for rows in data(name):
            for column in (*rows.inputs.T, rows.target):
                digest.update(" ".join(f"{value:.5e}" for value in column[::50]).encode())
    assert digest.hexdigest() == "c156019a6e1bdd9603b8771c1b8319848460d2ec814c8c72e507855fb34af88c"
