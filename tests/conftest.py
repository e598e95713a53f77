import gc
import math

import pytest

from evodiverse.store.run_directory import RunDirectory


@pytest.fixture
def written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every iteration is written when it is committed, however long that takes."""
    monkeypatch.setitem(RunDirectory.__init__.__kwdefaults__, "write_share", math.inf)


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what all tests keep: thousands of cases, and the libraries."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Let it see all of them again: libraries that look for leaks as they end would name every one."""
    gc.unfreeze()
