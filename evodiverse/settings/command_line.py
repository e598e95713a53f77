"""Checks of a command line, which report all problems at once. A sweep is checked before its first run starts."""

import difflib
import re
import shlex
from argparse import Action, Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import TypeVar, get_args

from hydra import compose
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.utils import get_args_parser
from hydra.conf import HydraConf
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import ConfigCompositionException, HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from evodiverse.errors import EvoDiverseError, InputError
from evodiverse.kit.documented import join_or, nearest
from evodiverse.kit.hints import first_line, nearest_key, quote_value, write_override
from evodiverse.kit.inputs import expanded
from evodiverse.kit.typed import wrong_value
from evodiverse.settings.compose import (
    COMPOSITION_ERRORS,
    CONFIG_NAME,
    find_unknown,
    hydra_session,
    key_kinds,
    known_keys,
    split_hydra,
)
from evodiverse.settings.schema import Config

_PARTS = ("base", "defaults")
"""Subfolders of a group. Their files are parts of options, not options themselves."""
_NO_STRING = "Config group override must be a string"  # Hydra's message about an option that reads as a number
_MOST_LISTED = 10
_KEY = re.compile(r"[+~]{0,2}[\w./@:-]+=")
Check = Callable[[DictConfig, HydraConf], object]
Planned = TypeVar("Planned")


def plan_each(
    overrides: Sequence[str], plan: Callable[[DictConfig, HydraConf], Planned], config_dir: str | None = None
) -> list[Planned]:
    """Compose each run that the overrides describe, call ``plan`` with it, and return the results.

    Comma-separated values give several runs: all combinations of the values.

    Args:
        overrides: The overrides on the command line.
        plan: A function that is called with each run's configuration and Hydra's own part of it. It may raise
            `InputError`, for instance as `plan_run` does.
        config_dir: The user's own folder of options.

    Raises:
        InputError: Some runs are invalid; the message lists all problems of all runs.
        HydraException: Hydra cannot compose the configuration of a run; `explain` finds the reasons.
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
    """Return an error that lists everything that is wrong with a command line that Hydra refused.

    Hydra names only the first problem. This function first tries each override separately, on top of the choices of
    options (such as ``task=jnk3``). If all of these choices are valid, the function then combines the overrides that
    caused no error, and checks the resulting runs.

    Args:
        error: The exception from Hydra.
        arguments: The arguments of the command.
        check: A function, such as `plan_run`, that is called with the configuration of a run and Hydra's own part of
            it, and raises `InputError` if the run is invalid.
    """
    parsed = parse_arguments(arguments)
    violations = []
    if parsed.config_dir and not Path(parsed.config_dir).is_dir():
        violations.append(f"--config-dir {parsed.config_dir} is not a folder; check the path")
    with hydra_session(parsed.config_dir):
        _compose.cache_clear()
        violations += _find_violations(parsed.overrides, check, is_sweep=parsed.multirun)
    return InputError(*dict.fromkeys(violations or [first_line(error)]))


@lru_cache(maxsize=16)
def _compose(overrides: tuple[str, ...]) -> DictConfig:
    """Compose within the current Hydra session. The result is cached and shared, so it must not be changed."""
    return compose(CONFIG_NAME, overrides=list(overrides))


def _parser() -> OverridesParser:
    return OverridesParser.create(config_loader=GlobalHydra.instance().config_loader())


def _groups() -> set[str]:
    return set(GlobalHydra.instance().config_loader().list_groups(""))


def _options(group: str) -> list[str]:
    return GlobalHydra.instance().config_loader().get_group_options(group, ObjectType.CONFIG)


def _nearest_option(group: str, option: str) -> str:
    """Return a question that suggests similar options, also from subfolders of the group, or else a list of options."""
    folders = GlobalHydra.instance().config_loader().get_group_options(group, ObjectType.GROUP)
    options = [
        f"{folder}/{name}" for folder in folders if folder not in _PARTS for name in _options(f"{group}/{folder}")
    ]
    same_name = [other for other in options if other.rpartition("/")[2] == option.rpartition("/")[2]]
    if same_name:
        return f"did you mean {join_or(same_name)}?"
    return nearest(option, options if "/" in option else _options(group))


def _own_file(path: str) -> str:
    """Return a hint on where to put a user's own option file."""
    sources = GlobalHydra.instance().config_loader().get_sources()
    own = [source.path for source in sources if source.provider == "command-line"]
    if own:
        return f"your own file would be {own[0]}/{path}"
    return f"to use your own FOLDER/{path}, add --config-dir FOLDER"


