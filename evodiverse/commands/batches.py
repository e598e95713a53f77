"""List the batches of requests whose replies no run has read yet, or cancel them."""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from evodiverse.commands.frame import finish, make_parser
from evodiverse.errors import EvoDiverseError, InputError
from evodiverse.kit.environment import cache_folder
from evodiverse.llm.settings import REPLIES
from evodiverse.runner.process import say

if TYPE_CHECKING:
    from evodiverse.llm.shelf import Batch


def main(argv: Sequence[str] | None = None) -> int:
    """List or cancel batches and return the exit code: 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM.

    Args:
        argv: The arguments after the name of the command; None for those of the command line.
    """
    parser = make_parser("batches", __doc__)
    shown, default = "cancel these batches, by their names in the list; all: all of it", cache_folder() / REPLIES
    parser.add_argument("--cancel", nargs="+", metavar="BATCH", help=shown)
    parser.add_argument("--cache", type=Path, default=default, metavar="FILE", help="reply cache; default: %(default)s")
    arguments = parser.parse_args(argv)
    return finish(lambda: _run(arguments.cache, arguments.cancel))


def _run(cache: Path, cancelled: Sequence[str] | None) -> int:
    """List or cancel batches, and return the exit code."""
    from evodiverse.llm.cache import ReplyCache  # here so that --help stays fast
    from evodiverse.llm.failures import RefusedError, TransientError
    from evodiverse.llm.keys import load_env_file
    from evodiverse.llm.shelf import Shelf

    load_env_file(Path(".env"))
    shelf = Shelf(cache)
    batches: list[Batch] = []
    if shelf.folder.exists():
        with ReplyCache(cache) as opened:
            batches = shelf.prune(opened)
    if not batches:
        say(f"no batch of {cache} is waited for")
    exit_code = 0
    for batch in _choose(batches, cancelled):
        sent = f"{datetime.fromtimestamp(batch.at, UTC):%Y-%m-%d %H:%M} UTC"
        facts = f"{batch.job or batch.name}  {batch.model}  {len(batch.keys):,} requests  {batch.address}  {sent}"
        try:
            say(f"{facts}  {asyncio.run(_report(batch, str(shelf.path(batch)), cancelled))}")
        except (RefusedError, TransientError) as error:
            say(f"{facts}  {error}")
            exit_code = EvoDiverseError.exit_code
    return exit_code


def _choose(batches: "Sequence[Batch]", names: Sequence[str] | None) -> "Sequence[Batch]":
    """Return the batches with these names; all of them if no names are given, or ``all``.

    Raises:
        InputError: A name is unknown.
    """
    if names is None or names == ["all"]:
        return batches
    known = {name for batch in batches for name in (batch.name, batch.job)}
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"{unknown[0]} is not in the list; run evodiverse-batches without --cancel to see it")
    return [batch for batch in batches if batch.name in names or batch.job in names]


async def _report(batch: "Batch", path: str, cancelled: Sequence[str] | None) -> str:
    """Return the state of a batch, which is cancelled before if that is wanted.

    Raises:
        TransientError: The provider does not answer.
        RefusedError: It refuses to.
    """
    from evodiverse.llm.endpoints import ENDPOINTS

    if batch.job is None:
        return f"not confirmed; run its command again, or see {path}"
    if cancelled == ["all"] and batch.is_guess:
        return "left alone, since it may be someone else's; name it to cancel it"
    key = os.environ.get(batch.key_variable, "").strip()
    endpoint = ENDPOINTS[batch.api](batch.address, key, batch.key_variable, timeout_s=60.0)
    try:
        if cancelled is not None:
            await endpoint.cancel(batch.job)
        state = await endpoint.look(batch.job)
    finally:
        await endpoint.close()
    if cancelled is not None:
        return f"cancelled; run its command again to use the {state.n_done:,} replies that it has"
    return f"{'over, not read' if state.is_over else 'in progress'}, {state.n_done:,} done"
