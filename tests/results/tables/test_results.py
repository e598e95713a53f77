"""A model is the same at any host, and another one as soon as it is asked in another way."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evodiverse.results.tables.results import find_changes, identify_model
from evodiverse.runlog.runs import Run
from tests.results.builders import make_record


def model_of(llm: str = "litellm", **settings: object) -> str:
    return identify_model(Run(Path(), make_record(llm__name=llm, **settings)))


# As litellm's map of models, vLLM and Ollama call them.
DEEPSEEK = """
openrouter/deepseek/deepseek-v3.2 openrouter/deepseek/deepseek-v3.2:free deepinfra/deepseek-ai/DeepSeek-V3.2
fireworks_ai/accounts/fireworks/models/deepseek-v3p2 azure_ai/FW-DeepSeek-V3.2 bedrock/us-east-1/deepseek.v3.2
us.deepseek.v3.2 vertex_ai/deepseek-ai/deepseek-v3.2-maas volcengine/deepseek-v3-2-251201
openai//models/DeepSeek-V3.2/ deepseek-ai__DeepSeek-V3.2 deepseek-v3_2
"""
GPT_5 = "azure/gpt-5 oci/openai.gpt-5 azure/eu/gpt-5-2025-08-07"
OTHERS = """
deepseek/deepseek-flash deepseek/deepseek-chat novita/deepseek/deepseek-v3.2-exp
azure_ai/deepseek-v3.2-speciale nebius/deepseek-ai/DeepSeek-V3-0324 openai/gpt-5-mini
databricks/databricks-gpt-5-1 not-deepseek-v3.21 openai/not-deepseek-v3.2
openai/qwen-distilled-from-deepseek-v3.2 openai/my-gpt-5 openrouter/deepseek/deepseek-v3.2:thinking
ollama/deepseek-v3.2:1.5b llama3:8b
"""


def test_a_model_is_known_by_the_names_that_hosts_give_it() -> None:
    known = {**dict.fromkeys(DEEPSEEK.split(), "DeepSeek-V3.2"), **dict.fromkeys(GPT_5.split(), "GPT-5")}
    others = {name: name.rpartition("/")[2] for name in OTHERS.split()}
    for name, model in {**known, **others, "openai/off": "a model named off"}.items():
        assert model_of(llm__model=name) == model, name


def test_a_run_has_a_model_or_none_whatever_its_option_is_called() -> None:
    assert model_of("off") == model_of("mine", llm__client="none") == "off"
    assert model_of("off", llm__client="litellm", llm__model="a/b") == "b"


def test_pools_with_models_of_their_own_name_both() -> None:
    mixed: dict[str, Any] = {"llm__model": "a/x", "llm__pools__hot__model": "b/y"}
    assert model_of(**mixed) == "x and y"
    assert model_of(llm__pools__cold__model="a/x", llm__pools__hot__model="b/x") == "x"
    mixture = [{"model": "b/y", "weight": 2}, {"model": "c/z", "weight": 1}]
    assert model_of(llm__model="a/x", llm__pools__hot__models=mixture) == "x and y and z"


WANTED = {"temperature": 1.3, "top_p": None, "max_tokens": 2048}
AS_WANTED = {
    **{f"task__defaults__decoding__{pool}__{key}": value for pool in ("cold", "hot") for key, value in WANTED.items()},
    **{f"llm__pools__{pool}__{key}": value for pool in ("cold", "hot") for key, value in WANTED.items()},
    "llm__fallback": "none",
}


def changes_of(model: str, overrides: Mapping[str, Any], **settings: object) -> list[str]:
    run = Run(Path(), make_record(overrides=overrides, **{**AS_WANTED, **settings}))
    return sorted(find_changes(run, overrides, model))


@pytest.mark.parametrize(
    ("overrides", "model", "changes"),
    [
        ({"llm.model": "a/b", "llm.provider": "openai", "llm.client": "replay"}, "b", []),
        ({"llm.pools.hot.temperature": 1.0}, "b", ["llm.pools.hot.temperature"]),
        ({"llm.pools.hot.temperature": 1.0}, "DeepSeek-V3.2", ["llm.pools.hot.temperature"]),
        ({"llm.pools.hot.temperature": None}, "DeepSeek-V3.2", ["llm.pools.hot.temperature"]),
        ({"llm.pools.hot.seed": 7}, "DeepSeek-V3.2", ["llm.pools.hot.seed"]),
        ({"llm.fallback": "classical", "method.elites": 1}, "b", ["llm.fallback"]),
    ],
)
def test_what_changes_how_a_model_samples_is_a_change_of_it(
    overrides: Mapping[str, Any], model: str, changes: list[str]
) -> None:
    assert changes_of(model, overrides) == changes


@pytest.mark.parametrize(
    ("set_by_the_option", "changes"),
    [
        ({}, []),
        ({"llm__extra__thinking__type": "disabled"}, []),
        ({"llm__extra__reasoning_effort": "high"}, ["llm.extra.reasoning_effort"]),
        ({"llm__pools__hot__temperature": 0.0}, ["llm.pools.hot.temperature"]),
        ({"llm__pools__cold__max_tokens": 8192}, ["llm.pools.cold.max_tokens"]),
        ({"llm__fallback": "classical"}, ["llm.fallback"]),
    ],
)
def test_a_model_of_the_paper_is_asked_as_the_task_wants_whatever_its_option_says(
    set_by_the_option: dict[str, object], changes: list[str]
) -> None:
    assert changes_of("DeepSeek-V3.2", {"llm.model": "a/deepseek-v3.2"}, **set_by_the_option) == changes


def test_a_model_that_takes_no_temperature_is_asked_without() -> None:
    nulls = {f"llm__pools__{pool}__temperature": None for pool in ("cold", "hot")}
    thinks = {f"llm__pools__{pool}__max_tokens": 8192 for pool in ("cold", "hot")}
    assert changes_of("GPT-5", {"llm.pools.hot.temperature": None}, **nulls, **thinks) == []
    assert changes_of("GPT-5", {}, **thinks) == ["llm.pools.cold.temperature", "llm.pools.hot.temperature"]
