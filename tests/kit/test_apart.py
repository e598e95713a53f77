"""Functions that are called in a process of its own, whatever they do to it."""

import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from evodiverse.errors import ServiceError
from evodiverse.kit.apart import Apart, TooLongError
from tests.kit.holding import CLOSED, hold
from tests.starts import ROOT


def read_until_all_are_gone(pipe: Path, start: threading.Thread) -> bytes:
    """Return what programs write to a pipe; this returns only when no program that has opened it is left."""
    os.mkfifo(pipe)
    start.start()
    return pipe.read_bytes()


def test_answers_and_errors_come_back_and_the_process_stays() -> None:
    apart = Apart(60.0, int)
    process = apart.call(os.getpid)
    assert process != os.getpid()
    with pytest.raises(ZeroDivisionError):
        apart.call(divmod, 1, 0)
    assert apart.call(os.getpid) == process


def test_a_call_that_never_returns_is_killed_with_all_it_started_and_replaced(tmp_path: Path) -> None:
    apart, raised = Apart(0.1, partial(hold, str(tmp_path / "held"))), []

    def call() -> None:
        try:
            apart.call(signal.pause)
        except TooLongError as error:
            raised.append(error)

    thread = threading.Thread(target=call)
    assert read_until_all_are_gone(tmp_path / "held", thread) == b""
    thread.join()
    assert raised
    apart.timeout = 60.0
    assert apart.call(abs, -3) == 3


@pytest.mark.parametrize("function", ["signal.pause", "os.getpid"])
def test_a_process_ends_with_the_one_that_created_it(tmp_path: Path, function: str) -> None:
    code = f"import os, signal, sys; from tests.kit.holding import call_and_die; call_and_die(sys.argv[1], {function})"
    command = [sys.executable, "-c", code, str(tmp_path / "held")]
    start = threading.Thread(target=subprocess.run, args=(command,), kwargs={"cwd": ROOT})
    assert read_until_all_are_gone(tmp_path / "held", start) == b""
    start.join()


def test_a_function_that_ends_its_process_every_time_is_an_error() -> None:
    with pytest.raises(ServiceError, match="died 3 times on the same work"):
        Apart(60.0, int).call(os._exit, 1)


def test_a_call_that_is_stopped_raises() -> None:
    apart, raised = Apart(1000.0, int), []

    def call() -> None:
        try:
            apart.call(signal.pause)
        except ServiceError as error:
            raised.append(str(error))

    apart.call(abs, 0)
    thread = threading.Thread(target=call)
    thread.start()
    apart.close()
    thread.join()
    assert raised == ["the evaluation was stopped"]


def test_a_call_that_is_stopped_before_it_begins_raises() -> None:
    with pytest.raises(ServiceError, match="the evaluation was stopped"):
        CLOSED.call(abs, 0)
