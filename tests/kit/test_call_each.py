"""Functions that are called in separate processes, whatever they do to them."""

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from evodiverse.kit.apart import Failure, call_each


def refuse_two(number: int) -> int:
    if number == 2:
        raise ValueError("two\nand more")
    return 10 * number


def die_of_two(number: int) -> int:
    if number == 2:
        os._exit(3)
    return 10 * number


def print_noise(number: int) -> int:
    os.write(1, b"noise")
    os.write(2, b"noise")
    return number


def wait_at_two(started: Path, number: int) -> int:
    if number == 2:
        started.write_text(str(os.getpid()))
        signal.pause()
    return number


@pytest.mark.parametrize("n_processes", [1, 3])
def test_every_item_has_an_answer_with_any_number_of_processes(n_processes: int) -> None:
    assert dict(call_each(str, [1, 3, 4, 5], n_processes)) == {1: "1", 3: "3", 4: "4", 5: "5"}


def test_an_exception_or_a_dead_process_affects_only_its_own_item() -> None:
    assert dict(call_each(refuse_two, [2, 1], 1)) == {2: Failure("ValueError: two and more"), 1: 10}
    assert dict(call_each(die_of_two, [2, 1], 2)) == {2: Failure("its process died (killed, or out of memory)"), 1: 10}


def test_output_of_libraries_is_shown_or_dropped(capfd: pytest.CaptureFixture[str]) -> None:
    list(call_each(print_noise, [1], 1, is_silent=True))
    assert capfd.readouterr() == ("", "")
    list(call_each(print_noise, [1], 1))
    assert capfd.readouterr() == ("noise", "noise")


def test_no_process_outlives_an_iteration_that_is_closed_early(tmp_path: Path) -> None:
    started = tmp_path / "started"
    calls = call_each(partial(wait_at_two, started), [2, 1], 2)
    assert next(calls) == (1, 1)
    while not started.exists() or not started.read_text():
        pass
    calls.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
