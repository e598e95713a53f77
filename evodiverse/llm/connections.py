"""The connections through which EvoDiverse itself asks providers."""

import asyncio
from typing import Any, Final

import httpx

from evodiverse.errors import describe
from evodiverse.llm.client import shorten
from evodiverse.llm.failures import TransientError
from evodiverse.llm.transfer import MAX_BODY_BYTES, Transfer, exchange

_KEEP_ALIVE_SECONDS: Final = 60.0


class Connections:
    """Connections to any number of hosts, which are kept for later requests.

    Args:
        timeout_s: The longest that a response may take, in seconds.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._certificates = httpx.create_ssl_context()  # once for all connections, since it takes long
        # A client for each request in progress: a pool of connections takes time in proportion to their number.
        self._idle: list[httpx.AsyncClient] = []

    async def send(
        self,
        transfer: Transfer,
        method: str,
        address: str,
        headers: dict[str, str],
        *,
        most_bytes: int = MAX_BODY_BYTES,
        **content: Any,
    ) -> tuple[httpx.Response, bytes]:
        """Send a request, and return the response, whatever its status, and its body.

        Args:
            transfer: What the secrets of the request and a rejection of the response are recorded in.
            method: The method, such as ``POST``.
            address: The address.
            headers: The headers, with the key.
            most_bytes: The longest body that is accepted.
            content: The content of the request, as `httpx.AsyncClient.build_request` takes it.

        Raises:
            TransientError: No response has come in time, or it breaks the rules of `transfer`.
            RefusedError: The response is a redirect.
        """
        client = self._idle.pop() if self._idle else self._connect()
        request = client.build_request(method, address, headers=headers, **content)
        place = request.url.netloc.decode()
        try:
            async with asyncio.timeout(self._timeout_s):
                return await exchange(client.send, request, transfer, most_bytes)
        except TimeoutError as error:
            raise TransientError(f"no reply from {place} within {self._timeout_s:g} s") from error
        except httpx.HTTPError as error:
            message = shorten(f"the query to {place} failed ({describe(error)})", *transfer.secrets)
            raise transfer.failure or TransientError(message) from error
        finally:
            self._idle.append(client)

    async def close(self) -> None:
        """Close all connections."""
        while self._idle:
            await self._idle.pop().aclose()

    def _connect(self) -> httpx.AsyncClient:
        limits = httpx.Limits(keepalive_expiry=_KEEP_ALIVE_SECONDS)
        return httpx.AsyncClient(verify=self._certificates, timeout=None, limits=limits)  # noqa: S113 (see `send`)
