"""What a figure lacks, and the commands that make it."""

import pytest

pytest.importorskip("matplotlib", reason="needs matplotlib; pip install 'evodiverse[figures]'")

from evodiverse.figures.missing import find_lacks
from evodiverse.figures.reading import Wanted
from tests.analysis.tables.results import EQUATIONS, equation, result

PACKINGS = Wanted(("circle_packing",), ("ea", "pt"), ("DeepSeek-V3.2",))
PHYSICS = Wanted(("equation",), ("pt",), ("GPT-5",), ("physics",), "bfgs", EQUATIONS, ("operon",))


def test_what_has_no_run_is_named_with_one_command_for_the_papers_model_and_one_without_a_model() -> None:
    papers, off = find_lacks(PACKINGS, [result({}, "circle_packing", "pt")])
    assert (papers.of, papers.what) == ("DeepSeek-V3.2", "ea on circle_packing, pt on circle_packing")
    assert papers.commands == ("evodiverse -m task=circle_packing method=ea,pt llm=deepseek_v32 seed=0,1,2",)
    assert (off.of, off.what) == ("off", "ea on circle_packing")
    assert off.commands == ("evodiverse -m task=circle_packing method=ea llm=off seed=0,1,2",)


def test_a_run_that_differs_from_the_defaults_fills_nothing() -> None:
    changed = result({}, "circle_packing", "pt", overrides={"budget.oracle_calls": 40})
    _, off = find_lacks(PACKINGS, [changed])
    assert off.what == "ea on circle_packing, pt on circle_packing"


def test_a_figure_with_all_its_runs_lacks_nothing() -> None:
    wanted = Wanted(("circle_packing",), ("pt",), ("off",))
    assert find_lacks(wanted, [result({}, "circle_packing", "pt")]) == []


def test_equations_of_the_paper_are_fitted_as_the_paper_does_and_engines_have_their_own_command() -> None:
    papers, off, operon = find_lacks(PHYSICS, [])
    assert " task.fit=bfgs " in papers.commands[0]
    assert "builtin/oscillator1" in papers.commands[0]
    assert "task.fit" not in off.commands[0]
    assert operon.commands[0].startswith("evodiverse-baseline --engine operon task.problem=builtin/oscillator1,")
    assert operon.commands[0].endswith(" seed=0,1,2 --seconds 60")


def test_an_engine_that_has_run_is_no_lack() -> None:
    run = equation({}, "builtin/oscillator1", "operon", task__fit="own")
    assert [lack.of for lack in find_lacks(PHYSICS, [run])] == ["GPT-5", "off"]
