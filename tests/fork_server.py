"""A process that has loaded what the commands load, and forks itself for each start of one.

Run by `tests.starts`. A start has its own arguments, folder, environment, standard streams and process group, runs as
``__main__`` and ends as the interpreter ends, so that a test cannot tell it from a cold one.
"""

import fcntl
import functools
import gc
import importlib
import io
import json
import multiprocessing.util
import os
import pickle
import runpy
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import omegaconf._utils
import omegaconf.base
import omegaconf.resolvers.oc
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from evodiverse.settings import find_conf
from evodiverse.settings.schema import register

HEADER = struct.Struct("!Q")  # bytes of the request that follows
STATUS = struct.Struct("!q")  # the process, then its exit code
LOADED = [
    "evodiverse.cli",
    "evodiverse.commands.show",
    "evodiverse.commands.tables",
    "evodiverse.runner.display",
    "evodiverse.runner.workers",
    "evodiverse.settings.assembly",
    "evodiverse.tasks.equations.domain",
    "evodiverse.tasks.molecules.domain",
    "evodiverse.tasks.programs.domain",
]
LOADED_FOR_TABLES = [
    "evodiverse.commands.table_files",
    "evodiverse.tasks.equations.metrics",
    "evodiverse.tasks.molecules.metrics",
]


@dataclass(frozen=True)
class Start:
    """One start of Python.

    Args:
        command: What follows ``python``: ``-m`` and a module, ``-c`` and code, or a file; then the arguments.
        cwd: The folder it starts in.
        env: The whole environment.
        new_session: Whether it leads a session, and so a process group, of its own.
    """

    command: Sequence[str]
    cwd: str
    env: dict[str, str]
    new_session: bool

    @property
    def has_workers(self) -> bool:
        return "evodiverse" in self.command and "evaluator.workers=1" not in self.command

    @property
    def asks_a_model(self) -> bool:
        return any(argument.startswith("llm=") and argument != "llm=off" for argument in self.command)

    @property
    def makes_tables(self) -> bool:
        return self.command[0].endswith("tables.py")


def serve(channel: socket.socket) -> Start:
    """Fork for each start that comes; return it in the new process. The server itself ends here, with its client."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is pytest's business
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no watcher is waited for
    load()
    gc.freeze()
    while True:
        header, streams, _, _ = socket.recv_fds(channel, HEADER.size, 4)
        if not header:
            sys.exit()
        start = Start(**json.loads(_receive(channel, *HEADER.unpack(header))))
        if start.asks_a_model:
            importlib.import_module("evodiverse.llm.chat")
        if start.makes_tables:
            for module in LOADED_FOR_TABLES:
                importlib.import_module(module)
        gc.freeze()
        if os.fork() == 0:
            channel.close()
            _watch(start, *streams)
            return start
        for stream in streams:
            os.close(stream)


def load() -> None:
    """Import what the commands import, and compose once: Hydra looks for plugins, and grammars are built."""
    for module in LOADED:
        importlib.import_module(module)
    keep_what_hydra_reads()
    register()
    with initialize_config_dir(config_dir=str(find_conf()), version_base="1.3"):
        compose("config", overrides=["seed=1", "method.ladder=[0.8,0.2]"], return_hydra_config=True)


_load = OmegaConf.load
_files: dict[str, bytes] = {}


def keep_what_hydra_reads() -> None:
    """Let this process and those it forks parse each text once: the same few files are composed a thousand times.

    Of a file of options, and of an expression in it, only the text counts; one that a test changes is read again.
    """
    parse = functools.lru_cache(maxsize=1_000)(omegaconf.base.parse)
    for module in (omegaconf._utils, omegaconf.base, omegaconf.resolvers.oc):
        module.parse = parse
    OmegaConf.load = staticmethod(_load_once)


def _load_once(file: Any) -> Any:
    if not isinstance(file, io.TextIOBase):
        return _load(file)
    text = file.read()
    if text not in _files:
        file.seek(0)
        _files[text] = pickle.dumps(_load(file))  # one that is no YAML raises each time, with the name of its file
    return pickle.loads(_files[text])


def _receive(channel: socket.socket, n_bytes: int) -> bytes:
    content = b""
    while len(content) < n_bytes:
        content += channel.recv(n_bytes - len(content))
    return content


def _watch(start: Start, status: int, *streams: int) -> None:
    """Fork once more, report the new process and how it ends; return in the new process alone."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    process = os.fork()
    if process == 0:
        os.close(status)
        _become(start, streams)
        return
    for stream in streams:
        os.close(stream)
    os.write(status, STATUS.pack(process))
    os.write(status, STATUS.pack(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])))
    os._exit(0)


