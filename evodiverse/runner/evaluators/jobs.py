"""Processes of an evaluator program. They outlive the run, and the next start of the run finds them."""

import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from evodiverse.errors import InputError, reason
from evodiverse.kit.files import read_json, read_up_to, write_file
from evodiverse.vocabulary import Hypothesis

CANDIDATES: Final = "candidates.jsonl"
SCORES: Final = "scores.jsonl"
ERRORS: Final = "errors.txt"
_PROCESS: Final = "process.json"
_MOST_LINE: Final = 1 << 20
_MOST_RECORD: Final = 1 << 26
_MOST_ERRORS: Final = 10_000
_PROC: Final = Path("/proc")
_START: Final = 19  # place of the start time in /proc/PID/stat, counted from 0 at the state


def check_command(command: Sequence[str]) -> None:
    """Refuse a command whose program does not exist.

    Raises:
        InputError: There is no such program, or it is not executable.
    """
    if shutil.which(command[0]) is None:
        why = os.strerror(errno.EACCES if Path(command[0]).is_file() else errno.ENOENT)
        raise InputError(f"evaluator.command: {command[0]} cannot be started ({why}); check the path")


@dataclass(slots=True)
class Job:
    """One process of the program, with a folder of its own.

    Attributes:
        folder: The folder with the candidates that the program reads and the scores that it writes.
        keys: The keys of the candidates for which no answer has been read yet.
        began: The time when it was started, in seconds since 1970; 0 if unknown.
        pid: The identifier of its process, or None if unknown or on another machine.
        mark: A text that distinguishes its process from a later one with the same ``pid``; None if unknown.
        process: The process itself, or None if an earlier start of the run began it.
        offset: The number of bytes of the scores that have been read.
    """

    folder: Path
    keys: set[str]
    began: float
    pid: int | None
    mark: str | None
    process: subprocess.Popen[bytes] | None = None
    offset: int = 0

    @classmethod
    def begin(cls, folder: Path, command: Sequence[str], hypotheses: Sequence[Hypothesis]) -> Self:
        """Start the program on these candidates.

        Raises:
            InputError: The program cannot be started.
        """
        folder.mkdir(parents=True)
        lines = [json.dumps({"key": one.key, "genotype": one.genotype}) for one in hypotheses]
        write_file(folder / CANDIDATES, "".join(f"{line}\n" for line in lines).encode())
        env = {**os.environ, "PYTHONUNBUFFERED": "1"}  # a line counts as soon as it is written
        host, began = socket.gethostname(), time.time()
        try:
            with (
                (folder / CANDIDATES).open("rb") as candidates,
                (folder / SCORES).open("ab") as scores,
                (folder / ERRORS).open("ab") as errors,
            ):
                process = subprocess.Popen(
                    command, stdin=candidates, stdout=scores, stderr=errors, env=env, start_new_session=True
                )
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise InputError(
                f"evaluator.command: {command[0]} cannot be started ({reason(error)}); check the path"
            ) from error
        mark = _find_mark(process.pid)
        # If the run is killed before this file is written, its next start does not know that the program is running.
        record = {"pid": process.pid, "mark": mark, "began": began, "host": host}
        write_file(folder / _PROCESS, json.dumps(record).encode())
        return cls(folder, {one.key for one in hypotheses}, began, process.pid, mark, process)

    @classmethod
    def find(cls, folder: Path) -> Self:
        """Return the job that an earlier start of the run left in a folder, whether or not it is still running."""
        keys = {str(line["key"]) for line in _parse((folder / CANDIDATES).read_bytes()) if "key" in line}
        try:
            record: Mapping[str, Any] = read_json(folder / _PROCESS, _MOST_RECORD)
        except (OSError, ValueError):  # the run was killed between writing the two files
            record = {}
        is_here = record.get("host") == socket.gethostname()
        pid, mark = (record.get("pid"), record.get("mark")) if is_here else (None, None)
        return cls(folder, keys, float(record.get("began") or 0.0), pid, mark)

    def is_alive(self) -> bool:
        """Return whether the program is known to be still running on this machine."""
        if self.process is not None:
            return self.process.poll() is None
        return self.pid is not None and self.mark is not None and _find_mark(self.pid) == self.mark

    def read(self) -> Iterator[Mapping[str, Any]]:
        """Yield the lines that the program has written since the last call, if they are JSON objects.

        While the program is running, an incomplete last line is left for a later call.
        """
        is_alive = self.is_alive()  # checked first: the program may write its last lines and end meanwhile
        with (self.folder / SCORES).open("rb") as file:
            file.seek(self.offset)
            content = read_up_to(file, _MOST_RECORD)
        whole, newline, rest = content.rpartition(b"\n")
        if not is_alive:
            whole, newline, rest = content, b"", b""
        elif len(rest) > _MOST_LINE:
            whole, newline = content, b""
        self.offset += len(whole) + len(newline)
        yield from _parse(whole)

    def kill(self) -> None:
        """If the program is still running, kill it and all processes of its group."""
        if self.pid is not None and self.is_alive():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def describe_end(self) -> str:
        """Return how the program ended: its exit code, if that is known, and its last line on standard error."""
        code = None if self.process is None else self.process.poll()
        ended = "it ended" if code is None else f"exit code {code}"
        with suppress(OSError):
            lines = (self.folder / ERRORS).read_bytes()[-_MOST_ERRORS:].decode(errors="replace").split("\n")
            said = next((line.strip() for line in reversed(lines) if line.strip()), "")
            return f"{ended}: {said[:300]}" if said else ended
        return ended

    def remove(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _parse(content: bytes) -> Iterator[Mapping[str, Any]]:
    for line in content.splitlines():
        with suppress(ValueError, RecursionError):
            parsed = json.loads(line[:_MOST_LINE])
            if isinstance(parsed, dict):
                yield parsed


def _find_mark(pid: int) -> str | None:
    """Return a string that identifies a running process; None if it does not exist or is a zombie.

    Two processes with the same ``pid`` differ in their start times. The text does not depend on settings such as the
    time zone, since they may be different when the run is started again.
    """
    if not (_PROC / "self" / "stat").exists():  # for instance on macOS
        return _ask_ps(pid)
    try:
        # The name of the program, in parentheses, may contain anything, so the fields are counted from its end.
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        boot = (_PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
    except OSError:
        return None
    state, began = fields[0].decode(), fields[_START].decode()
    return None if state in ("Z", "X") else f"{began} ticks after the start of {boot}"


def _ask_ps(pid: int) -> str | None:
    """Return the start time of a running process in UTC, as ``ps`` prints it.

    The result is None if the process does not exist or is a zombie, or if there is no ``ps``.
    """
    env = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    try:
        listed = subprocess.run(command, env=env, capture_output=True, text=True)
    except OSError:
        return None
    state, _, began = listed.stdout.strip().partition(" ")
    return None if listed.returncode or state.startswith("Z") else began.strip()
