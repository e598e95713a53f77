"""The sandbox that the rest of EvoDiverse uses (see `evodiverse.ports.Sandbox`)."""

import re
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

from evodiverse.errors import ServiceError
from evodiverse.sandbox.supervisor import DiedError, WarmParent
from evodiverse.vocabulary import Execution, Job

LIGHT = ("numpy", "scipy")  # scipy loads its parts only when they are used
_IMPORTED = re.compile(r"^\s*(?:import|from)\s+(\w+)", re.MULTILINE)
# How many times a job or a start is tried, at most, if the warm parent dies during it.
ATTEMPTS = 2
Modules: TypeAlias = tuple[str, ...]
T = TypeVar("T")


class ProcessSandbox:
    """Runs each program in its own process, forked from a warm parent that has loaded the libraries.

    Each thread that runs programs has its own warm parents (see `parent`): one that has loaded little, which makes a
    process cheap, and one for programs that import more than numpy and Python's own library, so that each of them need
    not load scipy. The job alone decides which its process is forked from. A warm parent starts when the thread runs
    its first such job; `prepare` starts the first. It ends as soon as the thread ends, this object is closed or
    deleted, or this process exits. The object can be pickled; a copy starts its own warm parents.

    Args:
        preload: The modules that a warm parent loads in addition to numpy and scipy. If there are any, all programs are
            forked from the warm parent that has loaded everything.
        mounts: Whether to give each program an in-memory disk (tmpfs) whose size the kernel limits, if the kernel lets
            unprivileged users mount one. Otherwise programs write to the temporary folder, and the size of their files
            is measured.
        confines: Whether to confine programs. If not, they have the rights of your account and its environment
            variables, except those that seem to hold secrets; only their time, threads and result are limited.
    """

    def __init__(self, preload: Sequence[str] = (), *, mounts: bool = True, confines: bool = True) -> None:
        self._preload = tuple(preload)
        self._mounts = mounts
        self._confines = confines
        self._own = _Own()
        self._parents: weakref.WeakSet[WarmParent] = weakref.WeakSet()
        self._is_closed = False
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Callable[..., "ProcessSandbox"], tuple[tuple[str, ...]]]:
        return partial(ProcessSandbox, mounts=self._mounts, confines=self._confines), (self._preload,)

    def run(self, jobs: Sequence[Job]) -> list[Execution]:
        """Run jobs one after another, and return how each ended, in order.

        Raises:
            ServiceError: The sandbox itself failed.
        """
        return [self._attempt(partial(WarmParent.run, job=job), self._find_modules(job)) for job in jobs]

    def prepare(self) -> None:
        """Start the process from which this thread's programs are forked, so that the first need not wait for it.

        This process is the thread's warm parent.

        Raises:
            ServiceError: The warm parent does not start.
        """
        self._attempt(lambda _: None, self._find_modules())

    def close(self) -> None:
        """End each thread's warm parent (the process from which its programs are forked) and all running programs.

        No program can run after that.
        """
        with self._lock:
            self._is_closed = True
            parents = list(self._parents)
        for parent in parents:
            parent.close()

    def _find_modules(self, job: Job | None = None) -> Modules:
        """Return the modules that the warm parent of a job has loaded; without a job, those that most programs need."""
        is_light = not self._preload and (job is None or _needs_little(job))
        return LIGHT if is_light else (*LIGHT, "scipy.optimize", "scipy.spatial", *self._preload)

    def _attempt(self, use: Callable[[WarmParent], T], modules: Modules) -> T:
        """Call ``use`` with this thread's warm parent, and once more with a new warm parent if the first one dies.

        A warm parent is a process that has loaded the libraries, ``modules``, and forks a process for each program.

        Raises:
            ServiceError: The warm parent died each time.
        """
        died = ""
        for _ in range(ATTEMPTS):
            try:
                return use(self._parent(modules))
            except BaseException as error:  # a late answer must not be taken for the answer to the next job
                self._end_parent(modules)
                if not isinstance(error, DiedError):  # which, for instance, was killed because memory ran out
                    raise
                died = str(error)
        raise ServiceError(f"the sandbox's process died twice ({died}); run the same command again to resume")

    def _end_parent(self, modules: Modules) -> None:
        """End this thread's warm parent (the process that forks a process for each program), if it has one."""
        if parent := self._own.parents.pop(modules, None):
            with self._lock:
                self._parents.discard(parent)
            parent.close()

    def _parent(self, modules: Modules = LIGHT) -> WarmParent:
        """Return this thread's warm parent with these modules, after starting it if necessary.

        The warm parent is the process that forks a process for each program.

        Raises:
            DiedError: The warm parent was killed while it started.
            ServiceError: The warm parent does not start, or the sandbox is closed.
        """
        parents = self._own.parents
        if not self._is_closed and modules not in parents:
            parents[modules] = WarmParent(modules, mounts=self._mounts, confines=self._confines)
            with self._lock:
                self._parents.add(parents[modules])
        if self._is_closed:  # before this call, or while the warm parent started
            self.close()
            raise ServiceError("the sandbox was closed while a program ran; run the same command again to resume")
        return parents[modules]


class _Own(threading.local):
    """The warm parents of one thread, by the modules that they have loaded."""

    def __init__(self) -> None:
        self.parents: dict[Modules, WarmParent] = {}


def _needs_little(job: Job) -> bool:
    """Return whether a program and its driver seem to import nothing but numpy and Python's own library.

    A wrong answer costs time only, since every program can import what it needs.
    """
    text = f"{job.source}\n{job.driver or ''}"
    is_other = job.folder is not None or "scipy" in text
    return not is_other and {*_IMPORTED.findall(text)} <= sys.stdlib_module_names | {"numpy"}