def _find_violations(overrides: Sequence[str], check: Check, *, is_sweep: bool) -> Iterator[str]:
    values: list[list[str]] = []
    joined = _joined(overrides)
    for pieces in joined:
        override = pieces[0]
        if len(pieces) > 1 and any("=" in piece for piece in pieces):
            written = " ".join(pieces)
            is_file = _names_file(written)
            right = write_override(*written.split("=", 1)) if is_file else f"{''.join(pieces)}, or quote it"
            yield f"{written} contains a space; write {right}"
            continue
        if "=" not in override and not override.startswith("~"):
            yield _explain_word(pieces)
            continue
        try:
            singles = _expand(override)
            if len(singles) > 1 and not is_sweep:
                remedy = _quoted(override, joined) or "quote the value"
                yield f"{override} has {len(singles)} values; start a sweep with evodiverse -m …, or {remedy}"
                continue
            values.append(singles)
        except (HydraException, ValueError) as error:
            if re.fullmatch(r"[\w./]+==[^=]+", override):
                yield f"{override} has two equals signs; write {override.replace('==', '=')}"
                continue
            remedy = _quoted(override, joined) or "write key=value, in quotes if it contains brackets"
            yield f"{override} cannot be read ({first_line(error)}); {remedy}"
    groups = _groups()
    is_choice = {single: single.lstrip("+").partition("=")[0] in groups for singles in values for single in singles}
    bad: set[str] = set()
    chosen: list[str] = []
    for single in sorted(is_choice, key=is_choice.__getitem__, reverse=True):
        if violation := _compose_violation(chosen, single, check):
            yield violation
            bad.add(single)
        elif is_choice[single]:
            chosen.append(single)
    if any(is_choice[single] for single in bad):
        return  # the valid values depend on the option
    combinable = [[single for single in singles if single not in bad] for singles in values]
    if bad and len(chosen) + len(bad) == len(is_choice):
        return  # only choices of options are left, and checking them would take as long as everything else
    for run in product(*filter(None, combinable)):
        try:
            yield from _find_in_run(run, check)
        except COMPOSITION_ERRORS as error:
            yield f"{' '.join(run)} contradict each other ({first_line(error)}); drop one of them"


def _explain_word(pieces: Sequence[str]) -> str:
    """Return what to write instead of a word without an equals sign, and of the value that may follow it."""
    word = pieces[0]
    key, colon, value = word.partition(":")
    if _is_key(key) and (colon or len(pieces) > 1):
        return f"{' '.join(pieces)} has no equals sign; write {key}={value or ''.join(pieces[1:])}"
    if _is_key(word):
        return f"{word} has no value; write {word}=…"
    plus = {"experiment": "+"}
    options = [f"{plus.get(group, '')}{group}={word}" for group in sorted(_groups()) if word in _options(group)]
    return f"{word} is not an option; {f'did you mean {join_or(options)}?' if options else 'write key=value'}"


def _is_key(word: str) -> bool:
    key = word.lstrip("+")
    return key in known_keys(_compose(())) or key in _groups()


def _joined(overrides: Sequence[str]) -> list[list[str]]:
    """Group the arguments that belong to the same override, since the shell splits an override at spaces.

    Each override is returned as the list of its pieces, for example ``["seed=1,", "2"]`` for ``seed=1, 2``, and
    ``["seed", "1"]`` for ``seed 1``. The pieces of a path belong together if a file or folder has this path.
    """
    joined: list[list[str]] = []
    rest = list(overrides)
    while rest:
        is_key = _KEY.match(rest[0])
        ends = range(len(rest), 1, -1) if is_key else ()
        end = next((end for end in ends if _names_file(" ".join(rest[:end]))), 1)
        pieces, rest = rest[:end], rest[end:]
        before = "".join(joined[-1]) if joined else ""
        is_open = before.endswith((",", "=")) or sum(map(before.count, "[{(")) > sum(map(before.count, "]})"))
        is_value = bool(joined) and len(joined[-1]) == 1 and _is_key(before) and not _is_key(pieces[0])
        if joined and not is_key and (is_open or is_value or pieces[0].startswith((",", "="))):
            joined[-1] += pieces
        else:
            joined.append(pieces)
    return joined


