"""The flags on a command line, such as ``--config-dir FOLDER``, which argparse reads for Hydra."""

import difflib
from argparse import Action, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import fields

from hydra._internal.utils import get_args_parser

from evodiverse.errors import InputError
from evodiverse.settings.schema import Config


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
