"""How every method samples in every domain, read from the requests to the model (paper, appendix, baselines)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evodiverse.errors import InputError
from tests.llm.servers import Answer, Body, ModelServer, serving
from tests.runs import CONF, plan, rows, run_here

pytestmark = pytest.mark.slow

# The temperature and top-p; a value of None is not sent.
TASKS = {
    "jnk3": {"cold": (1.3, None), "hot": (1.3, None)},
    "equation": {"cold": (0.7, 0.8), "hot": (1.0, 0.95)},
    "circle_packing": {"cold": (0.7, 0.8), "hot": (1.0, 0.95)},
}
SAMPLERS = {
    "pt": ["cold", "hot"],
    "pt_same_prompt": ["cold", "hot"],
    "random_swap": ["cold", "hot"],
    "pt3": ["cold", "hot", "hot"],
    "ensemble": ["cold", "cold"],
    "island": ["cold", "cold"],
    "molleo": ["cold"],
    "graph_ga": ["cold"],
    "mol_ga": ["cold"],
    "gp_bo": ["cold"],
    "ea": ["cold"],
    "tempering": ["hot"],
    "diverse": ["cold", "hot"],
    "pt_niche": ["cold", "hot"],
    "niche_ga": ["cold"],
    "dominated_novelty": ["cold"],
    "nsga2": ["cold"],
    "best_of_n": ["cold"],
    "restarts": ["cold"],
    "random_start": ["cold"],
}
# One method for each way to sample, with one task; the other tasks are asked by a method that samples cold and hot.
ONE_EACH = {tuple(samplers): method for method, samplers in reversed(SAMPLERS.items())}
RUN = [("circle_packing", method) for method in ONE_EACH.values()] + [("jnk3", "pt3"), ("equation", "pt3")]
ONE_ROUND = ("method.offspring=1", "search.attempts=1", "search.patience=1", "evaluator.workers=1")
FEW = {"jnk3": ["task.initial.size=3"]}


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    """Yield a model that proposes nothing, with a different text in each reply."""
    with serving(ModelServer(lambda body, number: Answer(f"nothing, for the {number}th time"))) as running:
        yield running


def sent_by_pool(server: ModelServer, run: Path) -> dict[int, tuple[float | None, float | None]]:
    """Return the temperature and top-p in the only request of each pool, which is found by its reply."""
    sent: dict[str, Body] = {f"nothing, for the {at}th time": body for at, body in enumerate(server.requests)}
    asked = {row["pool"]: sent[row["reply"]] for row in rows(run, "llm_calls")}
    return {pool: (body.get("temperature"), body.get("top_p")) for pool, body in asked.items()}


def run_once(server: ModelServer, tmp_path: Path, task: str, *overrides: str) -> Path:
    model = ("llm=openai_compatible", "llm.model=toy", f"llm.api_base={server.url}", f"llm.cache={tmp_path / 'cache'}")
    run = (f"task={task}", *model, *ONE_ROUND, *FEW.get(task, []), f"outputs={tmp_path}", *overrides)
    with pytest.raises(InputError, match=r"^no offspring of the initial candidates could be evaluated \("):
        run_here(*run)
    return plan(*run).path


def test_the_table_has_every_method() -> None:
    assert {option.stem for option in (CONF / "method").glob("*.yaml")} == SAMPLERS.keys()


@pytest.mark.parametrize(("task", "method"), RUN)
def test_a_method_samples_as_in_the_paper(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, method: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-toy-key-for-tests")
    run = run_once(server, tmp_path, task, f"method={method}")
    expected = [TASKS[task][sampler] for sampler in SAMPLERS[method]]
    assert sent_by_pool(server, run) == dict(enumerate(expected))


def test_the_last_sampler_applies_to_all_further_rungs(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-toy-key-for-tests")
    longer = ["method.ladder=[1,0.7,0.4,0.1]", "method.samplers=[hot,cold]"]
    run = run_once(server, tmp_path, "circle_packing", *longer)
    cold, hot = TASKS["circle_packing"]["cold"], TASKS["circle_packing"]["hot"]
    assert sent_by_pool(server, run) == {0: hot, 1: cold, 2: cold, 3: cold}


@pytest.mark.parametrize("samplers", ["[]", "[warm]", "[cold,Hot]"])
def test_a_sampler_that_does_not_exist_is_refused(samplers: str) -> None:
    with pytest.raises(
        InputError, match=r"method\.samplers(: each value must be cold or hot| must name a sampler for each rung), got"
    ):
        plan("task=bits", f"method.samplers={samplers}")