def _names_file(override: str) -> bool:
    """Return whether the value of an override is the path of a file or folder."""
    value = override.partition("=")[2]
    try:
        return bool(value) and expanded(value).exists()
    except (OSError, ValueError):  # a name that is too long, a null byte
        return False


def _quoted(override: str, others: Sequence[Sequence[str]]) -> str | None:
    """Return a hint on how to quote the value of an override, such as a path with brackets, if it can be meant as text.

    Args:
        override: The override, which Hydra misreads.
        others: All overrides, as `_joined` returns them; some choose options.
    """
    key, _, value = override.partition("=")
    if value.startswith(("[", "{", "'", '"')) and not _names_file(override):
        return None
    groups = _groups()
    choices = [pieces[0] for pieces in others if len(pieces) == 1 and pieces[0].partition("=")[0].lstrip("+") in groups]
    try:
        _compose((*choices, f"{key}={quote_value(value)}"))
    except COMPOSITION_ERRORS:
        return None
    return f"write {write_override(key, value)}"


def _expand(override: str) -> list[str]:
    """Return the overrides that one argument stands for, several if it is a sweep."""
    parsed = _parser().parse_override(override)
    if not parsed.is_sweep_override():
        return [override]
    key, values = parsed.get_key_element(), parsed.sweep_string_iterator()
    return ["=".join([key, text]) for text in map(str, values)]


def _compose_violation(chosen: Sequence[str], override: str, check: Check) -> str | None:
    key, _, value = override.lstrip("+~").partition("=")
    try:
        config = _compose((*chosen, override))
    except MissingConfigException as error:
        missing = str(error.missing_cfg_file or override)
        option = missing.removeprefix(f"{key}/")
        if option != value:
            return f"{override}: its defaults name {missing}, which does not exist; fix the file"
        if not option:
            return f"{key} has no value; {_nearest_option(key, option)}"
        return f"{key}={option} is unknown; {_nearest_option(key, option)} ({_own_file(f'{key}/{option}.yaml')})"
    except ConfigCompositionException as error:
        if override.startswith("~"):
            return f"{override}: {first_line(error)}"
        if key in _groups():
            return _misplaced_plus(override, f"{key}={value}") or f"{override}: {first_line(error)}"
        if isinstance(error.__cause__, AttributeError | KeyError):
            return _explain_unknown(key, _compose(tuple(chosen)), chosen, override, check)
        if not isinstance(error.__cause__, OmegaConfBaseException):
            return f"{override}: {first_line(error)}"
        message = _explain_value(key, error.__cause__, override)
        return f"{message}{_several(key, value) if 'must be an integer' in message else ''}"
    except AssertionError:
        group, _, name = key.rpartition(".")
        return f"{override}: {group} is null; set all of its keys at once, such as '{group}={{{name}: {value}, …}}'"
    except COMPOSITION_ERRORS as error:
        if _NO_STRING in str(error):
            return f"{key}={value} is unknown; {_number_key(key, value) or _nearest_option(key, value)}"
        return f"{override}: {first_line(error)}"
    return next(iter(find_unknown(config)), None)


def _explain_value(key: str, error: OmegaConfBaseException, override: str) -> str:
    """Return a message about a value that Hydra refused because of ``error``, or about the part of it at fault."""
    value, shown = _parser().parse_override(override).value(), override.partition("=")[2]
    inner = str(error.full_key).partition("[")[0]
    if isinstance(value, dict) and inner.startswith(f"{key}."):
        for name in inner.removeprefix(f"{key}.").split("."):
            value = shown = value[name]
        key = inner
    if key not in key_kinds():
        return f"{key}={shown}: {first_line(error)}"
    return wrong_value(key, value, key_kinds()[key], shown)


def _number_key(group: str, value: str) -> str | None:
    """Return how to set the first number of a group to a value that was given as the group's option.

    The result is None if the value is not a number, or if the group has no number.
    """
    try:
        number = float(value)
    except ValueError:
        return None
    numbers = [key for key, kind in key_kinds().items() if {int, float} & {kind, *get_args(kind)}]
    name = next((key for key in numbers if key.rpartition(".")[0] == group), None)
    return None if name is None else f"to set a number, write {name}={number:.15g}"