def _become(start: Start, streams: Sequence[int]) -> None:
    """Take on what a start brings with it."""
    for target, stream in enumerate(streams):
        os.dup2(stream, target)
        os.close(stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if start.new_session:
        os.setsid()
    checkout = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    ours = {str(Path(__file__).parent), *checkout}
    os.chdir(start.cwd)
    os.environ.clear()
    os.environ.update(start.env)
    first = [start.cwd] if start.command[0] in ("-m", "-c") else [os.path.dirname(os.path.abspath(start.command[0]))]
    theirs = [folder for folder in start.env.get("PYTHONPATH", "").split(os.pathsep) if folder]
    installed = [folder for folder in sys.path if folder not in ours]
    # The checkout comes last, where an editable installation has it, but for its being in PYTHONPATH.
    sys.path[:] = [*(first if not start.env.get("PYTHONSAFEPATH") else []), *theirs, *installed, *checkout]
    if start.has_workers:
        _prepare_for_workers()


def _prepare_for_workers() -> None:
    """Fork a process that stands in for the one that forks a run's workers, which would load all modules again."""
    ours, theirs = socket.socketpair()
    process = os.fork()
    if process == 0:
        ours.close()
        _stand_in(theirs)
    theirs.close()
    spawn = multiprocessing.util.spawnv_passfds

    def spawn_or_ask(path: bytes, arguments: Sequence[str], passed: Sequence[int]) -> int:
        if not arguments[-1].startswith("from multiprocessing.forkserver import main"):
            return int(spawn(path, arguments, passed))
        multiprocessing.util.spawnv_passfds = spawn
        with ours:
            socket.send_fds(ours, [json.dumps([arguments[-1], list(passed)]).encode()], passed)
        return process

    multiprocessing.util.spawnv_passfds = spawn_or_ask


def _stand_in(asked: socket.socket) -> NoReturn:
    """Wait until the run starts workers, and then do what ``python -c`` would; end where it ends without."""
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, signal.SIG_IGN)  # as workers do
    with asked:
        message, received, _, _ = socket.recv_fds(asked, 2**20, 9)
    if message:
        code, numbers = json.loads(message)
        taken = [fcntl.fcntl(received_as, fcntl.F_DUPFD, 200) for received_as in received]
        os.closerange(min(received), max(received) + 1)
        for held, number in zip(taken, numbers, strict=True):
            os.dup2(held, number)
            os.close(held)
        exec(code, {"__name__": "__main__"})  # noqa: S102
    sys.exit()


def run(start: Start) -> None:
    """Do what the interpreter does with a command line."""
    if start.command[0] == "-m":
        _, module, *arguments = start.command
        sys.argv[1:] = arguments
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    elif start.command[0] == "-c":
        sys.argv[:] = ["-c", *start.command[2:]]
        sys.modules["__main__"] = ModuleType("__main__")
        exec(start.command[1], vars(sys.modules["__main__"]))  # noqa: S102
    else:
        sys.argv[:] = start.command
        runpy.run_path(start.command[0], run_name="__main__")


if __name__ == "__main__":
    run(serve(socket.socket(fileno=int(sys.argv[1]))))
