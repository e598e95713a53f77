"""A real small model, served on this machine."""

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from evodiverse.data.cache import artifact_path
from evodiverse.kit.apart import Apart
from evodiverse.llm.clients.local import serve
from tests.runs import FROM_ROOT, evodiverse, rows


def post(address: str, key: str) -> dict[str, object]:
    body = json.dumps({"messages": [{"role": "user", "content": "Say hello"}], "max_tokens": 8}).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    asked = urllib.request.Request(f"{address}/chat/completions", body, headers)  # noqa: S310
    with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310
        return json.load(answer)


@pytest.mark.slow
@pytest.mark.weekly
def test_the_server_answers_only_with_its_key_and_on_the_loopback_interface_and_ends() -> None:
    with closing(Apart(None)) as process:
        address = process.call(serve, artifact_path("smollm2"), 2, 8192, "the key")
        assert address.startswith("http://127.0.0.1:")
        assert post(address, "the key")["usage"]["completion_tokens"] > 0
        with pytest.raises(urllib.error.HTTPError, match="401"):
            post(address, "another key")
    with pytest.raises(urllib.error.URLError, match="refused"):
        post(address, "the key")


@pytest.mark.slow
@pytest.mark.weekly
@pytest.mark.timeout(1500)
def test_a_small_model_runs_a_search_to_its_end_and_every_outcome_is_logged(tmp_path: Path) -> None:
    asked = ["task=jnk3", "method=pt", "llm=local", "method.offspring=2", "budget.llm_calls=8", "search.patience=2"]
    asked += [f"llm.pools.{pool}.max_tokens=256" for pool in ("cold", "hot")]  # a fraction of the task's own
    command = [sys.executable, "-X", "importtime", "-m", "evodiverse", *asked, f"llm.cache={tmp_path / 'cache'}"]
    patient = FROM_ROOT | {"OMP_WAIT_POLICY": "passive"}  # its threads do not spin, which would slow other tests down
    done = subprocess.run(command, cwd=tmp_path, env=patient, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert {"evodiverse.llm.chat", "litellm"} & loaded == {"evodiverse.llm.chat"}
    run = next(tmp_path.rglob("run.json"))
    assert json.loads(run.read_text())["stopped_by"] in {"llm_calls", "patience"}
    calls = rows(run.parent, "llm_calls")
    assert 0 < len(calls) <= 8
    assert {call["outcome"] for call in calls} <= {"parsed", "no_answer", "invalid", "error"}
    assert all(call["prompt_tokens"] > 100 and call["cost_usd"] == 0 for call in calls)
    assert {call["model"] for call in calls} == {"local/SmolLM2-135M-Instruct.Q4_1@b179c952"}


@pytest.mark.slow
def test_a_run_with_a_file_that_is_not_a_model_ends_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_text("no model")
    failed = evodiverse("budget=smoke", "llm=local", "llm.local.gguf=model.gguf", "llm.cache=cache", cwd=tmp_path)
    assert failed.returncode == 1
    assert re.search(r"cannot serve .*model\.gguf \(.*\); check that it is a complete GGUF file", failed.stderr)
    assert len(failed.stderr.splitlines()) == 1
