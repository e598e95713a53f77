"""The sandbox that the rest of EvoDiverse uses (see `evodiverse.ports.Sandbox`)."""

import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from evodiverse.errors import ServiceError
from evodiverse.sandbox.supervisor import DiedError, WarmParent
from evodiverse.vocabulary import Execution, Job

PRELOAD = ("numpy", "scipy.optimize", "scipy.spatial")
# How many times a job or a start is tried, at most, if the warm parent dies during it.
ATTEMPTS = 2
T = TypeVar("T")


class ProcessSandbox:
    """Runs each program in its own confined process, forked from a warm parent that has loaded the libraries.

    Each thread that runs programs has its own warm parent (see `parent`). The warm parent starts when the thread runs
    its first job or calls `prepare`. It ends as soon as the thread ends, this object is closed or deleted, or this
    process exits. The object can be pickled; a copy starts its own warm parents.

    Args:
        preload: The modules that a warm parent loads in addition to numpy and scipy.
        mounts: Whether to give each program an in-memory disk (tmpfs) whose size the kernel limits, if the kernel lets
            unprivileged users mount one. Otherwise programs write to the temporary folder, and the size of their files
            is measured.
    """

    def __init__(self, preload: Sequence[str] = (), *, mounts: bool = True) -> None:
        self._preload = tuple(preload)
        self._mounts = mounts
        self._thread_local = threading.local()
        self._parents: weakref.WeakSet[WarmParent] = weakref.WeakSet()
        self._is_closed = False
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Callable[..., "ProcessSandbox"], tuple[tuple[str, ...]]]:
        return partial(ProcessSandbox, mounts=self._mounts), (self._preload,)

    def run(self, jobs: Sequence[Job]) -> list[Execution]:
        """Run jobs one after another, and return how each ended, in order.

        Raises:
            ServiceError: The sandbox itself failed.
        """
        return [self._attempt(partial(WarmParent.run, job=job)) for job in jobs]

    def prepare(self) -> None:
        """Start the process from which this thread's programs are forked, so that the first need not wait for it.

        This process is the thread's warm parent.

        Raises:
            ServiceError: The warm parent does not start.
        """
        self._attempt(lambda _: None)

    def close(self) -> None:
        """End each thread's warm parent (the process from which its programs are forked) and all running programs.

        No program can run after that.
        """
        with self._lock:
            self._is_closed = True
            parents = list(self._parents)
        for parent in parents:
            parent.close()

    def _attempt(self, use: Callable[[WarmParent], T]) -> T:
        """Call ``use`` with this thread's warm parent, and once more with a new warm parent if the first one dies.

        A warm parent is a process that has loaded the libraries and forks a process for each program.

        Raises:
            ServiceError: The warm parent died each time.
        """
        died = ""
        for _ in range(ATTEMPTS):
            try:
                return use(self._parent())
            except DiedError as error:  # for instance killed because memory ran out
                self._end_parent()
                died = str(error)
            except BaseException:  # a late answer must not be taken for the answer to the next job
                self._end_parent()
                raise
        raise ServiceError(f"the sandbox's process died twice ({died}); run the same command again to resume")

    def _end_parent(self) -> None:
        """End this thread's warm parent (the process that forks a process for each program), if it has one."""
        parent: WarmParent | None = self._thread_local.__dict__.pop("parent", None)
        if parent is not None:
            with self._lock:
                self._parents.discard(parent)
            parent.close()

    def _parent(self) -> WarmParent:
        """Return this thread's warm parent, after starting it if necessary.

        The warm parent is the process that forks a process for each program.

        Raises:
            DiedError: The warm parent was killed while it started.
            ServiceError: The warm parent does not start, or the sandbox is closed.
        """
        if not self._is_closed and not hasattr(self._thread_local, "parent"):
            self._thread_local.parent = WarmParent((*PRELOAD, *self._preload), mounts=self._mounts)
            with self._lock:
                self._parents.add(self._thread_local.parent)
        if self._is_closed:  # before this call, or while the warm parent started
            self.close()
            raise ServiceError("the sandbox was closed while a program ran; run the same command again to resume")
        parent: WarmParent = self._thread_local.parent
        return parent
