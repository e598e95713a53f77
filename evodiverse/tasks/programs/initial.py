"""The programs that a search starts from."""

import re
from collections.abc import Sequence
from pathlib import Path

from evodiverse.errors import InputError
from evodiverse.kit.tables import TextFile
from evodiverse.tasks.programs.marks import has_unpaired
from evodiverse.tasks.programs.operators.moves import START, make_program
from evodiverse.tasks.programs.parsing import parse_program
from evodiverse.vocabulary import Rejection


def read_programs(paths: Sequence[Path], entry_point: str, max_characters: int, n: int | None = None) -> list[str]:
    """Return the sources of the programs in the user's files, in the order of the files.

    Args:
        paths: The files that ``task.initial.path`` names, or the task's own.
        entry_point: The name of the function that each program must define.
        max_characters: The maximum length of a program, in characters.
        n: ``task.n``, to which the constant ``N`` of programs that come with EvoDiverse is set.

    Raises:
        InputError: A file cannot be read or does not hold a program of this task, or two files hold the same program.
            The message lists everything that is wrong.
    """
    violations: list[str] = []
    programs: dict[str, tuple[Path, str]] = {}
    for path in paths:
        try:
            is_builtin = path.parent.parent == Path(__file__).parent
            source = make_program(path.parent, path.stem) if is_builtin and path.name != START else None
            source = source or "".join(text for _, text in TextFile(path, "task.initial.path").texts())
            if is_builtin and n is not None:
                source = re.sub(r"^N = \d+$", f"N = {n}", source, count=1, flags=re.MULTILINE)
        except InputError as error:
            violations += error.violations
            continue
        parsed = parse_program(source, entry_point, max_characters)
        if has_unpaired(source):
            violations.append(f"task.initial.path: {path} has EVOLVE-BLOCK marks that do not come in pairs; fix them")
        elif isinstance(parsed, Rejection):
            violations.append(f"task.initial.path: {path} is not a program of this task ({parsed}); fix the file")
        elif parsed.key in programs:
            violations.append(f"task.initial.path: {path} is the same program as {programs[parsed.key][0]}; omit one")
        else:
            programs[parsed.key] = path, parsed.genotype
    if violations:
        raise InputError(*violations)
    return [source for _, source in programs.values()]
