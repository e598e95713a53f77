"""Invalid settings of a model are refused before a run charges anything, in one line that says what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evodiverse.errors import InputError
from evodiverse.llm.client import Clients
from evodiverse.llm.clients import KINDS
from evodiverse.settings.plan import Plan
from evodiverse.vocabulary import Decoding, Message, Query, Stream
from tests.llm.servers import ModelServer, serving
from tests.llm.test_client import ask_once
from tests.runs import FROM_ROOT, plan
from tests.toys.bits.model import answer_bits

PRICED = "llm.price={input:0.28,output:0.42}"
CLAUDE = ("llm=litellm", "llm.model=anthropic/claude-sonnet-4-5")


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    keys = {"OPENAI_API_KEY": "sk-1", "DEEPSEEK_API_KEY": "sk-2", "ANTHROPIC_API_KEY": "sk-3"}
    others = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    monkeypatch.setattr(os, "environ", {**others, **keys})
    monkeypatch.chdir(tmp_path)


def refusals(*overrides: str) -> list[str]:
    with pytest.raises(InputError) as refused:
        plan("task=bits", *overrides)
    return list(refused.value.violations)


def accepted(*overrides: str) -> Plan:
    return plan("task=bits", *overrides)


@pytest.mark.parametrize(
    "overrides",
    [
        ["llm=deepseek", "method=pt_same_prompt", "task=jnk3"],
        ["llm=deepseek", "budget.usd=5"],
        ["llm=gpt5", "budget.usd=5"],
        ["llm=litellm", "llm.model=openai/o3"],
        ["llm=openai_compatible", "llm.model=m", "llm.api_base=http://localhost/v1", "budget.usd=5", PRICED],
        ["llm=openai_compatible", "llm.model=a/b:c", "llm.api_base=http://localhost:8000/v1"],
        ["llm=litellm", "llm.model=ollama/llama3"],
        ["llm=gpt5", "llm.pools.hot.model=deepseek/deepseek-flash", "llm.pools.hot.temperature=1.3"],
        ["llm=local"],
        ["llm=litellm", *(f"llm.pools.{pool}.models=[{{model:openai/gpt-4o,weight:2}}]" for pool in ("cold", "hot"))],
    ],
    ids=" ".join,
)
def test_settings_that_a_model_supports_are_accepted(overrides: list[str]) -> None:
    assert accepted(*overrides).model is not None


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (
            ["llm=gpt5", "llm.pools.cold.temperature=1.3"],
            "llm.pools.cold.temperature=1.3: openai/gpt-5 takes no temperature; set llm.pools.cold.temperature=null",
        ),
        (
            ["llm=litellm", "llm.model=anthropic/claude-3-haiku-20240307", "llm.pools.hot.seed=3"],
            "llm.pools.hot.seed=3: anthropic/claude-3-haiku-20240307 does not accept it; set llm.pools.hot.seed=null",
        ),
        (
            [*CLAUDE, "llm.pools.hot.temperature=1.2"],
            "llm.pools.hot.temperature=1.2: anthropic/claude-sonnet-4-5 takes a temperature of at most 1; set",
        ),
        (
            ["llm=gpt5", "+llm.extra.max_completion_tokens=50"],
            "llm.extra.max_completion_tokens is reserved for EvoDiverse; set the number with llm.pools.*.max_tokens",
        ),
        (
            ["llm=gpt5", "+llm.extra.top_p=0.5"],
            "llm.extra.top_p is reserved for EvoDiverse; remove it",
        ),
        (
            ["llm=gpt5", "+llm.extra.api_key=sk-secret"],
            "llm.extra.api_key is reserved for EvoDiverse; remove it",
        ),
        (
            ["llm=litellm", "llm.model=gpt-nonsense"],
            "llm.model: gpt-nonsense names no provider that litellm knows; write provider/name",
        ),
        (
            ["llm=litellm", "llm.model=openai/gpt-4o", "llm.pools.hot.model=gpt-nonsense"],
            "llm.pools.hot.model: gpt-nonsense names no provider that litellm knows; write provider/name",
        ),
        (
            ["llm=litellm", "llm.model=mistral/m"],
            "mistral/m needs MISTRAL_API_KEY; export it or put it into a file named .env",
        ),
        (
            ["llm=deepseek", "llm.api_key_env=MY_KEY"],
            "deepseek/deepseek-flash needs MY_KEY; export it or put it into a file named .env",
        ),
        (
            ["llm=deepseek", "llm.api_key_env=sk-oops-my-key"],
            "llm.api_key_env must be the name of a variable that holds the key, such as OPENAI_API_KEY, not the key",
        ),
        (
            ["llm=openai_compatible", "llm.model=m", "llm.api_base=localhost:8000"],
            "llm.api_base must be an address such as http://127.0.0.1:8000/v1",
        ),
        *(
            (
                ["llm=openai_compatible", "llm.model=m", f"llm.api_base='{address}'"],
                "llm.api_base must be an address such as http://127.0.0.1:8000/v1",
            )
            for address in (
                "http://[::1",
                "http://℀/v1",
                "http://host:999999/v1",
                "http://host:65536/v1",
                "http://[1:2]/v1",
                "http://xn--a/v1",
                "http://host:abc/v1",
                "http://a b/v1",
            )
        ),
        (
            ["llm=openai_compatible", "llm.model=m", "llm.api_base=http://me:secret@localhost/v1"],
            "llm.api_base must not contain a password, since it is logged; put the key into an environment variable",
        ),
        (
            ["llm=openai_compatible", "llm.model=m", "llm.api_base=http://localhost/v1", "budget.usd=5"],
            "budget.usd: the price of m is unknown; set llm.price.input and llm.price.output, or budget.tokens instead",
        ),
        (
            ["llm=gpt5", "llm.price.input=0.28"],
            "llm.price.output has no value; give the price of a million tokens in USD, or unset llm.price",
        ),
        (
            ["llm=gpt5", "llm.price={input:1,output:2,cached:3}"],
            "llm.price.cached must not exceed llm.price.input; cached tokens are the cheaper ones",
        ),
        (["llm=local", "llm.price.input=1"], "llm=local costs nothing; unset llm.price"),
        (["llm=gpt5", "llm.price={input:-1,output:1}"], "llm.price.input must be at least 0, or null, got -1.0"),
        (
            ["llm=openai_compatible", "llm.model=m"],
            "llm.api_base has no value; give the server's address, such as http://127.0.0.1:8000/v1",
        ),
        (
            ["llm=litellm", "llm.model=hosted_vllm/m"],
            "llm.api_base has no value; give the server's address, such as http://127.0.0.1:8000/v1",
        ),
        (["llm=litellm"], "llm.model has no value; name the model for llm=litellm"),
        (["llm.model=openai/gpt-5"], "llm=off takes no model; use llm=litellm llm.model=provider/name"),
        (
            ["llm=local", "llm.local.gguf=/no/file"],
            "llm.local.gguf=/no/file is not a file; give the path of a GGUF file",
        ),
        (
            ["llm=local", "llm.local.gguf='~no-such-user/m.gguf'"],
            "llm.local.gguf=~no-such-user/m.gguf is not a file; give the path of a GGUF file",
        ),
        (
            ["llm=local", "llm.local.gguf=/dev/zero"],
            "llm.local.gguf=/dev/zero is not a file; give the path of a GGUF file",
        ),
        (
            ["llm=replay", "llm.model=m", "llm.cache=/no/cache"],
            "llm=replay: the reply cache /no/cache does not exist; name another one with llm.cache=…",
        ),
        (["llm=gpt5", "llm.concurrency=0"], "llm.concurrency must be at least 1, got 0"),
        (["llm=gpt5", "llm.retries=-1"], "llm.retries must be at least 0, got -1"),
        (["llm=gpt5", "llm.timeout=0"], "llm.timeout must be above 0, got 0.0"),
        (["llm=gpt5", "llm.pools.hot.max_tokens=0"], "llm.pools.hot.max_tokens must be at least 1, got 0"),
        (
            ["llm=gpt5", "llm.pools.hot.top_p=1.5"],
            "llm.pools.hot.top_p must be above 0 and at most 1, or null, got 1.5",
        ),
        (
            ["llm=gpt5", "llm.pools.hot.temperature=-1"],
            "llm.pools.hot.temperature must be at least 0, or null, got -1.0",
        ),
        (["llm=gpt5", "llm.fallback=clasical"], "llm.fallback=clasical is unknown; did you mean classical?"),
        (["llm=gpt5", "budget.usd=0"], "budget.usd must be above 0, or null, got 0.0"),
        (["llm=gpt5", "budget.llm_calls=-4"], "budget.llm_calls must be above 0, or null, got -4"),
        (["llm=gpt5", "llm.cache='~nobody-at-all/x'"], "llm.cache=~nobody-at-all/x cannot be used"),
    ],
    ids=str,
)
def test_invalid_settings_are_refused(overrides: list[str], expected: str) -> None:
    first, *others = set(refusals(*overrides))
    assert first.startswith(expected)
    assert others == []


def test_a_default_that_the_model_does_not_take_is_adapted_and_identifies_the_run(tmp_path: Path) -> None:
    planned = plan("task=jnk3", *CLAUDE)
    keys = ["llm.pools.cold.temperature", "llm.pools.hot.temperature"]
    assert [planned.settings[key] for key in keys] == [1.0, 1.0]
    assert planned.overrides == dict.fromkeys(keys, 1.0) | {"llm.model": "anthropic/claude-sonnet-4-5"}
    changed = ", ".join(f"{key}=1.0 instead of 1.3" for key in keys)
    assert planned.adapted == f"anthropic/claude-sonnet-4-5 takes a temperature of at most 1: {changed}"
    assert planned.adapted == planned.summary.splitlines()[-1]
    (tmp_path / "cache").touch()
    replayed = {"llm.client": "replay", "llm.cache": str(tmp_path / "cache")}
    assert plan("task=jnk3", *CLAUDE, instead=replayed).adapted == planned.adapted


def test_a_price_does_not_identify_a_run() -> None:
    own = accepted("llm=gpt5", PRICED)
    assert (own.settings, own.overrides) == (accepted("llm=gpt5").settings, {})


def test_all_violations_are_reported_at_once() -> None:
    expected = ["llm.pools.cold.temperature", "llm.pools.cold.top_p", "llm.pools.hot.seed"]
    wrong = ["llm.pools.cold.temperature=1.3", "llm.pools.cold.top_p=0.5", "llm.pools.hot.seed=-1"]
    assert refusals("llm=gpt5", wrong[2]) == ["llm.pools.hot.seed must be at least 0, or null, got -1"]
    assert [line.split("=")[0] for line in refusals("llm=gpt5", *wrong[:2])] == expected[:2]


@pytest.mark.parametrize(
    ("overrides", "name", "key", "shown"),
    [
        (["llm=deepseek"], "DEEPSEEK_API_KEY", "sk-\u2019tis-mine", r"'\u2019'"),
        (["llm=deepseek", "llm.api_key_env=MY_KEY"], "MY_KEY", "sk-one\nsk-two", r"'\n'"),
    ],
)
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(
    overrides: list[str], name: str, key: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, key)
    expected = f"{name} contains {shown}, which no header of a request can hold; copy the key again"
    assert set(refusals(*overrides)) == {expected}


def test_the_line_break_after_a_key_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-4\n")
    with serving(ModelServer()) as server:
        settings = accepted("llm=deepseek", "llm.api_key_env=MY_KEY", f"llm.api_base={server.url}").model
        assert settings is not None
        with KINDS["litellm"].open(settings) as client:
            assert client is not None
            ask_once(
                client, Query(settings.models[0], (Message("user", "hello"),), Decoding(1.0, None, 9), Stream(0, 0))
            )
    assert server.headers[0]["authorization"] == "Bearer sk-4"


def test_models_of_the_same_kind_share_a_client() -> None:
    models = {"cold": "openai/gpt-4o", "hot": "deepseek/deepseek-flash"}
    settings = accepted("llm=litellm", *(f"llm.pools.{pool}.model={name}" for pool, name in models.items())).model
    assert settings is not None
    with KINDS["litellm"].open(settings) as clients:
        assert isinstance(clients, Clients)
        assert len(clients) == 2
        assert len({id(client) for client in clients.values()}) == 1  # each would load the certificates again


def test_a_key_may_be_in_an_env_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MISTRAL_API_KEY=sk-4\n")
    assert accepted("llm=litellm", "llm.model=mistral/m").model is not None


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_an_invalid_address_of_the_environment_is_refused(variable: str) -> None:
    os.environ[variable] = "localhost"
    (message,) = set(refusals("llm=gpt5"))
    assert message == "OPENAI_BASE_URL or OPENAI_API_BASE must be an address such as http://127.0.0.1:8000/v1"


def test_either_key_of_a_provider_is_enough() -> None:
    os.environ["OR_API_KEY"] = "sk-5"
    assert accepted("llm=deepseek_v32").model is not None


@pytest.mark.slow
def test_neither_the_settings_nor_a_run_load_litellm_for_a_provider_that_speaks_openais_protocol(
    tmp_path: Path,
) -> None:
    with serving(ModelServer(answer_bits)) as server:
        run = f"""
