"""The sandbox as the rest of EvoDiverse sees it (`evodiverse.ports.Sandbox`)."""

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TypeVar

from evodiverse.errors import ServiceError
from evodiverse.sandbox.supervisor import DiedError, WarmParent
from evodiverse.vocabulary import Execution, Job

PRELOAD = ("numpy", "scipy.optimize", "scipy.spatial")
# How often a job, or the start, is tried if the warm parent dies of it, or next to it.
ATTEMPTS = 2
T = TypeVar("T")


class ProcessSandbox:
    """Runs each program in a confined process of its own, forked from a warm parent that has the libraries loaded.

    Each thread that runs programs has a parent of its own, which starts with its first job and ends with the thread,
    the object, or the process that holds it. The object can be sent to other processes.

    Args:
        preload: Modules that a parent loads besides numpy and scipy.
        mounts: Whether each program gets a disk of its own in memory, whose size the kernel limits, where the kernel
            lets an account mount one. Without, and where it does not, programs write to the temporary folder, and what
            they write is counted.
    """

    def __init__(self, preload: Sequence[str] = (), *, mounts: bool = True) -> None:
        self._preload = tuple(preload)
        self._mounts = mounts
        self._of_thread = threading.local()
        self._parents: weakref.WeakSet[WarmParent] = weakref.WeakSet()
        self._is_closed = False
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Callable[..., "ProcessSandbox"], tuple[tuple[str, ...], bool]]:
        return _make, (self._preload, self._mounts)

    def run(self, jobs: Sequence[Job]) -> list[Execution]:
        """Return how each call ended.

        Raises:
            ServiceError: The sandbox itself failed.
        """
        return [self._run(job) for job in jobs]

    def prepare(self) -> None:
        """Start this thread's warm parent.

        Raises:
            ServiceError: It does not start.
        """
        self._attempt(lambda _: None)

    def close(self) -> None:
        """End the warm parents of all threads and the programs that they run, for good."""
        with self._lock:
            self._is_closed = True
            parents = list(self._parents)
        for parent in parents:
            parent.close()

    def _run(self, job: Job) -> Execution:
        return self._attempt(lambda parent: parent.run(job))

    def _attempt(self, use: Callable[[WarmParent], T]) -> T:
        """Do something with this thread's warm parent, and once more with another if that one dies.

        Raises:
            ServiceError: It died each time.
        """
        died = ""
        for _ in range(ATTEMPTS):
            try:
                return use(self._parent())
            except DiedError as error:  # killed by the kernel's hunt for memory perhaps
                self._give_up()
                died = str(error)
            except BaseException:  # its answer, if there will be one, must not be taken for that to another job
                self._give_up()
                raise
        raise ServiceError(f"the sandbox's process died twice ({died}); start the same command to resume")

    def _give_up(self) -> None:
        """End this thread's warm parent, if it has one."""
        parent: WarmParent | None = self._of_thread.__dict__.pop("parent", None)
        if parent is not None:
            with self._lock:
                self._parents.discard(parent)
            parent.close()

    def _parent(self) -> WarmParent:
        """Return this thread's warm parent, which is started if there is none.

        Raises:
            DiedError: It was killed while it started.
            ServiceError: It does not start, or the sandbox is closed.
        """
        if not self._is_closed and not hasattr(self._of_thread, "parent"):
            self._of_thread.parent = WarmParent((*PRELOAD, *self._preload), mounts=self._mounts)
            with self._lock:
                self._parents.add(self._of_thread.parent)
        if self._is_closed:  # now, or while that one started
            self.close()
            raise ServiceError("the sandbox was closed while a program ran; start the same command to resume")
        parent: WarmParent = self._of_thread.parent
        return parent


def _make(preload: Sequence[str], mounts: bool) -> ProcessSandbox:
    return ProcessSandbox(preload, mounts=mounts)
