"""Composition by Hydra, and the conversion of its result to plain objects."""

import copy
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.conf import ConfigSourceInfo, HydraConf
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from hydra.initialize import get_gh_backup, restore_gh_from_backup
from omegaconf import MISSING, DictConfig, OmegaConf, open_dict
from omegaconf.errors import InterpolationKeyError, OmegaConfBaseException
from yaml import YAMLError

from evodiverse.errors import InputError
from evodiverse.kit.files import refuse_link, write_file
from evodiverse.kit.hints import first_line, nearest_key
from evodiverse.kit.typed import find_leaves, find_values, walk_keys
from evodiverse.settings import find_conf
from evodiverse.settings.schema import Config

CONFIG_NAME = "config"
CHOSEN = ("task", "method", "llm")
# An AssertionError is OmegaConf's error about a key in a group that is null.
COMPOSITION_ERRORS = (HydraException, OmegaConfBaseException, YAMLError, ValueError, AssertionError)


@contextmanager
def hydra_session(config_dir: str | None) -> Iterator[Hydra]:
    """Set up Hydra temporarily, with the user's own folder of options if there is one.

    Args:
        config_dir: The folder of ``--config-dir``; ignored if it does not exist.
    """
    GlobalHydra.instance().clear()
    search_path = create_config_search_path(str(find_conf()))
    if config_dir and Path(config_dir).is_dir():
        folder, schema = f"file://{Path(config_dir).absolute()}", SearchPathQuery(provider="schema")
        search_path.prepend("command-line", folder, anchor=schema)
    with initialize_config_dir(config_dir=str(find_conf()), version_base="1.3"):
        GlobalHydra.instance().clear()
        yield Hydra.create_main_hydra2("evodiverse", search_path)


def split_hydra(composed: DictConfig) -> tuple[DictConfig, HydraConf]:
    """Split what Hydra composed into the run's configuration and Hydra's own part."""
    config = copy.deepcopy(composed)
    with open_dict(config):
        del config["hydra"]
    return config, composed.hydra


def compose_published(hydra: HydraConf) -> dict[str, Any]:
    """Return the configuration that a run's task, method and llm give without any other override.

    `plan_run` compares the run with this to find the run's overrides. If a user's option file has the same name as one
    of EvoDiverse's, this configuration is made with EvoDiverse's file. Whatever the user's file changes then counts as
    an override.

    Args:
        hydra: Hydra's own part of the run's configuration.
    """
    searchpath = ",".join(f"'{source.schema}://{source.path}'" for source in _own_folders(hydra))
    choices = hydra.runtime.choices
    chosen = (f"{group}={choices[group]}" for group in CHOSEN)
    return _compose_once(f"hydra.searchpath=[{searchpath}]", *chosen)


def overrides_nothing(hydra: HydraConf, quiet: Collection[str]) -> bool:
    """Return whether a run certainly overrides nothing; this is decided without `compose_published`, which is slow.

    That is certain if the command line only chooses a task, a method and an llm among EvoDiverse's own, and sets
    ``quiet`` keys, which never count as overrides. Those of the method are excluded, since tasks refer to them.
    """
    written = {override.partition("=")[0] for override in hydra.overrides.task} - {*CHOSEN}
    return (
        written <= {key for key in quiet if not key.startswith("method.")}
        and hydra.job.config_name == CONFIG_NAME
        and all(override.startswith("hydra.mode=") for override in hydra.overrides.hydra)
        and not _own_folders(hydra)
    )


def _own_folders(hydra: HydraConf) -> list[ConfigSourceInfo]:
    """Return the folders of a user's own options."""
    return [
        source
        for source in hydra.runtime.config_sources
        if source.provider not in {"hydra", "schema"} and source.path != str(find_conf())
    ]


@lru_cache(maxsize=256)
def _compose_once(*overrides: str) -> dict[str, Any]:
    """Compose with EvoDiverse's files, which take precedence over a user's files of the same name.

    The runs of a sweep share the cached result.
    """
    running = get_gh_backup()
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(find_conf()), version_base="1.3"):
            return resolve(compose(CONFIG_NAME, overrides=list(overrides)))
    finally:
        restore_gh_from_backup(running)


def resolve(config: DictConfig) -> dict[str, Any]:
    """Return the plain values of a configuration, with all references resolved."""
    return OmegaConf.to_container(config, resolve=True)  # type: ignore[return-value]


def read(config: DictConfig) -> Config:
    """Return a composed configuration as plain objects, with ``task`` as a dictionary.

    Raises:
        InputError: A key is unknown, or a value is missing, has the wrong type or refers to a key that does not exist.
            All problems are listed.
    """
    unknown = find_unknown(config)
    if not unknown:
        try:
            return OmegaConf.to_object(config)  # type: ignore[return-value]
        except OmegaConfBaseException as error:
            raise InputError(*_find_unresolved(config) or [first_line(error)]) from error
    raise InputError(*unknown, *_find_unresolved(config))


def save_composition(folder: Path, config: DictConfig, hydra: HydraConf) -> None:
    """Write the same three files that Hydra itself writes into ``.hydra/``.

    Raises:
        InputError: The folder is a symbolic link.
    """
    refuse_link(folder)
    folder.mkdir(exist_ok=True)
    parts = {
        "config": config,
        "hydra": OmegaConf.create({"hydra": hydra}),
        "overrides": hydra.overrides.task,
    }
    for name, part in parts.items():
        write_file(folder / f"{name}.yaml", OmegaConf.to_yaml(part).encode())


@lru_cache(maxsize=1)
def key_kinds() -> Mapping[str, Any]:
    """Return the type of each key and each group of the schema."""
    return {key: kind for key, _, kind in walk_keys(Config)}


def find_unknown(config: DictConfig) -> list[str]:
    """Return one message for each key that is not in the schema (added with ``+key=value``), since nothing reads it."""
    container: dict[str, Any] = OmegaConf.to_container(config)  # type: ignore[assignment]
    unknown = [key for key, _ in find_values(container, key_kinds()) if key not in key_kinds()]
    known = [key for key in known_keys(config) if not f"{key}.".startswith(tuple(f"{other}." for other in unknown))]
    return [f"{key} is unknown; {nearest_key(key, known)}" for key in unknown]


def _find_unresolved(config: DictConfig) -> list[str]:
    """Return one message for each value that cannot be resolved; all undefined references share one message."""
    undefined, wrong = [], []
    for key, value in find_leaves(config):
        try:
            node = OmegaConf.select(config, key)
            if OmegaConf.is_config(node):
                OmegaConf.to_container(node, resolve=True, throw_on_missing=True)
        except InterpolationKeyError as error:
            undefined += re.findall(r"Interpolation key '([^']+)' not found", str(error))
        except OmegaConfBaseException as error:
            wrong.append(f"{key}: {first_line(error)}")
        if value == MISSING:
            wrong.append(f"{key} has no value; set it")
    names = ", ".join(dict.fromkeys(undefined))
    return [*([f"undefined references: {names}; set these keys in the task's file"] if undefined else []), *wrong]


def known_keys(config: DictConfig) -> list[str]:
    """Return all dotted keys: those with values, in the order of the schema, then the groups, then ``experiment``.

    ``experiment`` can be chosen on the command line, but it is not a key of the composed configuration.
    """
    leaves = [key for key, _ in find_leaves(config)]
    inner = {".".join(key.split(".")[:depth]) for key in leaves for depth in range(1, key.count(".") + 1)}
    return list(dict.fromkeys([*leaves, *sorted(inner), "experiment"]))
