"""Processes that start at the same time share what is created on first use."""

import os
import shutil
from pathlib import Path

import pytest

from evodiverse.data.artifacts import find_artifact
from evodiverse.data.cache import artifact_path
from tests import starts
from tests.runs import FROM_ROOT, log

FETCHED = ("jnk3", "zinc250k")
MOLECULES = ("task=jnk3", "budget.oracle_calls=300", "task.filters={set: medchem, novel: known.smi}")
EQUATIONS = ("task=equation", "task.problem=builtin/oscillator2", "budget.oracle_calls=10")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_four_simultaneous_runs_on_an_empty_cache_do_not_disturb_each_other(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    for name in FETCHED:
        shutil.copy(artifact_path(name), cache / find_artifact(name).file_name)
    known = artifact_path("zinc250k").read_text().splitlines()[:2_000]
    (tmp_path / "known.smi").write_text("\n".join(known))
    started = [
        starts.start(
            *("-m", "evodiverse", *arguments, "evaluator.workers=1", f"outputs={tmp_path}/{number}"),
            cwd=tmp_path,
            env={**FROM_ROOT, "EVODIVERSE_CACHE": str(cache)},
        )
        for number, arguments in enumerate([MOLECULES, EQUATIONS] * 2)
    ]
    told = [process.communicate(timeout=500)[1] for process in started]
    assert [process.wait() for process in started] == [0] * 4, told
    assert [words for text in told for words in ("WARNING", "cannot be") if words in text] == []
    logs = [log(path.parent) for number in range(4) for path in (tmp_path / str(number)).rglob("run.json")]
    assert logs == logs[:2] * 2
    made = {os.path.relpath(path, cache) for path in cache.rglob("*") if path.is_file()}
    assert {path.partition("/")[0] for path in made} > {"known", "jnk3.pkl.npz"}
    assert [path for path in made if "tmp" in path] == []
