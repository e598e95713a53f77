"""Composition by Hydra, with each thing that is wrong told in one line."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra._internal.utils import get_args_parser
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import ConfigCompositionException, HydraException, MissingConfigException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from evodiverse.errors import InputError
from evodiverse.settings.identity import flatten
from evodiverse.settings.schema import Config

CONFIG_NAME = "config"
COMPOSITION_ERRORS = (HydraException, OmegaConfBaseException, ValueError)


def find_conf() -> Path:
    """Return the folder of the YAML files: within the package once installed, beside it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "conf"
    return installed if installed.is_dir() else package.parent / "conf"


def compose_alone(task: str, method: str, llm: str) -> DictConfig:
    """Return what a choice of task, method and llm composes to without anything else. Needs Hydra to be running."""
    searchpath = [item for item in HydraConfig.get().overrides.hydra if item.startswith("hydra.searchpath=")]
    return _compose_once(*searchpath, f"task={task}", f"method={method}", f"llm={llm}")


@lru_cache(maxsize=64)
def _compose_once(*overrides: str) -> DictConfig:
    """Compose; kept, because the jobs of a sweep share it."""
    return compose(CONFIG_NAME, overrides=list(overrides))


def explain(error: Exception, arguments: Sequence[str]) -> InputError:
    """Return all that is wrong with a command line that Hydra refused with ``error``.

    Hydra names the first problem only; here every override is composed by itself, on top of the chosen options.
    """
    GlobalHydra.instance().clear()
    parsed = get_args_parser().parse_args(list(arguments))
    searchpath = [f"hydra.searchpath=[{parsed.config_dir}]"] if parsed.config_dir else []
    with initialize_config_dir(config_dir=str(find_conf()), version_base="1.3"):
        violations = list(_find_violations(parsed.overrides, searchpath))
    return InputError(*dict.fromkeys(violations or [_first_line(error)]))


def read(config: DictConfig) -> Config:
    """Return a composed configuration as plain objects, ``task`` as a dictionary.

    Raises:
        InputError: Values that are absent, refer to nothing or are of another type; names all of them.
    """
    unresolved = list(_find_unresolved(config))
    if unresolved:
        raise InputError(*unresolved)
    return OmegaConf.to_object(config)  # type: ignore[return-value]


def save_composition(folder: Path, config: DictConfig) -> None:
    """Write the three files that Hydra itself writes into ``.hydra/``, before anything is checked."""
    folder.mkdir(exist_ok=True)
    parts = {
        "config": config,
        "hydra": OmegaConf.create({"hydra": HydraConfig.get()}),
        "overrides": HydraConfig.get().overrides.task,
    }
    for name, part in parts.items():
        OmegaConf.save(part, folder / f"{name}.yaml")


def find_unknown(config: DictConfig) -> list[str]:
    """Return what is wrong with keys that were appended to the schema (``+key=value``): nobody reads them."""
    container: dict[str, Any] = OmegaConf.to_container(config)  # type: ignore[assignment]
    unknown = list(_appended(container, Config))
    known = [key for key in _known_keys(config) if key not in unknown]
    return [f"{key} is unknown; {_nearest_key(key, known)}" for key in unknown]


def merge_typed(schema: type, values: Mapping[str, Any], prefix: str) -> Any:
    """Return an object of the dataclass ``schema`` with these values.

    Raises:
        InputError: Keys it does not have or values of another type; names all of them with ``prefix`` before the key.
    """
    typed = OmegaConf.structured(schema)
    known = [f"{prefix}{key}" for key, _ in flatten(OmegaConf.to_container(typed))]  # type: ignore[arg-type]
    violations = []
    for key, value in flatten(values):
        try:
            OmegaConf.update(typed, key, value)
        except (AttributeError, KeyError):
            violations.append(f"{prefix}{key} is unknown; {_nearest_key(prefix + key, known)}")
        except OmegaConfBaseException as error:
            violations.append(_wrong_value(f"{prefix}{key}", value, error))
    if violations:
        raise InputError(*violations)
    return OmegaConf.to_object(typed)


def nearest(word: str, known: Sequence[str]) -> str:
    """Return a question that offers the known word most like ``word``, or lists them all."""
    matches = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean {matches[0]}?" if matches else f"expected one of {', '.join(known)}"


