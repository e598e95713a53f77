"""The same seed gives the same log: on any number of workers, with any hash seed, through any stop and resume."""

import os
from pathlib import Path

import pytest

from evodiverse.errors import Interrupted
from tests.runs import ROOT, TOY_CONF, evodiverse, log, run_toy, stop_after

pytestmark = pytest.mark.slow

LADDER = "method.ladder=[0.9,0.6,0.3,0.1]"
VARIANTS = [
    ["method=pt"],
    ["method=pt3", "method.swap.schedule=even_odd_random", LADDER, "method.swap.window=2"],
    ["method=island", "task.shared=true"],
    ["method=random_swap", "method.survivors.rule=append"],
    ["method=pt_niche"],
    ["method=dominated_novelty", "search.features={n_ones: [0, 24]}"],
    ["method=nsga2", "task.pareto=[score,24-n_ones]"],
    ["method=diverse"],
]


@pytest.mark.parametrize(("n_workers", "method"), [(2, "pt"), (8, "pt"), (2, "diverse")])
def test_any_number_of_workers_gives_the_same_log(tmp_path: Path, n_workers: int, method: str) -> None:
    alone = run_toy(tmp_path / "alone", "seed=3", f"method={method}")
    together = run_toy(tmp_path / "together", "seed=3", f"method={method}", f"evaluator.workers={n_workers}")
    assert log(together) == log(alone)


def test_any_hash_seed_gives_the_same_log(tmp_path: Path) -> None:
    logs = []
    for hash_seed in ("0", "4711"):
        outputs = tmp_path / hash_seed
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        arguments = ["--config-dir", str(TOY_CONF), "task=bits", f"outputs={outputs}", "evaluator.workers=1"]
        assert evodiverse(*arguments, cwd=tmp_path, env=environment).returncode == 0
        logs.append(log(outputs / "bits/pt/off/default/seed0"))
    assert logs[0] == logs[1]


def test_another_seed_gives_another_log(tmp_path: Path) -> None:
    assert log(run_toy(tmp_path, "seed=0")) != log(run_toy(tmp_path, "seed=1"))


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant[0])
def test_a_run_resumed_after_k_iterations_has_the_log_of_an_uninterrupted_run(
    tmp_path: Path, variant: list[str]
) -> None:
    whole = log(run_toy(tmp_path / "whole", *variant))
    for k in (1, 6):
        with pytest.raises(Interrupted):
            run_toy(tmp_path / f"{k}", *variant, display=stop_after(k))
        assert log(run_toy(tmp_path / f"{k}", *variant)) == whole, k


def test_a_run_stopped_at_every_iteration_gives_the_same_log(tmp_path: Path) -> None:
    whole = run_toy(tmp_path / "whole")
    for _ in range(6):
        with pytest.raises(Interrupted):
            run_toy(tmp_path / "parts", display=stop_after(1))
    assert log(run_toy(tmp_path / "parts")) == log(whole)


def test_early_stop_continues_to_count_after_a_resume(tmp_path: Path) -> None:
    variant = ["search.early_stop.patience=3", "search.early_stop.gain=0.02", "budget.oracle_calls=2000"]
    whole = run_toy(tmp_path / "whole", *variant)
    for _ in range(2):
        with pytest.raises(Interrupted):
            run_toy(tmp_path / "parts", *variant, display=stop_after(2))
    assert log(run_toy(tmp_path / "parts", *variant)) == log(whole)
