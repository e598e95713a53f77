"""The confinement that a program's process applies to itself before the program runs.

Landlock limits the files that the process may open (Linux 5.13 and later), and `seccomp` its system calls.
"""

import ctypes
import math
import os
import platform
import resource
import signal
import sys
import sysconfig
from contextlib import suppress

from evodiverse.sandbox import seccomp
from evodiverse.sandbox.disk import MAX_FILE_BYTES
from evodiverse.sandbox.kernel import PR_SET_NO_NEW_PRIVS, PR_SET_PDEATHSIG, drop_capabilities, prctl, syscall
from evodiverse.vocabulary import Limits

MAX_OPEN_FILES = 64
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/usr/share/zoneinfo")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

# The system calls, flags and rights of Landlock.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # on every architecture
_ASK_VERSION = 1
_PATH_BENEATH = 1

WRITE_FILE, READ_FILE, READ_DIR = 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
REFER, TRUNCATE = 1 << 13, 1 << 14
_READ = READ_FILE | READ_DIR
_OWN = _READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE
_DEVICE = READ_FILE | WRITE_FILE | TRUNCATE
# What each version of the interface can deny: files; TCP; abstract Unix sockets and signals to other processes.
_DENIED = ((0x1FFF, 0, 0), (0x3FFF, 0, 0), (0x7FFF, 0, 0), (0x7FFF, 3, 0), (0xFFFF, 3, 0), (0xFFFF, 3, 3))


def find_gaps() -> list[str]:
    """Return what this machine's kernel cannot prevent programs from reaching, as phrases for a message.

    The list is empty if the kernel protects everything.
    """
    gaps = []
    if not landlock_version():
        gaps.append("your files and the network (no Landlock)")
    if not seccomp.is_available():
        gaps.append("other processes and sockets (no seccomp)")
    return gaps


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("tcp", ctypes.c_uint64), ("scopes", ctypes.c_uint64)]


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def landlock_version() -> int:
    """Return the version of the kernel's Landlock interface; 0 if the kernel has none."""
    if sys.platform == "linux":
        with suppress(OSError):
            return syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    return 0


class FileRules:
    """The files that a process may open: some to read, some devices, and one folder to read and write.

    The warm parent, which is the process that forks a process for each program, creates the rules once, before any
    program runs. The process of each program then calls `restrict`, which takes effect permanently in that process.
    """

    def __init__(self) -> None:
        self._ruleset = _Ruleset(*_DENIED[min(landlock_version(), len(_DENIED)) - 1])
        self._handled: int = self._ruleset.files
        self._places: list[tuple[int, int]] = []
        for paths, rights in ((_readable(), _READ), (_DEVICES, _DEVICE)):
            for path in paths:
                with suppress(FileNotFoundError, NotADirectoryError):
                    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
                    allowed = rights if os.path.isdir(path) else rights & ~READ_DIR
                    self._places.append((place, allowed & self._handled))

    def restrict(self, folder: str, readable: str | None) -> None:
        """Deny this process all files except those that the rules allow and those in two folders.

        Args:
            folder: The folder that the process may read and write.
            readable: The folder that the process may only read; None for no such folder.

        Raises:
            OSError: The kernel returned an error.
        """
        # A kernel that knows only the first fields accepts the others too, since they are 0 then.
        ruleset = syscall(_CREATE_RULESET, ctypes.byref(self._ruleset), ctypes.sizeof(_Ruleset), 0)
        folders = {folder: _OWN} if readable is None else {readable: _READ, folder: _OWN}
        own = [(os.open(path, os.O_PATH), rights & self._handled) for path, rights in folders.items()]
        for place, rights in [*self._places, *own]:
            rule = _Rule(rights, place)
            syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
        syscall(_RESTRICT_SELF, ruleset, 0)


class Confinement:
    """The restrictions on a program's process.

    The warm parent is a process that has loaded libraries and forks a process for each program. It creates the
    restrictions once, before any program runs. The process of each program then calls `apply`, which takes effect
    permanently in that process.
    """

    def __init__(self) -> None:
        self._files = FileRules() if landlock_version() else None
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
        resource.RLIMIT_AS: limits.memory_mb * 1_000_000,
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
