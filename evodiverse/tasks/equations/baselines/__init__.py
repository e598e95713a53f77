"""Other engines for symbolic regression, which serve as baselines, one file each (see ``engine.py``).

They run in separate processes: a signal stops them at once, whatever their libraries are doing.
"""

import time
from contextlib import closing
from functools import partial
from importlib import import_module
from typing import NamedTuple

from evodiverse.errors import ServiceError
from evodiverse.kit.apart import Failure, call_each
from evodiverse.tasks.equations.baselines.engine import Front, Order


class Answer(NamedTuple):
    """The equations that an engine found (see `Front`), and the wall time in seconds that it took."""

    front: Front
    seconds: float


def find_apart(engine: str, order: Order) -> Answer:
    """Run an engine in a separate process, with numerical libraries limited to one thread, and return its answer.

    Raises:
        ServiceError: The engine failed; the message gives the reason.
    """
    with closing(call_each(partial(_find, engine), [order], 1)) as calls:
        ((_, answer),) = calls
    if isinstance(answer, Failure):
        raise ServiceError(f"{engine} failed ({answer.reason}); run the same command again to start over")
    return answer


def _find(engine: str, order: Order) -> Answer:
    from threadpoolctl import threadpool_limits  # of the extra

    with threadpool_limits(1):
        began = time.perf_counter()
        return Answer(import_module(f"{__name__}.{engine}").find_models(order), time.perf_counter() - began)
