"""A command line that Hydra refuses is answered with one line for each thing that is wrong."""

import pytest
from hydra import compose, initialize_config_dir

from evodiverse.settings.build import plan_run
from evodiverse.settings.command_line import explain
from evodiverse.settings.compose import COMPOSITION_ERRORS, find_conf
from evodiverse.settings.schema import register


def refuse(*arguments: str) -> tuple[str, ...]:
    """Return what a user is told about a command line that does not compose."""
    register()
    overrides = [argument for argument in arguments if not argument.startswith("-")]
    try:
        with initialize_config_dir(config_dir=str(find_conf()), version_base="1.3"):
            compose("config", overrides=overrides)
    except COMPOSITION_ERRORS as error:
        return explain(error, arguments, plan_run).violations
    pytest.fail("Hydra composed it")


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("sed=1", "sed is unknown; did you mean seed?"),
        ("methd=pt", "methd is unknown; did you mean method?"),
        ("method.swap.perid=3", "method.swap.perid is unknown; did you mean method.swap.period?"),
        ("period=3", "period is unknown; did you mean method.swap.period?"),
        ("xyzzy=3", "xyzzy is unknown; evodiverse --cfg job prints all keys"),
        ("task.foo=1", "task.foo is unknown; evodiverse --cfg job prints all keys"),
        ("task.mutation=1", "task.mutation is unknown; did you mean task.mutation_rate?"),
        ("method=ptt", "method=ptt is unknown; did you mean pt?"),
        ("llm=gpt", "llm=gpt is unknown; expected one of off"),
        ("task=kinase", "task=kinase is unknown; expected one of gsk3b, jnk3"),
        ("experiment=mol_graphga", "experiment=mol_graphga is written with a plus: +experiment=mol_graphga"),
        ("+experiment=mol_graphgaa", "experiment=mol_graphgaa is unknown; did you mean mol_graphga?"),
        ("seed=abc", "seed must be an integer, got abc"),
        ("+task=gsk3b", "+task=gsk3b is written without the plus: task=gsk3b"),
        ("method.ladder=null", "method.ladder must be something else than null, got null"),
        ("method.ladder=3", "method.ladder must be a list, got 3"),
        ('method.ladder=["a"]', 'method.ladder[0] must be a number, got ["a"]'),
        ("method.swap=3", "method.swap must be a group of keys, got 3"),
        ("seed=1.5", "seed must be an integer, got 1.5"),
        ("overwrite=maybe", "overwrite must be true or false, got maybe"),
        ("method.swap.xi=big", "method.swap.xi must be a number, got big"),
    ],
)
def test_one_mistake_gives_one_line(override: str, expected: str) -> None:
    assert refuse(override) == (expected,)


def test_an_override_that_cannot_be_read_is_quoted_back() -> None:
    (line,) = refuse("method.ladder=[0.8")
    assert line.startswith("method.ladder=[0.8 cannot be read")
    assert line.endswith("write key=value, in quotes if it holds brackets")


def test_all_mistakes_are_told_at_once() -> None:
    lines = refuse("method=ptt", "seed=abc", "sed=1", "budget=smoke", "method.swap.period=2")
    assert lines == (
        "method=ptt is unknown; did you mean pt?",
        "seed must be an integer, got abc",
        "sed is unknown; did you mean seed?",
    )


def test_every_value_of_a_sweep_is_looked_at() -> None:
    assert refuse("-m", "method=pt,ptt", "seed=0,x") == (
        "method=ptt is unknown; did you mean pt?",
        "seed must be an integer, got x",
    )


def test_a_sweep_without_the_flag_is_told_as_hydra_tells_it() -> None:
    (line,) = refuse("seed=0,1")
    assert line.startswith("Ambiguous value for argument 'seed=0,1'")
