"""The missing runs of a figure, and the commands that make them."""

import pytest
from omegaconf import OmegaConf

from evodiverse.results.figures.catalog import FIGURES, find_lacks
from evodiverse.results.figures.reading import FigureKind, Wanted
from tests.results.tables.results import equation, result
from tests.runs import CONF

PACKINGS = Wanted(("algo_main", "algo_classical"), ("circle_packing",), ("ea", "pt"), ("DeepSeek-V3.2",))
PHYSICS = Wanted(("eq_main", "eq_builtin"), ("equation",), ("pt",), ("GPT-5",), ("physics",), ("operon",))


def test_what_has_no_run_is_named_with_one_command_for_the_papers_model_and_one_without_a_model() -> None:
    papers, off = find_lacks(PACKINGS, [result({}, "circle_packing", "pt")])
    assert (papers.of, papers.what) == ("DeepSeek-V3.2", "ea on circle_packing, pt on circle_packing")
    assert papers.command == "evodiverse -m +experiment=algo_main method=ea,pt llm=deepseek_v32"
    assert (off.of, off.what) == ("off", "ea on circle_packing")
    assert off.command == "evodiverse -m +experiment=algo_classical method=ea"


def test_a_run_that_differs_from_the_defaults_fills_nothing() -> None:
    changed = result({}, "circle_packing", "pt", overrides={"budget.oracle_calls": 40})
    _, off = find_lacks(PACKINGS, [changed])
    assert off.what == "ea on circle_packing, pt on circle_packing"


def test_a_figure_with_all_its_runs_needs_nothing() -> None:
    wanted = Wanted(("algo_main", "algo_classical"), ("circle_packing",), ("pt",), ("off",))
    assert find_lacks(wanted, [result({}, "circle_packing", "pt")]) == []


def test_a_task_is_named_where_another_has_its_runs() -> None:
    wanted = Wanted(("mol_main", "mol_classical"), ("jnk3", "gsk3b"), ("pt",), ("off",))
    (off,) = find_lacks(wanted, [result({}, "jnk3", "pt")])
    assert off.command == "evodiverse -m +experiment=mol_classical task=gsk3b method=pt"


def test_equations_of_the_paper_are_fitted_as_the_paper_does_and_engines_have_their_own_command() -> None:
    papers, off, operon = find_lacks(PHYSICS, [])
    assert papers.command == "evodiverse -m +experiment=eq_main method=pt llm=gpt5"
    assert off.command == "evodiverse -m +experiment=eq_builtin method=pt"
    assert operon.command.startswith("evodiverse-baseline --engine operon task.problem=builtin/oscillator1,")
    assert operon.command.endswith(" seed=0,1,2 --seconds 60")


def test_an_engine_with_runs_is_not_missing() -> None:
    run = equation({}, "builtin/oscillator1", "operon", task__fit="own")
    assert [lack.of for lack in find_lacks(PHYSICS, [run])] == ["GPT-5", "off"]


@pytest.mark.parametrize("kind", [kind for kind in FIGURES if kind.wanted is not None], ids=lambda kind: kind.name)
def test_every_experiment_that_is_named_exists_and_has_the_methods(kind: FigureKind) -> None:
    assert kind.wanted is not None
    for lack in find_lacks(kind.wanted, []):
        if lack.of in kind.wanted.engines:
            continue
        words = dict(word.lstrip("+").split("=") for word in lack.command.split() if "=" in word)
        file = OmegaConf.load(CONF / "experiment" / f"{words['experiment']}.yaml")
        assert {*words["method"].split(",")} <= {*str(file.hydra.sweeper.params.method).split(",")}
