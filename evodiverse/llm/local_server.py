"""A model that runs here: a server in a process of its own, for as long as a run."""

import secrets
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from evodiverse.errors import ServiceError

_STOP_SECONDS = 10
# Tokens a slot has for the prompt.
_PROMPT_TOKENS = 4096


class LocalServer:
    """Serves a GGUF file over OpenAI's protocol, on the loopback interface, a free port, and with a random key.

    It ends with this process, whatever ends it: it watches a pipe. Use it as a context manager.

    Args:
        gguf: The model.
        slots: Queries answered at once.
        max_tokens: Longest reply.
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
            ServiceError: It does not start.
        """
        with tempfile.TemporaryFile("w+", errors="replace") as messages:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "evodiverse.llm.serve", *self._arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                text=True,
                start_new_session=True,  # a terminal's Ctrl-C is the run's business
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
                raise ServiceError(f"cannot serve {self._gguf} ({''.join(last)}); is it a whole GGUF file?")
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
