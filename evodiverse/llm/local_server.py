"""A server for a local language model, in a separate process that lives as long as the run."""

import secrets
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from evodiverse.errors import ServiceError

_STOP_SECONDS = 10
# The number of tokens that the server reserves for the prompt of each simultaneous query.
_PROMPT_TOKENS = 4096


class LocalServer:
    """A server that runs the model in a GGUF file and speaks OpenAI's protocol.

    It listens on a free port of the loopback interface and requires a random key. The server stops when a pipe from
    this process is closed, so it ends with this process or, if it is still loading the model then, after that. Use it
    as a context manager.

    Args:
        gguf: The model file.
        slots: The number of queries answered at the same time.
        max_tokens: The length of the longest reply, in tokens.

    Attributes:
        key: The API key that the server requires.
        address: The address of the server; empty until the server has started.
    """

    def __init__(self, gguf: Path, slots: int, max_tokens: int) -> None:
        self.key = secrets.token_urlsafe(24)
        self.address = ""
        self._gguf = gguf
        self._arguments = [str(gguf), str(slots), str(slots * (_PROMPT_TOKENS + max_tokens))]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Start the server and wait until it has loaded the model.

        Raises:
            ServiceError: The server does not start.
        """
        with tempfile.TemporaryFile("w+", errors="replace") as messages:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "evodiverse.llm.serve", *self._arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                text=True,
                start_new_session=True,  # Ctrl-C goes only to the run
            )
            if self._process.stdin is None or self._process.stdout is None:
                raise RuntimeError("the server was started without pipes")
            self._process.stdin.write(f"{self.key}\n")
            self._process.stdin.flush()
            self.address = self._process.stdout.readline().strip()
            if not self.address:
                self._stop()
                messages.seek(0)
                last = messages.read().strip().splitlines()[-1:]
                raise ServiceError(
                    f"cannot serve {self._gguf} ({''.join(last)}); check that it is a complete GGUF file"
                )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the server."""
        self._stop()

    def _stop(self) -> None:
        if self._process is None:
            return
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