def _find_violations(overrides: Sequence[str], searchpath: Sequence[str]) -> Iterator[str]:
    singles: list[str] = []
    for override in overrides:
        try:
            singles += _expand(override)
        except (HydraException, ValueError) as error:
            yield f"{override} cannot be read ({_first_line(error)}); write key=value, in quotes if it holds brackets"
    groups = set(GlobalHydra.instance().config_loader().list_groups(""))
    is_choice = {single: single.lstrip("+").partition("=")[0] in groups for single in singles}
    chosen = list(searchpath)
    for single in sorted(singles, key=is_choice.__getitem__, reverse=True):
        violation = _compose_violation(chosen, single)
        if violation:
            yield violation
        elif is_choice[single]:
            chosen.append(single)


def _expand(override: str) -> list[str]:
    """Return the overrides that one argument stands for: several where it sweeps."""
    parsed = OverridesParser.create().parse_override(override)
    if not parsed.is_sweep_override():
        return [override]
    key, values = parsed.get_key_element(), parsed.sweep_string_iterator()
    return ["=".join([key, text]) for text in map(str, values)]


def _compose_violation(chosen: Sequence[str], override: str) -> str | None:
    key, _, value = override.lstrip("+~").partition("=")
    try:
        config = compose(CONFIG_NAME, overrides=[*chosen, override])
    except MissingConfigException as error:
        missing, options = str(error.missing_cfg_file or override), list(error.options or [])
        option = missing.rpartition("/")[2]
        return f"{key}={option} is unknown; {nearest(option, options)}"
    except ConfigCompositionException as error:
        if key in GlobalHydra.instance().config_loader().list_groups(""):
            return f"{override} needs a plus: +{key}={value}"
        if isinstance(error.__cause__, AttributeError | KeyError):
            return f"{key} is unknown; {_nearest_key(key, _known_keys(compose(CONFIG_NAME, overrides=list(chosen))))}"
        return _wrong_value(key, value, error.__cause__ or error)
    except COMPOSITION_ERRORS as error:
        return f"{override}: {_first_line(error)}"
    return next(iter(find_unknown(config)), None)


def _find_unresolved(config: DictConfig, prefix: str = "") -> Iterator[str]:
    """Yield what is wrong with each value that is absent, or refers to nothing or to a value of another type."""
    for name in config:
        key = prefix + str(name)
        if OmegaConf.is_missing(config, str(name)):
            yield f"{key} has no value; set it"
            continue
        try:
            value = config[name]
            if isinstance(value, ListConfig):
                list(value)
        except OmegaConfBaseException as error:
            yield f"{key}: {_first_line(error)}"
            continue
        if isinstance(value, DictConfig):
            yield from _find_unresolved(value, f"{key}.")


def _appended(container: Mapping[str, Any], schema: type, prefix: str = "") -> Iterator[str]:
    """Yield the keys that were appended to the schema with ``+``."""
    known = {field.name: field.type for field in fields(schema)}
    for name, value in container.items():
        kind = known.get(name)
        if name not in known:
            yield f"{prefix}{name}"
        elif isinstance(kind, type) and is_dataclass(kind) and isinstance(value, Mapping):
            yield from _appended(value, kind, f"{prefix}{name}.")


def _known_keys(config: DictConfig) -> list[str]:
    """Return all dotted keys, those of inner nodes too."""
    leaves = [key for key, _ in flatten(OmegaConf.to_container(config))]  # type: ignore[arg-type]
    inner = {".".join(key.split(".")[:depth]) for key in leaves for depth in range(1, key.count(".") + 1)}
    return sorted({*leaves, *inner, "experiment"})


def _nearest_key(key: str, known: Sequence[str]) -> str:
    """Return a question that offers the known key most like ``key``: of the same name, or else beside it."""
    parent, _, name = key.rpartition(".")
    same_name = [other for other in known if other.rpartition(".")[2] == name]
    beside = {other.rpartition(".")[2]: other for other in known if other.rpartition(".")[0] == parent}
    matches = (
        difflib.get_close_matches(key, same_name, n=1, cutoff=0.0)
        or [beside[match] for match in difflib.get_close_matches(name, list(beside), n=1, cutoff=0.5)]
        or difflib.get_close_matches(key, [] if parent else known, n=1, cutoff=0.5)
    )
    return f"did you mean {matches[0]}?" if matches else "evodiverse --cfg job prints all keys"


def _wrong_value(key: str, value: object, error: BaseException) -> str:
    kind = re.search(r"could not be converted to (Integer|Float)|not a valid (bool)", str(error))
    if kind is None:
        return f"{key}={value}: {_first_line(error)}"
    expected = {"Integer": "an integer", "Float": "a number", "bool": "true or false"}[kind[1] or kind[2]]
    return f"{key} must be {expected}, got {value}"


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
