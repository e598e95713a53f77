"""Whole runs in tests: composed and run in this process, or started as a user would."""

import functools
import math
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hydra.types import RunMode
from omegaconf import OmegaConf

from evodiverse.errors import Interrupted
from evodiverse.ports import Snapshot
from evodiverse.runner.display import NoDisplay
from evodiverse.settings.assembly import run
from evodiverse.settings.compose import hydra_session
from evodiverse.settings.plan import Plan, plan_run
from evodiverse.settings.schema import register
from evodiverse.settings.sweep import Composer
from tests import starts
from tests.starts import ROOT

FROM_ROOT = {**os.environ, "PYTHONPATH": str(ROOT)}
CONF = ROOT / "conf"
TOY_CONF = ROOT / "tests" / "toys" / "conf"
DATASETS = ("evaluations", "populations", "swaps", "migrations", "adaptation", "screened", "llm_calls", "choices")
# Columns that may differ between two runs with the same log (DESIGN.md).
NOT_COMPARED = {"seconds", "cached", "cost_usd", "retries"}
SORT_KEYS = {
    "evaluations": ["iteration", "slot", "pool", "attempt"],
    "populations": ["iteration", "pool"],
    "screened": ["iteration", "slot", "pool", "attempt"],
    "migrations": ["iteration", "from_pool", "call"],
    "adaptation": ["iteration", "cold_pool"],
    "swaps": ["iteration", "cold_pool"],  # and the order settled
    "llm_calls": ["llm_call"],
    "choices": ["iteration", "model"],
}


class Silent(NoDisplay):
    """A display that shows nothing; ``after`` is called with the number of commits so far."""

    def __init__(self, after: Callable[[int], None] = lambda commits: None) -> None:
        self.commits = 0
        self.snapshots: list[Snapshot] = []
        self._iteration: int | None = None
        self._after = after

    def update(self, snapshot: Callable[[], Snapshot]) -> None:
        now = snapshot()
        if now.pools and self._iteration is not None and now.iteration > self._iteration:
            self.commits += 1
            self._after(self.commits)
        self._iteration = now.iteration if now.pools else -1

    def finish(self, snapshot: Snapshot) -> None:
        self.snapshots.append(snapshot)


def stop_after(commits: int) -> Silent:
    """Return a display under which a run is interrupted once it has committed so often."""

    def interrupt(done: int) -> None:
        if done == commits:
            raise Interrupted(signal.SIGINT)

    return Silent(interrupt)


def write_at_once(patch: pytest.MonkeyPatch) -> None:
    """Let every iteration be written when it is committed, however long that takes."""
    patch.setattr("evodiverse.store.run_directory.WRITE_SHARE", math.inf)


def plan(*overrides: str, instead: Mapping[str, Any] | None = None) -> Plan:
    """Compose as `evodiverse OVERRIDES` does, with the toy task among the options, and check the configuration.

    Args:
        overrides: What the command line says.
        instead: Values that take the place of those it composes to, which spares another composition.
    """
    folder = [override.partition("=")[2] for override in overrides if override.startswith("outputs=/")]
    config, hydra = _composer().compose([override for override in overrides if not override.startswith("outputs=/")])
    config.outputs = folder[-1] if folder else config.outputs
    for key, value in (instead or {}).items():
        OmegaConf.update(config, key, value)
    return plan_run(config, hydra)


@functools.cache
def _composer() -> Composer:
    """Return the composer of all plans of a session: Hydra composes each choice of options once."""
    register()
    with hydra_session(None) as hydra:
        searchpath = f"hydra.searchpath=[file://{TOY_CONF}]"
        return Composer(hydra.config_loader, hydra.compose_config("config", [searchpath], RunMode.RUN))


def run_here(*overrides: str, display: Silent | None = None) -> Path:
    """Run in this process and return the run directory."""
    planned = plan(*overrides)
    run(planned, display or Silent(), lambda line: None, lambda folder: folder.mkdir(exist_ok=True))
    return planned.path


def run_toy(outputs: Path, *overrides: str, display: Silent | None = None) -> Path:
    """Run the toy task in this process, on one worker unless told otherwise."""
    defaults = ["task=bits", f"outputs={outputs}", "evaluator.workers=1"]
    return run_here(*defaults, *overrides, display=display)


def evodiverse(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return starts.run("-m", "evodiverse", *arguments, cwd=cwd, env=env)


def rows(run: Path, dataset: str) -> list[dict[str, Any]]:
    """Return all rows of a dataset in the order committed."""
    return [row for part in sorted((run / dataset).glob("part-*.parquet")) for row in pq.read_table(part).to_pylist()]


def log(run: Path) -> dict[str, list[dict[str, Any]]]:
    """Return what must be the same in two runs with the same log."""
    found = {}
    for dataset in DATASETS:
        kept = [
            {name: row[name] for name in row if name not in NOT_COMPARED and not name.startswith("seconds_")}
            for row in rows(run, dataset)
        ]
        found[dataset] = sorted(kept, key=lambda row: [row[key] or 0 for key in SORT_KEYS[dataset]])
    return found


def stopped_after(commits: int, outputs: Path) -> Path:
    """Interrupt a run after so many commits, each of which is written, and return the folder of its outputs."""
    with pytest.MonkeyPatch.context() as patch:
        write_at_once(patch)
        with pytest.raises(Interrupted):
            run_toy(outputs, display=stop_after(commits))
    return outputs
