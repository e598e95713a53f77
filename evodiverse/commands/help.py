"""The page that ``evodiverse --help`` prints. It is made without Hydra, which is slow to import."""

import re
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from evodiverse.settings.conf_folder import find_conf
from evodiverse.text import printable

OPTIONS: Final = ("--help", "-h")
_OWN: Final = re.compile(r"^\{own options of (\w+)\}\n", re.MULTILINE)
_INDENT, _NAME_WIDTH, _TEXT_WIDTH = " " * 4, 14, 36


def help_page(arguments: Sequence[str]) -> str:
    """Return the help page. In each group, it lists the user's own options below those that come with EvoDiverse.

    Args:
        arguments: The arguments of the command; ``--config-dir`` names the folder of the user's own options.
    """
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config-dir", "-cd", type=Path)
    folder = parser.parse_known_args(arguments)[0].config_dir
    page = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    return _OWN.sub(lambda match: "" if folder is None else _list_own(match[1], folder), page)


def _list_own(group: str, folder: Path) -> str:
    published = {path.stem for path in (find_conf() / group).glob("*.yaml")}
    own = sorted(path for path in (folder / group).glob("*.yaml") if path.stem not in published)
    return "".join(f"{_line(group, path, folder)}\n" for path in own)


def _line(group: str, path: Path, folder: Path) -> str:
    """Return the line of an option: its name, the comment on the first line of its file, and an example."""
    plus = "+" if group == "experiment" else ""
    example = f"evodiverse --config-dir {folder} {plus}{group}={path.stem}"
    text = _first_comment(path)[:_TEXT_WIDTH]
    return printable(f"{_INDENT}{path.stem:{_NAME_WIDTH}}  {text:{_TEXT_WIDTH}}  {example}")


def _first_comment(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            first = file.readline(1000).strip()
    except OSError:
        return ""
    return first.lstrip("# ") if first.startswith("#") else ""
