"""Whole runs in which a bandit chooses among models (`llm.choose=bandit`), against a scripted server."""

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evodiverse.errors import Interrupted
from tests import starts
from tests.llm.servers import Answer, Body, ModelServer, serving
from tests.runs import FROM_ROOT, TOY_CONF, evodiverse, log, plan, rows, run_toy, stop_after
from tests.toys.bits.model import answer_bits, improve_at

pytestmark = pytest.mark.slow

DEAR, CHEAP = "openai/gpt-4o", "openai/gpt-4o-mini"  # at 2.5 and 10, 0.15 and 0.6 USD per million tokens
MIXTURE = f"models=[{{model:{DEAR},weight:1}},{{model:{CHEAP},weight:1}}]"
MODELS = [f"llm.pools.cold.{MIXTURE}", f"llm.pools.hot.{MIXTURE}"]
BUDGET = ["task.length=200", "method.offspring=10", "budget.oracle_calls=400"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModelServer]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-for-tests")
    with serving(ModelServer()) as running:
        yield running


def asking(server: ModelServer, cache: Path) -> list[str]:
    model = ["llm=litellm", *MODELS, f"llm.api_base={server.url}", f"llm.cache={cache}", "llm.choose=bandit"]
    return [*model, *BUDGET]


def with_rates(dear: float, cheap: float) -> Callable[[Body, int], Answer]:
    """Return the script of a server whose models improve on the parents with these probabilities."""
    return improve_at({"gpt-4o": dear, "gpt-4o-mini": cheap})