def _several(key: str, value: str) -> str:
    """Return how to write several values, as the end of a message, if the value looks like a range or a list."""
    span = re.fullmatch(r"(\d{1,9})(?:\.\.+|-|:)(\d{1,9})", value)
    listed = re.fullmatch(r"\[(\d+(?:,\d+)+)\]", value)
    if span and int(span[1]) < int(span[2]):
        first, last = int(span[1]), int(span[2])
        some = ",".join(map(str, range(first, last + 1)))
        values = some if last - first < _MOST_LISTED else f"range({first},{last + 1})"
    elif listed:
        values = listed[1]
    else:
        return ""
    return f"; for several runs, write evodiverse -m {shlex.quote(f'{key}={values}')}"


def _explain_unknown(key: str, known: DictConfig, chosen: Sequence[str], override: str, check: Check) -> str:
    """Return what to do about an override of a key that does not exist.

    Args:
        key: The unknown key.
        known: The configuration without the override.
        chosen: The choices of options that the configuration was composed from.
        override: The override as written on the command line.
        check: The function that `explain` was given.
    """
    return (
        _missing_plus(key, known)
        or _missing_from_file(chosen, override, check)
        or f"{key} is unknown; {nearest_key(key, known_keys(known))}"
    )


def _missing_plus(key: str, known: DictConfig) -> str | None:
    """Return a message if a key must be set with a plus, as in ``+key=value``, else None.

    This is so if the key is a group that has no keys in the configuration, or lies directly in such a group. The user
    chooses the keys of such a group, for example ``llm.extra``.
    """
    for group in (key, key.rpartition(".")[0]):
        keys = OmegaConf.select(known, group) if group else None
        if isinstance(keys, DictConfig) and not keys:
            return f"{group} holds your own keys; add each with a plus: +{group}.name=value"
    return None


def _missing_from_file(chosen: Sequence[str], override: str, check: Check) -> str | None:
    """Return what to do about an override of a key below ``task`` that the task's file lacks.

    If the domain knows the key, the message says how to set it. If the domain does not know the key but knows a similar
    one, the message suggests that one. Otherwise, the result is None.
    """
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
    """Return a message if an option is chosen with a superfluous plus, or without a required one, else None."""
    written, remedy = (plain, "without a plus") if override.startswith("+") else (f"+{plain}", "with a plus")
    try:
        _compose((written,))
    except COMPOSITION_ERRORS:
        return None
    return f"{override} must be written {remedy}: {written}"


def _find_in_run(overrides: Sequence[str], check: Check) -> Sequence[str]:
    """Compose the run with these overrides, and return all problems that ``check`` finds in it."""
    composed = compose(CONFIG_NAME, overrides=list(overrides), return_hydra_config=True)
    try:
        check(*split_hydra(composed))
    except InputError as error:
        return error.violations
    except EvoDiverseError as error:
        return (str(error),)
    return ()


def parse_arguments(arguments: Sequence[str]) -> Namespace:
    """Return the flags and the overrides of a command line.

    Raises:
        InputError: A flag is unknown or used wrongly; the message says what to write instead.
    """
    if unknown := [*_find_unknown(arguments)]:
        raise InputError(*unknown)
    parser = get_args_parser()
    parser.error = _refuse  # type: ignore[method-assign, assignment] # argparse would print many lines and exit
    return parser.parse_args(put_options_last(arguments))


def _refuse(message: str) -> None:
    raise InputError(f"{message}; evodiverse --help shows how to use the command")


def put_options_last(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with all flags moved to the end, since argparse accepts no flag between two overrides."""
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


def _find_unknown(arguments: Sequence[str]) -> Iterator[str]:
    """Yield a message for each flag that does not exist; most are keys, which take no dashes."""
    known = [*get_args_parser()._option_string_actions]
    switches = {field.name for field in fields(Config) if field.type is bool}
    for index, word in enumerate(arguments):
        flag, equals, value = word.partition("=")
        is_key = flag.startswith("--") or (equals and flag.startswith("-"))
        if not is_key or any(other.startswith(flag) for other in known):
            continue
        similar = difflib.get_close_matches(flag.replace("_", "-"), known, n=1, cutoff=0.85)
        key = flag.lstrip("-").replace("-", "_")
        following = arguments[index + 1] if index + 1 < len(arguments) else "-"
        is_split = not equals and not following.startswith("-") and "=" not in following
        right = f"{key}={value or (following if is_split else 'true' if key in switches else '…')}"
        shown = f"{word} {following}" if is_split else word
        yield f"{shown}: {flag} is unknown; {f'did you mean {similar[0]}?' if similar else f'write {right}'}"
