"""Lookup of the domain of a run, whose package the ``run.json`` of the run names."""

import importlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final

from evodiverse.errors import InputError, describe
from evodiverse.kit.own_code import folder_of
from evodiverse.ports import BEST_SCORE, Drawable, Highlight, Measured, Metrics, Selective, Subject
from evodiverse.results.metrics.pareto import highlight_front
from evodiverse.runlog.log import Log, Row
from evodiverse.runlog.record import BEST
from evodiverse.runlog.runs import Run

OURS: Final = "evodiverse.tasks."
VIEW: Final = "view"
MOST_RANKED: Final = 10_000
"""The largest number of candidates from which a domain names those to show first, since comparing them takes time."""


NO_METRICS: Final[Any] = SimpleNamespace(
    kind="other",
    columns={},
    targets=(),
    libraries=(),
    reads_texts=False,
    subject=Subject(),
    headlines=(BEST_SCORE,),
    measure=lambda log, tools: {},  # noqa: ARG005
)
"""The metrics of a domain that defines none of its own: its runs have only the metrics common to all domains."""


def find_metrics(run: Run, own: Collection[str] = ()) -> Metrics:
    """Return the object that measures a run, built from the run's settings by its domain.

    For a domain without metrics, or one that `find_module` does not import, the result is `NO_METRICS`.

    Args:
        run: The run to be measured.
        own: The packages of the user's own domains; see `find_module`.
    """
    domain = find_domain(run.domain, frozenset(own))
    metrics: Metrics = NO_METRICS if domain is None else domain.build_metrics(run.settings)
    return metrics


def find_domain(name: str, own: frozenset[str] = frozenset()) -> Measured | None:
    """Return the module that `find_module` returns, if it defines metrics; otherwise None."""
    domain = find_module(name, own)
    return domain if isinstance(domain, Measured) else None


@lru_cache
def find_module(name: str, own: frozenset[str] = frozenset(), part: str = "domain") -> ModuleType | None:
    """Import and return the module ``domain`` of a domain's package; None if it may not be imported.

    The result is also None if the module of one of EvoDiverse's domains, or a library that it needs, is not found.
    Other exceptions that the import raises are passed on.

    Importing a module runs its code, and the run record that names the domain may come from somebody else. A domain
    outside of EvoDiverse is therefore imported only if the user names it.

    Args:
        name: The package of the domain, such as ``evodiverse.tasks.molecules``.
        own: The packages of the user's own domains, which the user named with ``--domain``.
        part: The name of the module. Instead of a missing ``view``, the result is the module ``domain``.

    Raises:
        InputError: The module of one of the user's own domains, or a library that it needs, is not found.
    """
    if not (name.startswith(OURS) or name in own):
        return None
    try:
        return importlib.import_module(f"{name}.{part}")
    except ModuleNotFoundError as error:
        if part == VIEW and error.name == f"{name}.{VIEW}":
            return find_module(name, own)
        if name not in own:
            return None  # a domain of another version of EvoDiverse
        raise InputError(f"the domain {name} cannot be imported ({describe(error)}); check --domain") from error


def find_view(run: Run, own: frozenset[str] = frozenset()) -> ModuleType | None:
    """Return the module with which the domain of a run shows candidates; None if it may not be imported.

    It is the module ``view`` of the domain's package or, if there is none, the module ``domain``.
    """
    return find_module(run.domain, own, VIEW)


def find_columns(run: Run, own: frozenset[str] = frozenset()) -> Mapping[str, type]:
    """Return the columns of ``evaluations`` that the domain of a run adds and shows in reports, with their types."""
    view = find_view(run, own)
    return view.report_columns(run.settings, run.own_columns()) if isinstance(view, Drawable) else {}


def find_highlight(log: Log, ranked: Sequence[Row], own: frozenset[str] = frozenset()) -> Highlight | None:
    """Return the candidates to show first: the front, or else those that the domain names; None if there are none.

    The domain gets the best `MOST_RANKED` of the rows ``ranked``; see `Selective.highlight`.
    """
    if front := highlight_front(log):
        return front
    view, folder = find_view(log.run, own), log.run.path / BEST
    return view.highlight(ranked[:MOST_RANKED], folder) if ranked and isinstance(view, Selective) else None


def table_files(domains: Iterable[Measured]) -> list[Path]:
    """Return the path of the ``tables.yaml`` of each domain that defines tables of its own."""
    return [file for domain in domains if (file := folder_of(domain) / "tables.yaml").is_file()]