import sys
from tests.runs import plan, run_toy
from pathlib import Path
plan("task=jnk3", "llm=deepseek", "budget.usd=5")
options = ["llm=litellm", "llm.model=openai/gpt-4o", "llm.api_base={server.url}", "llm.cache=cache", "budget.usd=5"]
run_toy(Path("runs"), *options, "budget.oracle_calls=20")
assert 'litellm' not in sys.modules, 'loaded'
"""
        environment = FROM_ROOT | {"OPENAI_API_KEY": "sk-1", "DEEPSEEK_API_KEY": "sk-2"}
        subprocess.run([sys.executable, "-c", run], env=environment, cwd=tmp_path, check=True)
        assert server.requests


MIXTURE = "[{model:openai/gpt-4o,weight:3},{model:deepseek/deepseek-chat,weight:1}]"


def test_each_model_of_a_mixture_is_checked() -> None:
    mixed = ["llm=litellm", "llm.model=openai/gpt-4o"]
    models = "[{model:openai/gpt-4o,weight:3},{model:nowhere,weight:1}]"
    (unknown,) = refusals(*mixed, f"llm.pools.hot.models={models}")
    assert unknown == "llm.pools.hot.models: nowhere names no provider that litellm knows; write provider/name"
    models = "[{model:openai/gpt-4o,weight:3},{model:openai/own,weight:1}]"
    (unpriced,) = refusals(*mixed, f"llm.pools.hot.models={models}", "budget.usd=1")
    assert unpriced.startswith("budget.usd: the price of openai/own is unknown; set llm.price.input and")


def test_a_default_of_the_task_is_adapted_to_each_model_of_a_mixture() -> None:
    models = "[{model:openai/gpt-4o,weight:1},{model:openai/gpt-5,weight:1}]"
    planned = accepted("llm=litellm", "llm.model=openai/gpt-4o", f"llm.pools.hot.models={models}")
    assert planned.config.llm.pools.hot.top_p is None
    assert planned.config.llm.pools.cold.top_p is not None
    assert planned.adapted.startswith("openai/gpt-5 takes no top_p: llm.pools.hot.top_p=null instead of")


def test_the_estimated_cost_of_a_mixture_is_that_of_its_shares() -> None:
    def cost(*overrides: str) -> float:
        summary = accepted("llm=litellm", "llm.model=openai/gpt-4o", "budget.oracle_calls=9000", *overrides).summary
        return float(summary.rpartition("for $")[2].partition(" ")[0].replace(",", ""))

    dear, cheap = (cost(f"llm.model={model}") for model in ("openai/gpt-4o", "deepseek/deepseek-chat"))
    mixed = cost(*(f"llm.pools.{pool}.models={MIXTURE}" for pool in ("cold", "hot")))
    assert mixed == pytest.approx(0.75 * dear + 0.25 * cheap, abs=0.02)
    assert dear > cheap


def test_the_estimated_cost_of_a_bandit_is_that_of_the_dearest_model() -> None:
    def estimate(*overrides: str) -> str:
        return accepted("llm=litellm", "llm.model=openai/gpt-4o", *overrides).summary.rpartition("for $")[2]

    mixed = [f"llm.pools.{pool}.models={MIXTURE}" for pool in ("cold", "hot")]
    assert estimate(*mixed, "llm.choose=bandit") == estimate()
    assert estimate(*mixed) != estimate()


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (
            "openai/own",
            "the price of openai/own is unknown; set llm.price.input and llm.price.output, which hold for all",
        ),
        (
            "ollama/own",
            "ollama/own costs nothing, other models do; set llm.price.input and llm.price.output, which hold",
        ),
    ],
)
def test_a_bandit_refuses_models_whose_gains_per_dollar_cannot_be_compared(other: str, expected: str) -> None:
    models = f"[{{model:openai/gpt-4o,weight:3}},{{model:{other},weight:1}}]"
    choosing = ["llm=litellm", "llm.model=openai/gpt-4o", f"llm.pools.hot.models={models}", "llm.choose=bandit"]
    (refused,) = refusals(*choosing)
    assert refused.startswith(f"llm.choose=bandit: {expected}")
    assert accepted(*choosing, PRICED).config.llm.choose == "bandit"


def test_a_bandit_may_choose_among_free_models() -> None:
    models = "[{model:ollama/a,weight:1},{model:ollama/b,weight:1}]"
    assert accepted("llm=litellm", "llm.model=ollama/a", f"llm.pools.hot.models={models}", "llm.choose=bandit").model
