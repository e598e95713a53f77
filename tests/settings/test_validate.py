"""Invalid settings are refused before anything is done, all of them at once."""

from pathlib import Path

import pytest

from evodiverse.errors import InputError
from evodiverse.settings.sweep import parse_override
from tests.runs import CONF, plan

GROUPS = {folder.name for folder in CONF.iterdir()}


def plan_bits(*overrides: str) -> None:
    """Plan as ``evodiverse task=bits OVERRIDES`` does, but set plain values after the composition, which is faster."""
    parsed = {text: parse_override(text) for text in overrides}
    plain = {text: one for text, one in parsed.items() if one.key_or_group not in GROUPS and text[0] not in "+~"}
    values = {one.key_or_group: one.value() for one in plain.values()}
    plan("task=bits", *(text for text in overrides if text not in plain), instead=values)


BAD = [
    (["method.ladder=[0.2,0.8]"], "method.ladder must fall from cold to hot, got [0.2, 0.8]; sort it"),
    (
        ["method.ladder=[0.5,0.5]"],
        "method.ladder must have no equal neighbors if method.swap.rule=metropolis, got [0.5, 0.5]",
    ),
    (
        ["method=random_swap", "method.ladder=[0.5,0.5]"],
        "method.ladder must have no equal neighbors if method.swap.rule=random, got [0.5, 0.5]",
    ),
    (
        ["method.ladder=[12,0.2]"],
        "method.ladder: each value must be at most 10 or .inf if a weight is score_power, got [12",
    ),
    (["method.survivors.rule=niche"], "method.survivors.rule=niche needs method.niche, got null; set "),
    (["method=niche_ga", "method.niche.share=[]"], "method.niche.share must hold a number for each rung, got []"),
    (["method=niche_ga", "method.niche.share=[0]"], "method.niche.share: each value must be at least 1, got [0]"),
    (["method=niche_ga", "method.niche.radius=0"], "method.niche.radius must be above 0 and at most 1, got 0.0"),
    (
        ["method=diverse", "method.screen.kappa=[[1,0.01]]"],
        "method.screen.kappa must hold ranges above 0, such as [[0.01,1]], got [[1, 0.01]]",
    ),
    (
        ["method=diverse", "method.screen.batch=[[0,0.5]]"],
        "method.screen.batch must hold pairs of whole numbers, such as [[0,10],[1000,100]], got [[0, 0.5]]",
    ),
    (
        ["method=diverse", "method.screen.batch=[[10,10]]"],
        "method.screen.batch must begin with 0 calls and rise, such as [[0,10],[1000,100]], got [[10, 10]]",
    ),
    (
        ["search.features={ones:[-1e308,1e308]}"],
        "search.features must give columns their lower and upper bounds, such as {length: [0, 10]}, got {'ones'",
    ),
    (["method.ladder=[]"], "method.ladder must name at least one inverse temperature, got []"),
    (["method.ladder=[0.1,-1]"], "method.ladder: each value must be at least 0, got [0.1, -1.0]"),
    (["method.swap.size=11"], "method.swap.size must not exceed method.capacity=10, got 11"),
    (["method.elites=11"], "method.elites must not exceed method.capacity=10, got 11"),
    (
        ["budget.oracle_calls=15"],
        "budget.oracle_calls=15 does not cover the initial population of 16; raise it, or start from fewer candidates",
    ),
    *(
        (
            ["llm=litellm", "llm.model=openai/o3", f"llm.pools.hot.models={models}"],
            "llm.pools.hot.models must hold different models with weights above 0, such as [{model: openai/gpt-5",
        )
        for models in (
            "[]",
            "[openai/o3]",
            "[{model:a/b}]",
            "[{model:a/b,weight:0}]",
            "[{model:a/b,weight:inf}]",
            "[{model:a/b,weight:nan}]",
            "[{model:a/b,weight:true}]",
            "[{model:a/b,weight:1,top_p:1}]",
            "[{model:a/b,weight:1},{model:a/b,weight:2}]",
        )
    ),
    (
        [
            "llm=litellm",
            "llm.pools.cold.model=a/b",
            "llm.pools.hot.model=a/b",
            "llm.pools.hot.models=[{model:c/d,weight:1}]",
        ],
        "llm.pools.hot.model=a/b cannot be used with llm.pools.hot.models; set one of them to null",
    ),
    (
        ["llm=litellm", "llm.pools.hot.models=[{model:c/d,weight:1}]"],
        "llm.model has no value; name the model for llm=litellm",
    ),
    *(
        (
            [*words, "llm.choose=bandit"],
            "llm.choose=bandit needs several models, such as llm.pools.cold.models=[{model: openai/gpt-5, weight: 2}",
        )
        for words in (
            ["llm=local"],
            ["llm=litellm", "llm.model=openai/o3"],
            ["llm=litellm", "llm.model=openai/o3", "llm.pools.hot.models=[{model:a/b,weight:1}]"],
        )
    ),
    (
        ["method.operators={llm:0.7,classical:0.3}"],
        "method.operators needs a model, got llm=off; choose one with llm=…, or unset method.operators",
    ),
    *(
        (
            ["llm=local", f"method.operators={shares}"],
            "method.operators must hold shares above 0, such as {llm: 0.7, classical: 0.3}, got",
        )
        for shares in ("{}", "0.7", "{llm:0.7}", "{llm:1,classical:0}", "{llm:1,classical:nan}", "{llm:1,clasical:1}")
    ),
    (["llm=local", "llm.pools.hot.models=[{model:c/d,weight:1}]"], "llm=local takes no model"),
    (["seed=-1"], "seed must be between 0 and 18446744073709551615, got -1"),
    (["seed=18446744073709551616"], "seed must be between 0 and 18446744073709551615, got 18446744073709551616"),
    (
        ["method=pt_same_prompt"],
        "method=pt_same_prompt needs a model, got llm=off; choose one with llm=… or use method=pt",
    ),
    (["method.swap.rule=metropolys"], "method.swap.rule=metropolys is unknown; did you mean metropolis?"),
    (["method.survivors.rule=sampel"], "method.survivors.rule=sampel is unknown; did you mean sample?"),
    (["method.swap.target=1.2"], "method.swap.target must be between 0 and 1, got 1.2"),
    (["method.swap.xi=0"], "method.swap.xi must be between 0.001 and 1000, got 0.0"),
    (["search.on_failed_start=go"], "search.on_failed_start=go is unknown; expected one of stop, continue"),
    (["evaluator.workers=0"], "evaluator.workers must be at least 1, or null, got 0"),
    (["search.early_stop.patience=0"], "search.early_stop.patience must be at least 1, or null, got 0"),
    (["search.early_stop.gain=nan"], "search.early_stop.gain must be at least 0, got nan"),
    (["task.domain=.foo"], "task.domain=.foo cannot be imported"),
    ([f"outputs={'a' * 300}"], "outputs: "),
    (["task.length=0"], "task.length must be at least 1, got 0"),
    (["outputs="], "outputs must name a folder, got nothing"),
    (["outputs='~nobody-here/x'"], "outputs=~nobody-here/x cannot be used (Could not determine home directory"),
    (["method=pt_same_prompt", "llm.name=mine"], "method=pt_same_prompt needs a model, got llm=off"),
    (["+search.early_stop.tpo=3"], "search.early_stop.tpo is unknown; did you mean search.early_stop.top?"),
    (["task.name=null"], "task.name must be bits, like its file bits.yaml, got None"),
    (["task.name=../up"], "task.name must be bits, like its file bits.yaml, got ../up"),
    (["method.name=ea"], "method.name must be pt, like its file pt.yaml, got ea; an option is named after its file"),
    (["llm=off", "llm.client=litellm", "llm.model=a/b"], "llm=off allows no client, got llm.client=litellm; use llm="),
    (["task.length=long"], "task.length must be an integer, got long"),
    (["+task.lenght=3"], "task.lenght is unknown; did you mean task.length?"),
    (["+method.swap.perod=3"], "method.swap.perod is unknown; did you mean method.swap.period?"),
    (["+bar.baz=3"], "bar.baz is unknown; evodiverse --cfg job prints all keys"),
    (["+sed=3"], "sed is unknown; did you mean seed?"),
    (["task.defaults.capacity=many"], "method.capacity: While dereferencing interpolation"),
    (["~task.defaults.cold"], "undefined references: task.defaults.cold; set these keys in the task's file"),
    (["method.parents=???"], "method.parents has no value; set it"),
]


