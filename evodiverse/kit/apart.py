"""Calling functions in processes of their own: `Apart` keeps one process, `call_each` starts one for each call."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any, NamedTuple, ParamSpec, TypeVar
from weakref import finalize

from evodiverse.errors import ServiceError, describe

_CODE = "import sys; sys.path[:] = {path!r}; from evodiverse.kit.apart import serve; serve({descriptor})"
Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")
Item = TypeVar("Item")
Answer = TypeVar("Answer")


class TooLongError(Exception):
    """A call took too long, and its process was killed."""


class DiedError(ServiceError):
    """The process died too often during a call, or was ended."""


class Apart:
    """A process that calls functions for one thread at a time. It starts with the first call.

    The process ends with this object or with the process that created it. A pickled copy has a process of its own.

    Args:
        timeout: The seconds that a call may take; None for no limit.
        load: A function that each process calls first, and that may take any time.
        n_deaths: How often the process may die during the same call, for instance because memory is short, before the
            call fails.
    """

    def __init__(self, timeout: float | None, load: Callable[[], object] = object, n_deaths: int = 3) -> None:
        self.timeout = timeout
        self._load, self._n_deaths = load, n_deaths
        self._child: _Child | None = None
        self._is_closed = False

    def __reduce__(self) -> tuple[type["Apart"], tuple[float | None, Callable[[], object], int]]:
        """Return how a copy is created in another process."""
        return Apart, (self.timeout, self._load, self._n_deaths)

    def call(
        self, function: Callable[Arguments, Returned], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Returned:
        """Call a function in the process, and return what it returns or raise what it raises.

        The function, its arguments and its answer are pickled.

        Raises:
            TooLongError: The call took too long.
            DiedError: The process died again and again during the call, or `close` was called.
        """
        for _ in range(self._n_deaths):
            try:
                is_new = self._child is None
                child = self._child = self._child or _Child()
                if self._is_closed:  # only now: `close` ends a process that it sees
                    raise DiedError("the evaluation was stopped")  # noqa: TRY301
                if is_new:
                    _take(child.call(self._load, (), {}, None))
                outcome = child.call(function, args, kwargs, self.timeout)
            except (EOFError, OSError):  # it died
                self._end()
                continue
            except BaseException:
                self._end()
                raise
            returned: Returned = _take(outcome)
            return returned
        raise DiedError(
            f"the process that scores candidates died {self._n_deaths} times on the same work (killed, or out of "
            "memory); run the same command again to resume"
        )

    def prepare(self) -> None:
        """Start the process."""
        self.call(id, None)

    def close(self) -> None:
        """End the process. A call that another thread is waiting for raises a `DiedError`, as do all later calls."""
        self._is_closed = True
        self._end()

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()


class Failure(NamedTuple):
    """A call that returned nothing; ``reason`` says why, on one line."""

    reason: str


def call_each(
    function: Callable[[Item], Answer], items: Sequence[Item], n_processes: int, *, is_silent: bool = False
) -> Generator[tuple[Item, Answer | Failure]]:
    """Yield each item with what the function answers to it, in the order in which the calls finish.

    If the function raises an exception or its process dies, the answer is a `Failure`. If the generator is closed
    early, the running processes are killed.

    Args:
        function: A function that is called in a new process for each item. It, the items and the answers are pickled.
        items: The items to call the function with.
        n_processes: The number of processes that run at the same time, at least 1.
        is_silent: Whether to drop what the processes print.
    """

    def call(apart: Apart, item: Item) -> Answer | Failure:
        try:
            return apart.call(_answer, function, item, is_silent)
        except DiedError:
            return Failure("its process died (killed, or out of memory)")
        finally:
            apart.close()

    threads, processes = ThreadPoolExecutor(n_processes), [Apart(None, n_deaths=1) for _ in items]
    try:
        calls = {threads.submit(call, apart, item): item for apart, item in zip(processes, items, strict=True)}
        for done in as_completed(calls):
            yield calls[done], done.result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for apart in processes:
            apart.close()


def _answer(function: Callable[[Item], Answer], item: Item, is_silent: bool) -> Answer | Failure:
    if is_silent:
        for descriptor in (1, 2):  # stdout and stderr, where C++ libraries print
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    try:
        return function(item)
    except Exception as error:  # noqa: BLE001 (libraries may raise anything)
        return Failure(describe(error))


def _take(outcome: tuple[bool, Any]) -> Any:
    """Return what a function returned, or raise what it raised."""
    succeeded, answer = outcome
    if not succeeded:
        raise answer
    return answer


class _Child:
    def __init__(self) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            code = _CODE.format(path=sys.path, descriptor=theirs.fileno())
            # It gets a session of its own, so that whatever processes it starts are killed with it.
            process = subprocess.Popen(
                [sys.executable, "-c", code], stdin=subprocess.PIPE, pass_fds=[theirs.fileno()], start_new_session=True
            )
        self.end = finalize(self, _kill, process)

    def call(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], timeout: float | None
    ) -> tuple[bool, Any]:
        """Return whether the function returned, and what it returned or raised."""
        self._connection.send((function, args, kwargs))
        if not self._connection.poll(timeout):
            raise TooLongError
        outcome: tuple[bool, Any] = self._connection.recv()
        return outcome


def _kill(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def serve(descriptor: int) -> None:
    """Call functions in this process until the other end of a connection is closed.

    Args:
        descriptor: The file descriptor of the connection.
    """
    lifeline = os.dup(0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
    connection = Connection(descriptor)
    with suppress(EOFError, OSError):
        while True:
            try:
                function, args, kwargs = connection.recv()
                answer = (True, function(*args, **kwargs))
            except EOFError:
                break
            except BaseException as error:  # noqa: BLE001 (the caller raises it)
                answer = (False, error)
            try:
                connection.send(answer)
            except Exception as error:  # noqa: BLE001 (pickling may raise anything)
                connection.send((False, ServiceError(describe(error))))
    os.killpg(0, signal.SIGKILL)  # here too: this thread may see the end of the parent before the other one does


def _end_with_parent(lifeline: int) -> None:
    """Kill this process and those that it started when the parent is gone, even during a call that never returns."""
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)
