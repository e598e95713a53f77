"""A run whose every text is an attempt to get a script into its report."""

from pathlib import Path
from typing import Any

from evodiverse.runlog.datasets import DATASETS
from tests.results.builders import write_parts, write_record

PLANTED = "</pre></script><script>window.planted=1</script><img src=x onerror=window.planted=1>"


def write_planted(path: Path, status: str = "failed") -> Path:
    """Write a run of three molecules, the best of which has a script for a name."""
    settings = {f"task.note{PLANTED}": PLANTED, "task.other": "javascript:alert(1)"}
    settings |= {f"task.objective.components.{name}.kind": "qed" for name in ("likeness", PLANTED)}
    write_record(path, status, settings)
    record = path / "run.json"
    planted = PLANTED.replace('"', '\\"')
    record.write_text(record.read_text().replace('"status"', f'"error": "{planted}", "status"', 1))
    (path / ".hydra").mkdir()
    (path / ".hydra" / "overrides.yaml").write_text(f"- 'task.note={PLANTED}'\n")
    evaluations = [
        _row(1, 0, "CCO", 0.1),
        _row(2, 1, "CCN", 0.2, parents=[1], likeness_raw=0.40625),
        _row(3, 2, f"c1ccccc1{PLANTED} {PLANTED}", 0.3, parents=[2, 1], operator=PLANTED, llm_call=1),
        {"iteration": 2, "pool": 0, "outcome": "rejected", "genotype": PLANTED, "error": f"unparsable: {PLANTED}"},
    ]
    said = {"llm_call": 1, "iteration": 2, "pool": 0, "model": PLANTED, "prompt_tokens": 7, "completion_tokens": 3}
    said |= {"cost_usd": 0.25, "cached": False, "outcome": "parsed", "prompt": PLANTED, "reply": f"{PLANTED} reply"}
    pools = [
        {"iteration": at, "pool": pool, "beta": 0.8 - 0.6 * pool, "members": [at + 1]}
        for at in range(3)
        for pool in range(2)
    ]
    empty: dict[str, list[dict[str, Any]]] = {name: [] for name in DATASETS}
    for name, rows in (empty | {"evaluations": evaluations, "llm_calls": [said], "populations": pools}).items():
        write_parts(path, name, [rows])
    return path


def _row(call: int, iteration: int, genotype: str, score: float, **other: object) -> dict[str, object]:
    row = {"iteration": iteration, "pool": 0, "outcome": "evaluated", "call": call, "genotype": genotype}
    return {**row, "key": genotype, "score": score, "valid": True, "operator": "graph_ga", "parents": [], **other}