@pytest.mark.parametrize(
    ("overrides", "expected"), BAD, ids=lambda value: "+".join(value) if isinstance(value, list) else ""
)
def test_a_violation_says_what_is_wrong_and_what_to_do(overrides: list[str], expected: str) -> None:
    with pytest.raises(InputError) as refused:
        plan_bits(*overrides)
    assert [line for line in refused.value.violations if line.startswith(expected)], refused.value.violations


def test_a_wrong_type_does_not_hide_what_else_is_wrong() -> None:
    with pytest.raises(InputError) as refused:
        plan("task=bits", "task.start=many", "task.length=0", "+sed=1", "method.elites=11")
    assert [line.split()[0] for line in refused.value.violations] == ["sed"]
    with pytest.raises(InputError) as refused:
        plan("task=bits", "task.start=many", "task.length=0", "method.elites=11")
    assert [line.split()[0] for line in refused.value.violations] == ["task.start", "task.length", "method.elites"]


@pytest.mark.parametrize("path", ["null", "start.txt"])
def test_a_domain_uses_no_value_beyond_its_bounds(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("start.txt").write_text("params[0]\n")
    values = [f"task.initial.path={path}", "task.max_size=0", "task.data.normalize=foo"]
    with pytest.raises(InputError) as refused:
        plan("task=equation", *values)
    assert [line.split()[0] for line in refused.value.violations] == ["task.max_size", "task.data.normalize=foo"]


def test_all_violations_are_reported_at_once() -> None:
    overrides = ["method.ladder=[0.2,0.8]", "seed=-1", "method.swap.size=99", "budget.oracle_calls=1", "task.length=0"]
    with pytest.raises(InputError) as refused:
        plan_bits(*overrides)
    assert len(refused.value.violations) == 5


@pytest.mark.parametrize(
    "overrides",
    [
        ["method.ladder=[0.5,0.5]", "method.swap.rule=none"],
        ["method=island", "method.ladder=[1,1,1]"],
        ["method=graph_ga"],
        ["method=molleo", "method.ladder=[0]"],
        ["budget.oracle_calls=16"],
        ["task.shared=true", "budget.oracle_calls=8"],
        ["seed=18446744073709551615"],
        ["search.early_stop=null"],
        ["method.swap.size=10", "method.elites=10"],
        ["method.ladder=[inf,0.2]"],
        ["method.ladder=[10,0.2]"],
        ["method.ladder=[12,0.2]", "method.survivors.weight=rank"],
        ["method.ladder=[12,0.2]", "method.survivors.rule=append"],
        ["method=best_of_n", "method.ladder=[12]", "method.survivors.weight=score_power"],
        ["method=pt_niche", "method.niche.share=[3]"],
        ["method.survivors.rule=niche", "method.niche={radius: 0.4, share: [10]}"],
    ],
)
def test_valid_settings_are_accepted(overrides: list[str]) -> None:
    plan_bits(*overrides)


def test_outputs_below_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"file is not a folder; choose another one with outputs="):
        plan("task=bits", f"outputs={tmp_path}/file/deep")


def test_a_domain_that_cannot_be_imported_is_named() -> None:
    with pytest.raises(InputError, match=r"task.domain=nowhere cannot be imported .* name a package"):
        plan("task=bits", "task.domain=nowhere")
