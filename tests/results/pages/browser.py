"""Headless Chromium, controlled over its debugging protocol."""

import asyncio
import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page:
    """An open page; ``complaints`` are the errors and warnings of its console."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self.complaints: list[str] = []
        self.is_loaded = False

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        await self._socket.send_str(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            message = await self._read()
            if message.get("id") == self._number:
                return message["result"]

    async def open(self, file: Path) -> None:
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.ask(f"{domain}.enable")
        await self.ask("Page.navigate", url=file.as_uri())
        while not self.is_loaded:
            await self._read()

    async def run(self, script: str) -> Any:
        found = await self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def _read(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads((await self._socket.receive()).data)
        method, params = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self.is_loaded = True
        elif method == "Log.entryAdded" and params["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in {"error", "warning"}:
            self.complaints.append(str(params["args"]))
        elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file:", "data:")):
            self.complaints.append(f"asks for {params['request']['url']}")
        return message


@asynccontextmanager
async def opened(file: Path, profile: Path) -> AsyncIterator[Page]:
    """Open a file."""
    assert CHROMIUM
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--no-first-run"]
    process = subprocess.Popen(
        [CHROMIUM, *flags, f"--user-data-dir={profile}", "about:blank"], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr
        port = next(
            match[1] for line in process.stderr if (match := re.search(r"listening on ws://127\.0\.0\.1:(\d+)/", line))
        )
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                targets = await answer.json(content_type=None)
            url = next(target["webSocketDebuggerUrl"] for target in targets if target["type"] == "page")
            async with session.ws_connect(url, max_msg_size=1 << 26) as socket:
                page = Page(socket)
                async with asyncio.timeout(60):
                    await page.open(file)
                yield page
    finally:
        process.kill()
        process.wait()
        if process.stderr:
            process.stderr.close()
