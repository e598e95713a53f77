"""A command of the user, which is started for each query: the prompt on its stdin, the reply on its stdout."""

import asyncio
import hashlib
import os
import re
import signal
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from evodiverse.errors import reason
from evodiverse.kit.inputs import find_fault, find_files, input_sha256
from evodiverse.llm.clients.kind import Kind
from evodiverse.llm.failures import TransientError
from evodiverse.llm.keys import load_env_file, redact
from evodiverse.llm.library import Price
from evodiverse.llm.settings import Llm
from evodiverse.text import one_line, printable
from evodiverse.vocabulary import Finish, Query, Reply

MOST_BYTES: Final = 1_000_000
"""Longer than any real reply. A longer one is cut off, and its finish is `Finish.LENGTH`."""
_CHUNK: Final = 1 << 16
_POLL_SECONDS: Final = 0.1
_MOST_ERRORS: Final = 10_000
_SECRET: Final = re.compile(r"(\b|_|api)(key|token|secret|password|bearer)[ =]+[^\s-]\S{7}", re.IGNORECASE)


class Command(Kind):
    """A command that answers. What its replies cost is unknown, and so is the number of their tokens."""

    def find_violations(self, settings: Llm, *, needs_price: bool) -> list[str]:
        """Return what is wrong with the command, and the sampling parameters, which no command can be sent."""
        load_env_file(Path(".env"))
        words, text = settings.command_words, settings.command or ""
        if not words:
            fault = "has quotes that do not match" if text.strip() else "has no value"
            return [f"llm.command {fault}; name the program, such as llm.command='claude -p'"]
        if redact(text) != text or _SECRET.search(text):
            remedy = "put the key into an environment variable or a file, from which the program reads it"
            return [f"llm.command must not contain a key, since it is logged; {remedy}"]
        why = find_fault(words[0])
        violations = [] if why is None else [f"llm.command: {words[0]} cannot be started ({why}); check the path"]
        for name, (used,) in settings.samplers.items():
            parameters = {key: getattr(used.decoding, key) for key in ("temperature", "top_p", "seed")}
            for key, value in {**parameters, **used.decoding.extra}.items():
                if value is not None:
                    place, remedy = settings.place(key, name), settings.remedy(key, [name])
                    violations.append(f"{place}={value}: a command takes no sampling parameters; {remedy}")
        if needs_price:
            violations.append("budget.usd: the price of a command is unknown; set budget.llm_calls instead")
        return list(dict.fromkeys(violations))

    def complete(self, settings: Llm, artifact: Callable[[str], Path]) -> Llm:  # noqa: ARG002 (nothing is fetched)
        """Return the settings with a model name that identifies the command.

        The name is ``command/``, the name of the program, ``@``, and the first 8 hex digits of a digest of the command
        and of the user's files that are words of it.
        """
        words = settings.command_words
        files = [input_sha256(path, "llm.command") for path in find_files(words, "model").values()]
        digest = hashlib.sha256("\n".join([settings.command or "", *files]).encode()).hexdigest()
        return replace(settings, model=f"command/{Path(words[0]).name}@{digest[:8]}")

    def price(self, model: str, settings: Llm) -> Price | None:  # noqa: ARG002
        """Return None, since the price is unknown."""
        return None

    @contextmanager
    def open(self, settings: Llm) -> "Iterator[CommandClient]":
        """Open a client, which starts the command."""
        yield CommandClient(settings.command_words, settings.timeout)


@dataclass
class CommandClient:
    """A client that starts a command for each query.

    The process leads a process group of its own. The whole group is killed once the command has ended, has written too
    much, or has taken too long, and when the query is canceled.

    Attributes:
        words: The program and its arguments.
        timeout_s: The longest that a reply may take, in seconds.
    """

    words: Sequence[str]
    timeout_s: float
    _running: set[Process] = field(default_factory=set, init=False)

    async def ask(self, query: Query) -> Reply:
        """Start the command and return what it writes, without line breaks at the end, and with its reasoning apart.

        Several messages are joined by empty lines, without their roles.

        Raises:
            TransientError: The command could not be started, took too long, or reported a failure by its exit code.
        """
        from evodiverse.llm.client import Answer  # not at the top: checking the settings does not need httpx

        began = time.perf_counter()
        prompt = "\n\n".join(message.content for message in query.messages)
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(*self.words, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True)
        )
        try:
            process = await asyncio.shield(starting)
        except OSError as error:
            raise TransientError(f"{self.words[0]} cannot be started ({reason(error)})") from error
        except asyncio.CancelledError:  # asyncio itself would end the process alone, and wait for its children
            with suppress(OSError):
                await self._end(await starting)
            raise
        self._running.add(process)
        try:
            async with asyncio.timeout(self.timeout_s):
                output, errors = await _converse(process, prompt.encode("utf-8", "replace"))
                is_cut = len(output) > MOST_BYTES
                code = 0 if is_cut else await process.wait()
        except TimeoutError as error:
            raise TransientError(f"no reply within {self.timeout_s:g} s") from error
        finally:
            await self._end(process)
        if code:
            lines = redact(errors.decode(errors="replace")).split("\n")
            last = next((line for line in reversed(lines) if line.strip()), "it wrote nothing to stderr")
            raise TransientError(f"the command ended with exit code {code}: {printable(one_line(last, 500))}")
        text = output[:MOST_BYTES].decode(errors="ignore" if is_cut else "backslashreplace").rstrip("\n")
        answer = Answer(text, Finish.LENGTH if is_cut else Finish.STOP)
        return answer.to_reply((), time.perf_counter() - began, None)

    def price(self, model: str) -> Price | None:  # noqa: ARG002
        """Return None, since the price is unknown."""
        return None

    async def close(self) -> None:
        """End the processes of canceled queries."""
        for process in list(self._running):
            await self._end(process)

    async def _end(self, process: Process) -> None:
        _kill(process)
        await process.wait()
        self._running.discard(process)


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def _converse(process: Process, prompt: bytes) -> tuple[bytes, bytes]:
    """Write the prompt to a process; return what it writes to stdout, and the end of what it writes to stderr.

    Once stdout exceeds `MOST_BYTES`, the process is killed.
    """
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    if stdin is None or stdout is None or stderr is None:
        raise TypeError("the process has no pipes")

    async def feed() -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # it may answer without reading the prompt
            stdin.write(prompt)
            await stdin.drain()
        stdin.close()

    async def read_output() -> bytes:
        output = bytearray()
        while chunk := await stdout.read(_CHUNK):
            output += chunk[: MOST_BYTES + 1 - len(output)]
            if len(output) > MOST_BYTES:
                _kill(process)
        return bytes(output)

    async def read_errors() -> bytes:
        errors = b""
        while chunk := await stderr.read(_CHUNK):
            errors = (errors + chunk)[-_MOST_ERRORS:]
        return errors

    async def end_helpers() -> None:
        while process.returncode is None:  # `wait` also waits for the pipes, which a helper may keep open
            await asyncio.sleep(_POLL_SECONDS)
        _kill(process)

    ending = asyncio.create_task(end_helpers())
    try:
        _, output, errors = await asyncio.gather(feed(), read_output(), read_errors())
    finally:
        ending.cancel()
    return output, errors
