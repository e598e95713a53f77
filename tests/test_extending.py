"""The domain of docs/extending.md runs as it stands there."""

import re
from pathlib import Path

from tests.runs import FROM_ROOT, ROOT, evodiverse, rows

FILES = {
    "# What the methods take": "myconf/task/defaults/mydomain.yaml",
    "# My task": "myconf/task/mytask.yaml",
    "# mydomain/domain.py": "mydomain/domain.py",
}


def test_the_domain_of_the_manual_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```\w+\n(.*?)```", (ROOT / "docs" / "extending.md").read_text(), re.DOTALL)
    for beginning, name in FILES.items():
        (content,) = [block for block in blocks if block.startswith(beginning)]
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    options = ["--config-dir", "myconf", "task=mytask", "task.length=9", "budget.oracle_calls=60"]
    done = evodiverse(*options, "evaluator.workers=1", cwd=tmp_path, env=FROM_ROOT)
    assert done.returncode == 0, done.stderr
    (record,) = tmp_path.rglob("run.json")
    vowels = [row["n_vowels"] for row in rows(record.parent, "evaluations") if row["call"]]
    assert len(vowels) == 60
    assert any(vowels)
