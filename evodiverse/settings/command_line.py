"""What is wrong with a command line: all of it at once, and of a sweep before its first run begins."""

import re
from argparse import Action
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import TypeVar

from hydra import compose
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.utils import get_args_parser
from hydra.conf import HydraConf
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import ConfigCompositionException, HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf

from evodiverse.errors import EvoDiverseError, InputError
from evodiverse.kit.documented import join_or, nearest
from evodiverse.kit.hints import first_line, nearest_key, wrong_value
from evodiverse.settings.compose import (
    COMPOSITION_ERRORS,
    CONFIG_NAME,
    find_unknown,
    known_keys,
    split_hydra,
)
from evodiverse.settings.hydra_session import hydra_session

_PARTS = ("base", "defaults")
"""Folders of a group whose files options are made of; no run chooses one."""
_KEY = re.compile(r"[+~]{0,2}[\w./@:-]+=")
Check = Callable[[DictConfig, HydraConf], object]
Planned = TypeVar("Planned")


def put_options_last(arguments: Sequence[str]) -> list[str]:
    """Return a command line with each ``key=value`` before what begins with a dash; argparse takes those in one row."""
    known = get_args_parser()._option_string_actions
    overrides: list[str] = []
    options: list[str] = []
    before: Action | None = None
    for argument in arguments:
        is_value = before is not None and (before.nargs is None or argument in (before.choices or ()))
        is_option = is_value or argument.startswith("-")
        (options if is_option else overrides).append(argument)
        before = None if is_value else known.get(argument)
    return [*overrides, *options]


def plan_each(
    overrides: Sequence[str], plan: Callable[[DictConfig, HydraConf], Planned], config_dir: str | None = None
) -> list[Planned]:
    """Return what ``plan`` makes of each run that some overrides name; values that commas separate make several.

    Args:
        overrides: What the command line says.
        plan: Is given each run's configuration and Hydra's own part of it.
        config_dir: The user's own folder of options.

    Raises:
        InputError: Runs cannot be meant; names everything that is wrong with any of them.
        HydraException: A run does not compose; `explain` says what is wrong.
    """
    planned: list[Planned] = []
    violations: list[str] = []
    with hydra_session(config_dir):
        (runs,) = BasicSweeper.split_arguments(_parser().parse_overrides(list(overrides)), max_batch_size=None)
        for run in runs:
            try:
                planned.append(plan(*split_hydra(compose(CONFIG_NAME, overrides=list(run), return_hydra_config=True))))
            except InputError as error:
                violations += error.violations
    if violations:
        raise InputError(*dict.fromkeys(violations))
    return planned


def explain(error: Exception, arguments: Sequence[str], check: Check) -> InputError:
    """Return all that is wrong with a command line that Hydra refused with ``error``.

    Hydra names the first problem only; here every override is composed by itself, on top of the chosen options, and
    what composes is checked as if it stood alone.

    Args:
        error: What Hydra raised.
        arguments: The command line.
        check: Raises `InputError` for a run that cannot be meant.
    """
    parsed = get_args_parser().parse_args(list(arguments))
    violations = []
    if parsed.config_dir and not Path(parsed.config_dir).is_dir():
        violations.append(f"--config-dir {parsed.config_dir} is no folder; check the path")
    with hydra_session(parsed.config_dir):
        violations += _find_violations(parsed.overrides, check, is_sweep=parsed.multirun)
    return InputError(*dict.fromkeys(violations or [first_line(error)]))


def _parser() -> OverridesParser:
    return OverridesParser.create(config_loader=GlobalHydra.instance().config_loader())


def _groups() -> set[str]:
    return set(GlobalHydra.instance().config_loader().list_groups(""))


def _options(group: str) -> list[str]:
    return GlobalHydra.instance().config_loader().get_group_options(group, ObjectType.CONFIG)


def _nearest_option(group: str, option: str) -> str:
    """Return a question that offers the option most like ``option``, also in folders of the group, or lists them."""
    folders = GlobalHydra.instance().config_loader().get_group_options(group, ObjectType.GROUP)
    options = [
        f"{folder}/{name}" for folder in folders if folder not in _PARTS for name in _options(f"{group}/{folder}")
    ]
    same_name = [other for other in options if other.rpartition("/")[2] == option.rpartition("/")[2]]
    if same_name:
        return f"did you mean {join_or(same_name)}?"
    return nearest(option, options if "/" in option else _options(group))


def _own_file(path: str) -> str:
    """Return where a user's own file of options would be found."""
    sources = GlobalHydra.instance().config_loader().get_sources()
    own = [source.path for source in sources if source.provider == "command-line"]
    if own:
        return f"a file of your own would be {own[0]}/{path}"
    return f"a file of your own, FOLDER/{path}, is found with --config-dir FOLDER"


