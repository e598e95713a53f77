"""Prompt templates: text files with fields such as ``$name``, either those of EvoDiverse or a user's own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from evodiverse.errors import InputError, reason
from evodiverse.kit.inputs import read_text_input


def read_templates(
    folder: Path, fields: Mapping[str, Sequence[str]], shipped: Mapping[str, Path] | None = None
) -> dict[str, str]:
    """Return the text of each template by name; the template ``NAME`` is read from ``NAME.txt`` in the folder.

    Args:
        folder: The folder that ``task.prompts.dir`` names, or the one with the templates of EvoDiverse.
        fields: The fields that each template must contain, by the name of the template. ``field?`` marks an optional
            field, and ``one|other`` two fields of which at least one is required.
        shipped: The files to use for templates that are missing from the folder, by the name of the template.

    Raises:
        InputError: A template is missing, a required field is missing, or a field is unknown; the messages name every
            problem.
    """
    templates, violations = {}, []
    for name in fields:
        path = folder / f"{name}.txt"
        if shipped and name in shipped and folder.is_dir() and not path.exists():
            path = shipped[name]
        try:
            templates[name] = read_text_input(path, "utf-8")
        except OSError as error:
            violations.append(f"task.prompts.dir: cannot read {path} ({reason(error)}); check the path")
        except ValueError:
            violations.append(f"task.prompts.dir: {path} is not UTF-8; save it as text in UTF-8")
        else:
            problems = _find_problems(templates[name], fields[name])
            violations += [f"task.prompts.dir: {path} {problem}" for problem in problems]
    if violations:
        raise InputError(*violations)
    return templates


def _find_problems(text: str, fields: Sequence[str]) -> list[str]:
    template = Template(text)
    if not template.is_valid():
        return ["has a $ without the name of a field; write $$ for the character itself"]
    known = [name for field in fields for name in field.rstrip("?").split("|")]
    used = template.get_identifiers()
    unknown = [field for field in used if field not in known]
    problems = [f"has the unknown field ${field}; expected ${', $'.join(known)}" for field in unknown]
    needed = [field.split("|") for field in fields if not field.endswith("?")]
    return problems + [f"is missing ${' or $'.join(names)}" for names in needed if not set(names) & set(used)]
