"""The data and code that a run depends on, and how many requests are under way."""

from pathlib import Path

import pytest

from evodiverse.errors import InputError
from tests.runs import plan


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with an oracle and two programs that score."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_oracle.py").write_text("import own_helper\ndef score(smiles):\n    return [0.5] * len(smiles)\n")
    for name in ("own_helper.py", "absolute", "relative", "rate.py"):
        (tmp_path / name).write_text("import own_helper\n" if name == "rate.py" else "")
    (tmp_path / "script").write_text("#!/bin/sh\n")
    return tmp_path


def digests(**changed: object) -> dict[str, str | None]:
    instead = {key.replace("__", "."): value for key, value in changed.items()}
    sources = plan("task=jnk3", instead=instead).find_sources(lambda name: name)
    return {role: source.sha256 for role, source in sources.items()}


def test_what_an_oracle_imports_counts_by_content(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evodiverse.settings.plan._IMPORTED", {})
    oracle = {"task__oracle": {"_target_": "own_oracle.score", "published": None}}
    before = digests(**oracle)
    assert {*before} == {"oracle", "code/oracle/own_helper.py", "initial"}
    (folder / "own_helper.py").write_text("W = 2\n")
    with pytest.raises(InputError, match=r"own_helper\.py has changed since it was imported; restart the command"):
        digests(**oracle)
    monkeypatch.setattr("evodiverse.settings.plan._IMPORTED", {})  # as in another process
    after = digests(**oracle)
    assert {role for role in before if before[role] != after[role]} == {"code/oracle/own_helper.py"}


def test_the_program_of_an_evaluator_counts_unless_it_is_an_interpreter(folder: Path) -> None:
    def find(program: str) -> dict[str, str | None]:
        return digests(evaluator__name="command", evaluator__command=[program, "rate.py"])

    found = [find(program) for program in ("./relative", f"{folder}/script", f"{folder}/absolute")]
    assert ["evaluator/program" in some for some in found] == [True, True, False]
    assert all({"evaluator/0", "code/evaluator/0/own_helper.py"} <= {*some} for some in found)
    (folder / "own_helper.py").write_text("W = 2\n")
    assert find("./relative") != found[0]


@pytest.mark.parametrize(
    ("words", "n"),
    [
        ([], 6),
        (["method.offspring=4"], 8),
        (["search.lag=2"], 18),
        (["method.offspring=20"], 25),
        (["method=diverse", "method.screen.proposals=12", "search.lag=1"], 24),
        (["method.offspring=20", "llm.batch=true"], 40),
    ],
)
def test_the_requests_under_way_are_those_of_the_iterations_that_have_begun(words: list[str], n: int) -> None:
    model = ["llm=openai_compatible", "llm.model=m", "llm.api_base=http://127.0.0.1:9/v1", "llm.concurrency=25"]
    planned = plan("task=bits", "method.offspring=3", *model, *words)
    assert planned.n_under_way == n
    assert f"\nwith up to {n} under way at a time,\n" in planned.summary
