"""The runs of a sweep: composition, checks, and the search for runs that are already complete."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from hydra._internal.config_loader_impl import get_overrides_dirname
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.conf import HydraConf
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from evodiverse.data.artifacts import find_artifact
from evodiverse.errors import InputError
from evodiverse.settings.compose import split_hydra
from evodiverse.settings.identity import digest, override_label
from evodiverse.settings.plan import Plan, plan_run
from evodiverse.store.opening import find_complete
from evodiverse.store.record import Identity

NAME: Final = "name"


@dataclass(frozen=True, slots=True)
class SweptRun:
    """One run of a sweep.

    Attributes:
        number: The position of the run in the sweep, from 1.
        overrides: The overrides that would start only this run.
        varied: The keys that the sweep varies, with their values as written on the command line.
        plan: The checked plan, which names the run directory.
        is_complete: Whether the run is complete; False with ``overwrite`` or ``dry_run``.
        is_refused: Whether starting the run will raise an `InputError`, for example because its directory holds a run
            with other data.
    """

    number: int
    overrides: tuple[str, ...]
    varied: Mapping[str, str]
    plan: Plan
    is_complete: bool
    is_refused: bool = False


class Composer:
    """Composes the configurations of a sweep's runs, faster than Hydra does.

    Hydra takes a tenth of a second for each composition. Runs that choose the same options differ only in plain values,
    so Hydra composes each choice of options once, and the values are set on a copy.

    Args:
        loader: Hydra's configuration loader.
        master: The configuration of the sweep as a whole.
    """

    def __init__(self, loader: object, master: DictConfig) -> None:
        self.loader = loader
        self._master = master
        self._groups = set(loader.list_groups(""))  # type: ignore[attr-defined]
        self._bases: dict[tuple[str, ...], tuple[DictConfig, HydraConf]] = {}

    def compose(self, overrides: Sequence[str]) -> tuple[DictConfig, HydraConf]:
        """Return the configuration of the run with these overrides, and Hydra's own part of it.

        The next call may change Hydra's part, so use or copy that part first.

        Raises:
            HydraException: Hydra cannot compose the configuration.
        """
        parsed = [parse_override(override) for override in overrides]
        choices = tuple(text for text, one in zip(overrides, parsed, strict=True) if not self._is_plain(one))
        if choices not in self._bases:
            self._bases[choices] = self._compose_whole(choices)
        base, hydra_part = self._bases[choices]
        config = copy.deepcopy(base)
        try:
            for one in filter(self._is_plain, parsed):
                OmegaConf.update(config, one.key_or_group, one.value(), merge=True)
        except OmegaConfBaseException:
            return self._compose_whole(overrides)  # raises Hydra's own error
        own = [one for one in parsed if not _is_hydras(one)]
        hydra_part.overrides.task = [str(one.input_line) for one in own]
        naming = hydra_part.job.config.override_dirname
        hydra_part.job.override_dirname = get_overrides_dirname(
            own, naming.exclude_keys, item_sep=naming.item_sep, kv_sep=naming.kv_sep
        )
        return config, hydra_part

    def load_sweep_config(self, _: DictConfig, overrides: Sequence[str]) -> DictConfig:
        """Return the configuration of a run, with Hydra's own part in it.

        Hydra's basic launcher calls this in place of the same method of Hydra's loader.
        """
        config, hydra_part = self.compose(overrides)
        with open_dict(config):
            config.hydra = hydra_part
        return config

    def _compose_whole(self, overrides: Sequence[str]) -> tuple[DictConfig, HydraConf]:
        return split_hydra(self.loader.load_sweep_config(self._master, list(overrides)))  # type: ignore[attr-defined]

    def _is_plain(self, override: Override) -> bool:
        """Return whether an override only sets the value of a key."""
        key = override.key_or_group
        is_set = not (override.is_add() or override.is_force_add() or override.is_delete())
        is_option = override.package is not None or "/" in key or key in self._groups
        return is_set and not is_option and not _is_hydras(override)


@lru_cache(maxsize=100_000)
def parse_override(override: str) -> Override:
    """Return an override as parsed by Hydra."""
    return OverridesParser.create().parse_override(override)


def _is_hydras(override: Override) -> bool:
    return bool(override.is_hydra_override())


def expand(overrides: Sequence[Override]) -> list[list[str]]:
    """Return the overrides of each run; the runs are all combinations of the varied values."""
    (runs,) = BasicSweeper.split_arguments(list(overrides), max_batch_size=None)
    return runs


def plan_sweep(runs: Sequence[Sequence[str]], varied: Sequence[str], composer: Composer) -> list[SweptRun]:
    """Check the runs of a sweep, find those that are complete, and return all runs in order.

    Args:
        runs: The overrides of each run.
        varied: The keys that the sweep varies.
        composer: The composer of the runs' configurations.

    Raises:
        InputError: Some runs are invalid; the message lists all problems of all runs.
        HydraException: Hydra cannot compose the configuration of a run.
    """
    planned: list[SweptRun] = []
    violations: list[str] = []
    for number, overrides in enumerate(runs, start=1):
        values = dict(one.split("=", maxsplit=1) for one in overrides if one.partition("=")[0] in varied)
        try:
            plan = plan_run(*composer.compose(overrides))
        except InputError as error:
            violations += error.violations
            continue
        is_complete = is_refused = False
        if not (plan.config.overwrite or plan.config.dry_run or violations):
            try:
                is_complete = find_complete(identify_run(plan)) is not None
            except InputError:  # raised again when the run starts, so that it does not stop the other runs
                is_refused = True
        planned.append(SweptRun(number, tuple(overrides), values, plan, is_complete, is_refused))
    if violations:
        raise InputError(*dict.fromkeys(violations))
    return planned


def identify_run(plan: Plan) -> Identity:
    """Return what identifies a planned run: its settings, and the data and code that it reads.

    Raises:
        InputError: A file that the run reads cannot be used.
    """
    sources, evaluator = plan.find_sources(lambda name: find_artifact(name).sha256), plan.config.evaluator.name
    return Identity(plan.path, digest(plan.settings), plan.settings, plan.overrides, sources, evaluator)


def name_runs(runs: Sequence[Sequence[str]], varied: Sequence[str]) -> list[list[str]]:
    """Return the overrides of each run; if they set ``name``, each run gets its own folder below the named one."""
    return [[_place(override, run, varied) for override in run] for run in runs]


def _place(override: str, run: Sequence[str], varied: Sequence[str]) -> str:
    key, _, value = override.partition("=")
    values = {name: text for name, _, text in (one.partition("=") for one in run) if name in varied and name != key}
    if key != NAME or value == "null" or not values:
        return override
    return f"{key}='{value}/{override_label(values)}'"  # in quotes, since an unquoted comma would start another value
