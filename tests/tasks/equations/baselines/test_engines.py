"""An engine in a process of its own."""

import multiprocessing
import signal
from multiprocessing.context import SpawnProcess

import numpy as np
import pytest

from evodiverse.errors import ServiceError
from evodiverse.tasks.equations.baselines import find_apart
from evodiverse.tasks.equations.baselines.engine import Order

ORDER = Order(np.ones((3, 1)), np.ones(3), ("x",), 0, None, 10)


def test_a_signal_waits_until_a_process_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    start = SpawnProcess.start
    n_running: list[int] = []

    def interrupted_start(process: SpawnProcess) -> None:
        signal.raise_signal(signal.SIGINT)
        start(process)

    monkeypatch.setattr(SpawnProcess, "start", interrupted_start)
    previous = signal.signal(signal.SIGINT, lambda *_: n_running.append(len(multiprocessing.active_children())))
    try:
        with pytest.raises(ServiceError, match="nobody failed"):
            find_apart("nobody", ORDER)
    finally:
        signal.signal(signal.SIGINT, previous)
    assert n_running == [1]
