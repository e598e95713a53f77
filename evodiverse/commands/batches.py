"""List the batches of requests whose replies no run has read yet, or cancel them."""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from evodiverse.cache_folder import cache_folder
from evodiverse.commands.frame import finish, make_parser
from evodiverse.errors import InputError
from evodiverse.runner.process import say

if TYPE_CHECKING:
    from evodiverse.llm.batches import Batch, Shelf

_TIMEOUT_SECONDS = 60.0


def main(argv: Sequence[str] | None = None) -> int:
    """List or cancel batches and return the exit code: 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM.

    Args:
        argv: The arguments after the name of the command; None for those of the command line.
    """
    parser = make_parser("batches", __doc__)
    parser.add_argument(
        "--cancel", nargs="+", metavar="BATCH", help="cancel these batches, by their names in the list; all: all of it"
    )
    default = cache_folder() / "replies.sqlite"
    parser.add_argument("--cache", type=Path, default=default, metavar="FILE", help="reply cache; default: %(default)s")
    arguments = parser.parse_args(argv)
    return finish(lambda: _run(arguments.cache, arguments.cancel))


def _run(cache: Path, cancelled: Sequence[str] | None) -> None:
    from evodiverse.llm.batches import Shelf  # here so that --help stays fast
    from evodiverse.llm.keys import load_env_file

    load_env_file(Path(".env"))
    shelf = Shelf(cache)
    batches = shelf.read()
    names = {name for batch in batches for name in (batch.name, batch.job)}
    if cancelled is not None and cancelled != ["all"]:
        if unknown := [name for name in cancelled if name not in names]:
            raise InputError(f"{unknown[0]} is not in the list; run evodiverse-batches without --cancel to see it")
        batches = [batch for batch in batches if not {batch.name, batch.job}.isdisjoint(cancelled)]
    if not batches:
        say(f"no batch of {cache} is waited for")
    for batch in batches:
        say(asyncio.run(_describe(shelf, batch, is_cancelled=cancelled is not None)))


async def _describe(shelf: "Shelf", batch: "Batch", *, is_cancelled: bool) -> str:
    """Return a line about a batch, which is cancelled before if that is wanted."""
    from evodiverse.llm.endpoints import ENDPOINTS
    from evodiverse.llm.failures import RefusedError, TransientError

    sent = f"{datetime.fromtimestamp(batch.at, UTC):%Y-%m-%d %H:%M} UTC"
    line = f"{batch.job or batch.name}  {batch.model}  {len(batch.keys):,} requests  {batch.address}  {sent}"
    if batch.job is None:
        return f"{line}  not confirmed; run its command again, or see {shelf.path(batch)}"
    key = os.environ.get(batch.key_variable, "").strip()
    endpoint = ENDPOINTS[batch.api](batch.address, key, batch.key_variable, _TIMEOUT_SECONDS)
    try:
        if is_cancelled:
            await endpoint.cancel(batch.job)
        state = await endpoint.look(batch.job)
    except (RefusedError, TransientError) as error:
        return f"{line}  {error}"
    finally:
        await endpoint.close()
    if is_cancelled:
        return f"{line}  cancelled; run its command again to use the {state.n_done:,} replies that it has"
    return f"{line}  {'over, not read' if state.is_over else 'in progress'}, {state.n_done:,} done"
