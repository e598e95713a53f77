"""Mating pools, slots (places for one offspring each), and the requests for offspring.

The requests go to a classical operator or to a language model, which makes offspring from parents.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evodiverse.search.archive import Archive
from evodiverse.search.exchange import Pools
from evodiverse.search.sampling import IntArray, draw_distinct, sample_with_replacement, sample_without_replacement
from evodiverse.search.settings import Method
from evodiverse.search.streams import Purpose, Streams
from evodiverse.search.weights import weights
from evodiverse.vocabulary import Candidate, Request


class Slot(NamedTuple):
    """A place for one offspring: the number of the slot within its pool, and the index of the pool.

    Slots are sorted by slot number, then by pool.
    """

    slot: int
    pool: int


def deal_slots(pools: Pools, each: int, most: int) -> list[Slot]:
    """Return the slots (places for one offspring) of an iteration, ``each`` of them for each pool with members.

    There are never more slots than ``most``. Slots are dealt to the pools in turn, one at a time, so the pools share
    the last calls fairly if the budget runs out within an iteration.
    """
    mating = [pool for pool, members in enumerate(pools) if members.size]
    slots = [Slot(slot, pool) for slot in range(each) for pool in mating]
    return slots[: max(most, 0)]


def draw_mating_pools(
    iteration: int, pools: Pools, archive: Archive, method: Method, streams: Streams
) -> tuple[IntArray, ...]:
    """Draw a mating pool from the members of each pool, and return the mating pools.

    A mating pool holds the candidates from which parents are drawn later. It has shape ``(n,)`` and lists, in the order
    drawn, the numbers of the oracle calls that evaluated these candidates. An empty pool has an empty mating pool.
    """
    rule = method.mating_pool
    sample = sample_with_replacement if rule.replacement else sample_without_replacement
    mating_pools = list(pools)
    for pool, members in enumerate(pools):
        if members.size:
            rng = streams.at(Purpose.MATING_POOL, iteration, pool=pool).rng()
            log_weights = weights[rule.weight](archive.scores[members - 1], method.ladder[pool])
            mating_pools[pool] = members[sample(log_weights, rule.size, rng)]
    return tuple(mating_pools)


def make_requests(
    iteration: int,
    attempt: int,
    slots: Sequence[Slot],
    mating_pools: Sequence[IntArray],
    pools: Pools,
    archive: Archive,
    method: Method,
    streams: Streams,
) -> list[Request]:
    """Draw parents for an attempt at each slot, and return the requests, in the order of the slots.

    A slot is the place for one offspring of a pool; ``slots`` are those that are still empty. ``attempt`` is the number
    of the attempt.
    """
    bests = {pool: find_best(pools[pool], archive) for pool in {slot.pool for slot in slots}}
    requests = []
    for slot, pool in slots:
        address = {"pool": pool, "slot": slot, "attempt": attempt}
        rng = streams.at(Purpose.PARENTS, iteration, **address).rng()
        calls = draw_distinct(mating_pools[pool], method.parents, rng)
        parents, stream = tuple(map(archive.candidate, calls)), streams.at(Purpose.OPERATOR, iteration, **address)
        asked = (parents, method.prompt(pool), stream, bests[pool], tuple(calls))
        requests.append(Request(iteration, pool, slot, attempt, *asked))
    return requests


def find_best(members: IntArray, archive: Archive) -> Candidate:
    """Return the member of a pool with the highest score, the oldest of several with that score."""
    return archive.candidate(int(members[np.argmax(archive.scores[members - 1])]))
