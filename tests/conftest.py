import gc
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module

import pytest
from hypothesis import HealthCheck, settings

from tests.fork_server import keep_what_hydra_reads
from tests.runs import write_at_once
from tests.starts import ROOT, end_unfinished
from tests.wheel import installed, wheel  # noqa: F401 (fixtures)

keep_what_hydra_reads()
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell ignores for what it starts in the background
# The suite tries the same examples in every run, however long one takes; the first also waits for the constants of all
# modules. pytest --hypothesis-profile thorough tries more, and others each time.
settings.register_profile(
    "suite",
    max_examples=25,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("suite"), max_examples=200, derandomize=False)
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    end_unfinished()


@pytest.fixture
def written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every iteration is written when it is committed, however long that takes."""
    write_at_once(monkeypatch)


def pytest_collection(session: pytest.Session) -> None:
    """Let each of several processes begin with other modules, so that one finds compiled what another has compiled."""
    config = session.config
    if hasattr(config, "workerinput") and config.args_source is config.ArgsSource.TESTPATHS:
        number, n = int(config.workerinput["workerid"].removeprefix("gw")), config.workerinput["workercount"]
        for path in sorted((ROOT / "tests").rglob("test_*.py"))[number::n]:
            with suppress(Exception, pytest.skip.Exception):  # which the collection meets again, and reports
                import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each process its share of the slow modules first, so that short tests end the session on all cores.

    Those that may take longest by their marks come first of all.
    """
    n = getattr(config, "workerinput", {"workercount": 1})["workercount"]
    begins = {path: index * n // len(items) for index, path in reversed(list(enumerate(item.path for item in items)))}
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    longest = {item.path: float(mark.args[0]) for item in items if (mark := item.get_closest_marker("timeout"))}
    order = sorted(slow, key=lambda path: (-longest.get(path, 0.0), -slow[path]))
    share = {path: (number % n, number) for number, path in enumerate(order)}
    items.sort(key=lambda item: share.get(item.path, (begins[item.path], len(order))))


def pytest_collection_finish() -> None:
    """Let the garbage collector come seldom, and pass over what all tests keep: thousands of cases, and libraries."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_sessionfinish() -> None:
    """Let it see all of them again: libraries that look for leaks as they end would name every one."""
    gc.unfreeze()
