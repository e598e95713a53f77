"""The rows of the paper are filled by the settings of runs, not by their names."""

import shutil
from pathlib import Path

import pytest

from tests.llm.servers import Answer, Body, ModelServer, serving
from tests.runs import CONF, FROM_ROOT, ROOT, evodiverse
from tests.starts import run

KEY = {**FROM_ROOT, "OPENAI_API_KEY": "sk-toy-key-for-tests"}
V32 = "deepseek-ai/DeepSeek-V3.2"


def answer_alkane(body: Body, number: int) -> Answer:
    """Propose a molecule that is not better than any ZINC molecule, so that the early stop ends a run soon."""
    return Answer(f"<box>{'C' * (number % 40 + 1)}O{'C' * (number // 40 + 1)}</box>")


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """Return a folder with runs of MOLLEO on JNK3: replayed DeepSeek-V3.2, deepseek-flash, and another oracle."""
    cache = f"llm.cache={tmp_path / 'cache'}"
    conf = tmp_path / "conf"
    shutil.copytree(CONF, conf)
    jnk3 = conf / "task" / "jnk3.yaml"
    jnk3.write_text(jnk3.read_text().replace("published: jnk3", "published: gsk3b"))
    with serving(ModelServer(answer_alkane)) as server:
        asked = ["task=jnk3", "method=molleo", cache, f"llm.api_base={server.url}", "display=none"]
        for arguments in (
            [f"llm.model={V32}", "outputs=recorded"],
            ["llm.model=deepseek-flash"],
            [f"llm.model={V32}", "seed=1", "-cp", str(conf)],
        ):
            made = evodiverse(*asked, "llm=openai_compatible", *arguments, cwd=tmp_path, env=KEY)
            assert made.returncode == 0, made.stderr
    replayed = evodiverse(
        "task=jnk3", "method=molleo", "llm=replay", f"llm.model={V32}", cache, cwd=tmp_path, env=FROM_ROOT
    )
    assert replayed.returncode == 0, replayed.stderr
    written = run(str(ROOT / "scripts" / "tables.py"), "outputs", cwd=tmp_path, env=FROM_ROOT)
    assert written.returncode == 0, written.stderr
    return tmp_path / "outputs"


def rows_of(outputs: Path, table: str) -> dict[tuple[str, ...], list[str]]:
    """Return the cells of a table as Markdown, by target and method."""
    lines = (outputs / "tables" / f"{table}.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]
    return {tuple(row[:2]): row[2:] for row in cells[2:]}


@pytest.mark.slow
@pytest.mark.weekly
@pytest.mark.timeout(400)
def test_a_row_is_filled_by_the_settings_of_runs_and_not_by_their_names(outputs: Path) -> None:
    papers = rows_of(outputs, "mol_llm")
    assert papers["JNK3", "MOLLEO"][0].endswith("(1)"), "the replayed run of DeepSeek-V3.2 fills its row, alone"
    assert papers["JNK3", "MOLLEO"][1] == "0.58 ± 0.05"
    assert {row[0] for about, row in papers.items() if about != ("JNK3", "MOLLEO")} == {"—"}
    assert rows_of(outputs, "mol_llm_deepseek-flash")["JNK3", "MOLLEO"][0].endswith("(1)")
    found = rows_of(outputs, "molecules")
    assert found["jnk3 (task.oracle.published=gsk3b)", "molleo"][:2] == ["DeepSeek-V3.2", "default"]
