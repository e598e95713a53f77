"""The limits of families of models: what a name gives, and that the remedies are enough."""

import pytest

from evodiverse.llm.providers import find_misfits

ONE = {"temperature": 1.0}
LONE = {"top_p": None}
NEITHER = {"temperature": None, "top_p": None}


@pytest.mark.parametrize(
    ("model", "changed"),
    [
        ("anthropic/claude-3-5-sonnet-20241022", ONE),
        ("anthropic/claude-opus-4-20250514", ONE),
        ("bedrock/anthropic.claude-v2:1", ONE),
        ("anthropic/claude-opus-4-1-20250805", ONE | LONE),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", ONE | LONE),
        ("openrouter/anthropic/claude-sonnet-4.6", ONE | LONE),
        ("databricks/databricks-claude-sonnet-4-5", ONE | LONE),
        ("served/Qwen3-14B-Claude-4.5-Opus-High-Reasoning-Distill", {}),
        ("anthropic/claude-opus-4-7", NEITHER),
        ("openrouter/anthropic/claude-4.7-opus", NEITHER),
        ("anthropic/claude-fable-5", NEITHER),
        ("o3", NEITHER),
        ("azure/o4-mini-2025-04-16", NEITHER),
        ("openai/gpt-5-mini", NEITHER),
        ("openai/gpt-5.5", NEITHER),
        ("moonshot/kimi-k2.5", NEITHER),
        ("moonshot/kimi-k2", ONE),
        ("zai/glm-4.6", ONE),
        ("cohere_chat/command-a-03-2025", ONE),
        ("openai/gpt-5.1", {}),
        ("openai/gpt-5-chat-latest", {}),
        ("openai/gpt-4o", {}),
        ("openai/gpt-oss-120b", {}),
        ("deepseek/deepseek-flash", {}),
        ("served/kimi-k2.5", {}),
    ],
)
def test_a_model_takes_what_its_provider_documents(model: str, changed: dict[str, float | None]) -> None:
    assert {key: remedy for key, remedy, _ in find_misfits(model, 1.3, 0.95)} == changed
    fitting = {"temperature": 1.3, "top_p": 0.95} | changed
    assert list(find_misfits(model, **fitting)) == []


def test_the_defaults_of_the_equation_and_program_tasks_keep_their_temperature() -> None:
    for temperature, top_p in ((0.7, 0.8), (1.0, 0.95)):
        misfits = find_misfits("anthropic/claude-sonnet-4-5", temperature, top_p)
        assert [(key, remedy) for key, remedy, _ in misfits] == [("top_p", None)]


def test_models_that_do_not_sample_take_the_default_temperature() -> None:
    assert list(find_misfits("openai/o3", 1.0, None)) == []
