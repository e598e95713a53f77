"""The command ``evodiverse``: it prints the version or the help page itself, without Hydra, which is slow to import."""

import gc
import re
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from evodiverse import __version__
from evodiverse.settings import find_conf
from evodiverse.text import printable

_OWN: Final = re.compile(r"^\{own options of (\w+)\}\n", re.MULTILINE)
_INDENT, _NAME_WIDTH, _TEXT_WIDTH = " " * 4, 14, 36


def main() -> None:
    """Print the version or the help page if requested; otherwise run the command line."""
    gc.set_threshold(10_000)  # with the default, a tenth of a start goes into collections that find nothing
    arguments = sys.argv[1:]
    if "--version" in arguments:
        sys.stdout.write(f"evodiverse {__version__}\n")
        return
    if not {"--help", "-h"}.isdisjoint(arguments):
        from evodiverse.runner.process import prepare, say

        prepare()
        say(help_page(arguments).removesuffix("\n"))
        return
    from evodiverse.kit.environment import cap_threads

    cap_threads()
    from evodiverse.commands.run import main

    main()


def help_page(arguments: Sequence[str]) -> str:
    """Return the help page. In each group, it lists the user's own options below those that come with EvoDiverse.

    Args:
        arguments: The arguments of the command; ``--config-dir`` names the folder of the user's own options.
    """
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config-dir", "-cd", type=Path)
    folder = parser.parse_known_args(arguments)[0].config_dir
    page = Path(__file__).parent.joinpath("commands", "help.txt").read_text(encoding="utf-8")
    return _OWN.sub(lambda match: "" if folder is None else _list_own(match[1], folder), page)


def _list_own(group: str, folder: Path) -> str:
    """Return a line for each own option: its name, the comment on the first line of its file, and an example."""
    published = {path.stem for path in (find_conf() / group).glob("*.yaml")}
    plus = "+" if group == "experiment" else ""
    lines = []
    for path in sorted(path for path in (folder / group).glob("*.yaml") if path.stem not in published):
        example = f"evodiverse --config-dir {folder} {plus}{group}={path.stem}"
        text = _first_comment(path)[:_TEXT_WIDTH]
        lines.append(printable(f"{_INDENT}{path.stem:{_NAME_WIDTH}}  {text:{_TEXT_WIDTH}}  {example}") + "\n")
    return "".join(lines)


def _first_comment(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            first = file.readline(1000).strip()
    except OSError:
        return ""
    return first.lstrip("# ") if first.startswith("#") else ""


if __name__ == "__main__":
    main()