def _find_violations(overrides: Sequence[str], check: Check, *, is_sweep: bool) -> Iterator[str]:
    values: list[list[str]] = []
    for pieces in _joined(overrides):
        override = pieces[0]
        if len(pieces) > 1:
            yield f"{' '.join(pieces)} has a space in it; write it without, {''.join(pieces)}, or in quotes"
            continue
        if "=" not in override and not override.startswith("~"):
            options = [f"{group}={override}" for group in sorted(_groups()) if override in _options(group)]
            yield f"{override} is no option; {nearest(override, options) if options else 'write key=value'}"
            continue
        try:
            expanded = _expand(override)
            if len(expanded) > 1 and not is_sweep:
                yield f"{override} names {len(expanded)} values; start a sweep with evodiverse -m …, or quote the value"
                continue
            values.append(expanded)
        except (HydraException, ValueError) as error:
            yield f"{override} cannot be read ({first_line(error)}); write key=value, in quotes if it holds brackets"
    groups = _groups()
    is_choice = {single: single.lstrip("+").partition("=")[0] in groups for singles in values for single in singles}
    good: set[str] = set()
    chosen: list[str] = []
    for single in sorted(is_choice, key=is_choice.__getitem__, reverse=True):
        violation = _compose_violation(chosen, single, check)
        if violation:
            yield violation
            continue
        good.add(single)
        if is_choice[single]:
            chosen.append(single)
    if not all(single in good for single in is_choice if is_choice[single]):
        return  # without its option nobody can say which values would do
    combinable = [[single for single in singles if single in good] for singles in values]
    if not any(combinable) and overrides:
        return  # what is left is the run that nobody asked for
    for run in product(*filter(None, combinable)):
        yield from _find_in_run(run, check)


def _joined(overrides: Sequence[str]) -> list[list[str]]:
    """Return the overrides, each as the pieces into which a space within it has split it."""
    joined: list[list[str]] = []
    for override in overrides:
        before = "".join(joined[-1]) if joined else ""
        is_open = before.endswith((",", "=")) or sum(map(before.count, "[{(")) > sum(map(before.count, "]})"))
        if joined and not _KEY.match(override) and (is_open or override.startswith((",", "="))):
            joined[-1].append(override)
        else:
            joined.append([override])
    return joined


def _expand(override: str) -> list[str]:
    """Return the overrides that one argument stands for: several where it sweeps."""
    parsed = _parser().parse_override(override)
    if not parsed.is_sweep_override():
        return [override]
    key, values = parsed.get_key_element(), parsed.sweep_string_iterator()
    return ["=".join([key, text]) for text in map(str, values)]


def _compose_violation(chosen: Sequence[str], override: str, check: Check) -> str | None:
    key, _, value = override.lstrip("+~").partition("=")
    try:
        config = compose(CONFIG_NAME, overrides=[*chosen, override])
    except MissingConfigException as error:
        missing = str(error.missing_cfg_file or override)
        option = missing.removeprefix(f"{key}/")
        if option != value:
            return f"{override}: its defaults name {missing}, which does not exist; fix the file"
        return f"{key}={option} is unknown; {_nearest_option(key, option)} ({_own_file(f'{key}/{option}.yaml')})"
    except ConfigCompositionException as error:
        if override.startswith("~"):
            return f"{override}: {first_line(error)}"
        if key in _groups():
            return _misplaced_plus(override, f"{key}={value}") or f"{override}: {first_line(error)}"
        if isinstance(error.__cause__, AttributeError | KeyError):
            known = compose(CONFIG_NAME, overrides=list(chosen))
            return (
                _unplussed(key, known)
                or _absent_from_file(chosen, override, check)
                or f"{key} is unknown; {nearest_key(key, known_keys(known))}"
            )
        return wrong_value(key, value, error.__cause__ or error)
    except COMPOSITION_ERRORS as error:
        return f"{override}: {first_line(error)}"
    return next(iter(find_unknown(config)), None)


def _unplussed(key: str, known: DictConfig) -> str | None:
    """Return what to write where a key is set in a group that holds keys of the user's own."""
    for group in (key, key.rpartition(".")[0]):
        keys = OmegaConf.select(known, group) if group else None
        if isinstance(keys, DictConfig) and not keys:
            return f"{group} holds keys of your own, each of which is added with a plus: +{group}.name=value"
    return None


def _absent_from_file(chosen: Sequence[str], override: str, check: Check) -> str | None:
    """Return what to write for a key of a domain that its task's file does not have, None where nothing is like it."""
    key = override.partition("=")[0]
    if not key.startswith("task."):
        return None
    try:
        violations = _find_in_run([*chosen, f"+{override}"], check)
    except COMPOSITION_ERRORS:
        return None
    unknown = [violation for violation in violations if violation.startswith(f"{key} is unknown; ")]
    if unknown:
        return unknown[0] if "did you mean" in unknown[0] else None
    return f"{key} is not in the task's file; add it there, or write +{override}"


def _misplaced_plus(override: str, plain: str) -> str | None:
    """Return what to write where an option is chosen with a plus that it must not have, or without one it needs."""
    written, remedy = (plain, "without the plus") if override.startswith("+") else (f"+{plain}", "with a plus")
    try:
        compose(CONFIG_NAME, overrides=[written])
    except COMPOSITION_ERRORS:
        return None
    return f"{override} is written {remedy}: {written}"


def _find_in_run(overrides: Sequence[str], check: Check) -> Sequence[str]:
    """Return what is wrong with one run's overrides, each of which composes."""
    composed = compose(CONFIG_NAME, overrides=list(overrides), return_hydra_config=True)
    try:
        check(*split_hydra(composed))
    except InputError as error:
        return error.violations
    except EvoDiverseError as error:
        return (str(error),)
    return ()
