"""The confinement that a program's process applies to itself before the program runs."""

import math
import os
import platform
import resource
import signal
import sys
import sysconfig
from contextlib import suppress

from evodiverse.sandbox import landlock, seccomp
from evodiverse.sandbox.disk import MAX_FILE_BYTES
from evodiverse.sandbox.kernel import PR_SET_NO_NEW_PRIVS, PR_SET_PDEATHSIG, drop_capabilities, prctl
from evodiverse.vocabulary import Limits

MAX_OPEN_FILES = 64
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/usr/share/zoneinfo")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_MEGABYTE = 1_000_000


def find_gaps() -> list[str]:
    """Return what this machine's kernel cannot prevent programs from reaching, as phrases for a message.

    The list is empty if the kernel protects everything.
    """
    gaps = []
    if not landlock.version():
        gaps.append("your files and the network (no Landlock)")
    if not seccomp.is_available():
        gaps.append("other processes and sockets (no seccomp)")
    return gaps


class Confinement:
    """The restrictions on a program's process.

    The warm parent is a process that has loaded libraries and forks a process for each program. It creates the
    restrictions once, before any program runs. The process of each program then calls `apply`, which takes effect
    permanently in that process.
    """

    def __init__(self) -> None:
        self._files = landlock.FileRules(_readable(), _DEVICES) if landlock.version() else None
        self._filter = seccomp.build_filter(platform.machine()) if seccomp.is_available() else None

    def apply(self, folder: str, limits: Limits, readable: str | None) -> None:
        """Limit the resources of this process, and leave it access only to two folders, libraries and a few devices.

        What the kernel cannot limit stays accessible; see `find_gaps`.

        Args:
            folder: The only folder that the program may write to. It becomes the current folder.
            limits: The limits of the program.
            readable: A folder that the program may read; None for no such folder.

        Raises:
            OSError: The kernel returned an error.
        """
        _limit(limits)
        # If memory runs out, the kernel kills this process before those of the run.
        with suppress(OSError), open("/proc/self/oom_score_adj", "w") as adjustment:
            adjustment.write("1000")
        os.chdir(folder)
        if sys.platform == "linux":
            drop_capabilities()
            prctl(PR_SET_NO_NEW_PRIVS, 1)
        if self._files is not None:
            self._files.restrict(folder, readable)
        if self._filter is not None:
            seccomp.install(self._filter)


def die_with(parent: int) -> None:
    """On Linux, let the kernel kill this process when its parent dies. End it now if the parent is already dead.

    Args:
        parent: The id of the parent process.
    """
    if sys.platform == "linux":
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _limit(limits: Limits) -> None:
    values = {
        resource.RLIMIT_CPU: math.ceil(limits.cpu_seconds) + 1,  # the supervisor ends it earlier, checking every 0.1 s
        resource.RLIMIT_AS: limits.memory_mb * _MEGABYTE,
        resource.RLIMIT_NOFILE: MAX_OPEN_FILES,
        resource.RLIMIT_FSIZE: MAX_FILE_BYTES,
        resource.RLIMIT_CORE: 1,  # with 0, a core dump could still go to a pipe
    }
    for limit, value in values.items():
        _, most = resource.getrlimit(limit)
        bounded = value if most == resource.RLIM_INFINITY else min(value, most)
        if limit != resource.RLIMIT_AS or sys.platform == "linux":  # macOS does not limit address space
            resource.setrlimit(limit, (bounded, bounded))


def _readable() -> list[str]:
    """Return the folders of Python, its packages and the system's libraries."""
    schemes = [sysconfig.get_paths(), sysconfig.get_paths(vars={"base": sys.base_prefix, "platbase": sys.base_prefix})]
    own = {scheme[name] for scheme in schemes for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    packages = {os.path.dirname(os.path.dirname(sys.modules[name].__file__ or "")) for name in ("numpy", "scipy")}
    return sorted({*own, *packages, os.path.join(sys.base_prefix, "lib"), *_LIBRARIES} - {""})