def share_of_cheap(run: Path) -> float:
    """Return the share of the cheap model among the requests in the second half of a run."""
    models = Counter(row["model"] for row in rows(run, "llm_calls")[len(rows(run, "llm_calls")) // 2 :])
    return models[CHEAP] / models.total()


def test_most_requests_go_to_the_model_with_more_gains_at_the_same_price(server: ModelServer, tmp_path: Path) -> None:
    server.script = with_rates(dear=0.6, cheap=0.1)
    price = ["llm.price={input:1,output:1}"]
    assert share_of_cheap(run_toy(tmp_path, *asking(server, tmp_path / "cache"), *price)) < 0.2


def test_most_requests_go_to_the_model_with_more_gains_per_dollar(server: ModelServer, tmp_path: Path) -> None:
    server.script = with_rates(dear=0.6, cheap=0.2)
    assert share_of_cheap(run_toy(tmp_path, *asking(server, tmp_path / "cache"))) > 0.9


def test_the_rows_of_choices_have_the_requests_and_gains_of_the_log(server: ModelServer, tmp_path: Path) -> None:
    server.script = with_rates(dear=0.5, cheap=0.5)
    run = run_toy(tmp_path, *asking(server, tmp_path / "cache"), "budget.oracle_calls=100", "llm.fallback=classical")
    calls = {row["llm_call"]: row for row in rows(run, "llm_calls")}
    made = [row for row in rows(run, "evaluations") if row["llm_call"] is not None]
    scores = {row["call"]: row["score"] for row in rows(run, "evaluations") if row["call"] is not None}
    gained = [row for row in made if row["call"] and row["score"] > max(scores[call] for call in row["parents"])]
    counted = {(row["iteration"], row["model"]): (row["requests"], row["gains"]) for row in rows(run, "choices")}
    requests = Counter((row["iteration"], row["model"]) for row in calls.values())
    gains = Counter((row["iteration"], calls[row["llm_call"]]["model"]) for row in gained)
    assert counted == {place: (requests[place], gains[place]) for place in counted}
    assert sum(requests.values()) == sum(n for n, _ in counted.values()) > sum(gains.values()) > 0
    cost = sum(row["full_cost_usd"] for row in rows(run, "choices"))
    assert cost == pytest.approx(sum(row["cost_usd"] for row in calls.values()))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Return a function that returns a run with a lag, next to its reply cache."""
    made: dict[int, Path] = {}

    def make(lag: int) -> Path:
        if lag not in made:
            folder = tmp_path_factory.mktemp("whole")
            with pytest.MonkeyPatch.context() as patch, serving(ModelServer(answer_bits)) as server:
                patch.setenv("OPENAI_API_KEY", "sk-none-for-tests")
                made[lag] = run_toy(folder, *asking(server, folder / "cache"), *SHORT, f"search.lag={lag}")
        return made[lag]

    return make


SHORT = ["task.length=24", "budget.oracle_calls=160"]


@pytest.mark.parametrize("lag", [0, 1])
def test_the_log_depends_neither_on_stops_nor_on_workers_or_latencies(
    server: ModelServer, whole: Callable[[int], Path], tmp_path: Path, lag: int
) -> None:
    def late(body: Body, number: int) -> Answer:
        answer = answer_bits(body, number)
        answer.delay = number * 7919 % 10 / 200
        return answer

    server.script = late
    arguments = [*asking(server, tmp_path / "cache"), *SHORT, f"search.lag={lag}", "llm.concurrency=7"]
    for commits in (1, 2):
        with pytest.raises(Interrupted):
            run_toy(tmp_path, *arguments, display=stop_after(commits))
    run = run_toy(tmp_path, *arguments, "evaluator.workers=2")
    assert log(run) == log(whole(lag))
    assert len({row["requests"] for row in log(run)["choices"]}) > 3
    assert max(Counter(map(json.dumps, server.requests)).values()) == 1


def test_with_a_lag_the_shares_are_those_of_an_earlier_state(
    whole: Callable[[int], Path],
) -> None:
    assert log(whole(0))["choices"] != log(whole(1))["choices"]
    assert [row["requests"] for row in log(whole(0))["choices"][:2]] == [
        row["requests"] for row in log(whole(1))["choices"][:2]
    ]


def test_a_run_that_is_killed_has_the_same_log(
    server: ModelServer, whole: Callable[[int], Path], tmp_path: Path
) -> None:
    server.script = answer_bits
    toy = ["--config-dir", str(TOY_CONF), "task=bits", "evaluator.workers=1", "search.lag=1"]
    arguments = [*toy, *asking(server, tmp_path / "cache"), *SHORT]
    env = {**FROM_ROOT, "OPENAI_API_KEY": "sk-none-for-tests"}
    for n_requests in (30, 90, 150):
        process = starts.start("-m", "evodiverse", *arguments, cwd=tmp_path, env=env)
        while len(server.requests) < n_requests:
            assert process.poll() is None, process.communicate()
            time.sleep(0.002)
        process.kill()
        process.wait()
    assert evodiverse(*arguments, cwd=tmp_path, env=env).returncode == 0
    (run,) = (record.parent for record in tmp_path.glob("outputs/**/run.json"))
    assert log(run) == log(whole(1))


def test_a_replay_chooses_as_the_recorded_run(whole: Callable[[int], Path], tmp_path: Path) -> None:
    cache = next(parent / "cache" for parent in whole(0).parents if (parent / "cache").exists())
    replay = ["llm=replay", *MODELS, f"llm.cache={cache}", "llm.choose=bandit", *BUDGET, *SHORT]
    assert log(run_toy(tmp_path, *replay)) == log(whole(0))


def test_a_replay_takes_the_prices_in_its_folder(server: ModelServer, tmp_path: Path) -> None:
    server.script = answer_bits
    prices = ["llm.price={input:1,output:9}"]
    run = run_toy(tmp_path, *asking(server, tmp_path / "cache"), *SHORT, *prices, "budget.oracle_calls=60")
    replay = ["task=bits", f"outputs={tmp_path}", "llm=replay", *MODELS, f"llm.cache={tmp_path / 'cache'}"]
    arguments = [*replay, "llm.choose=bandit", *BUDGET, *SHORT, "budget.oracle_calls=60"]
    folder = plan(*arguments).path
    folder.mkdir(parents=True)
    shutil.copy(run / "prices.json", folder)
    assert log(run_toy(tmp_path, *arguments)) == log(run)


def test_a_longer_run_has_the_log_of_one_from_scratch(
    server: ModelServer, whole: Callable[[int], Path], tmp_path: Path
) -> None:
    server.script = answer_bits
    arguments = [*asking(server, tmp_path / "cache"), *SHORT]
    shorter = run_toy(tmp_path, *arguments, "budget.oracle_calls=90")
    longer = run_toy(tmp_path, *arguments)
    assert json.loads((longer / "run.json").read_text())["begun_from"]["path"] == str(shorter)
    assert log(longer) == log(whole(0))


def test_a_longer_run_at_other_prices_starts_from_scratch(
    server: ModelServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.script = answer_bits
    arguments = [*asking(server, tmp_path / "cache"), *SHORT]
    run_toy(tmp_path, *arguments, "budget.oracle_calls=60")
    longer = run_toy(tmp_path, *arguments, "budget.oracle_calls=80", "llm.price={input:1,output:1}")
    assert "begun_from" not in json.loads((longer / "run.json").read_text())
    assert "its models had other prices" in caplog.text


def test_screened_proposals_that_were_not_chosen_gain_nothing(server: ModelServer, tmp_path: Path) -> None:
    server.script = answer_bits
    screen = ["method=diverse", "method.screen.batch=[[0,4]]", "method.screen.proposals=10"]
    run = run_toy(tmp_path, *asking(server, tmp_path / "cache"), *SHORT, *screen, "budget.oracle_calls=60")
    counted = rows(run, "choices")
    assert sum(row["requests"] for row in counted) == len(rows(run, "llm_calls"))
    assert 0 < sum(row["gains"] for row in counted) < 52
