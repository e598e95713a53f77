"""Prompt templates: text files with fields ``$name``, those that are shipped or a user's own in their place."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from evodiverse.errors import InputError, reason
from evodiverse.kit.inputs import TEXT_BYTES, read_text_input


def read_templates(
    folder: Path, fields: Mapping[str, Sequence[str]], shipped: Mapping[str, Path] | None = None
) -> dict[str, str]:
    """Return the templates of a folder by name, each a ``.txt`` file.

    Args:
        folder: What ``task.prompts.dir`` names, or the shipped ones.
        fields: The templates, each with the fields that it must have. A ? marks those that it may leave out, and
            ``one|other`` two of which it must have one.
        shipped: The files that take the place of templates that a folder may leave out.

    Raises:
        InputError: One is missing, lacks a field that it must have, or names one that there is not; names all.
    """
    templates, violations = {}, []
    for name in fields:
        path = folder / f"{name}.txt"
        if shipped and name in shipped and folder.is_dir() and not path.exists():
            path = shipped[name]
        try:
            templates[name] = read_text_input(path, TEXT_BYTES, "utf-8")
        except OSError as error:
            violations.append(f"task.prompts.dir: cannot read {path} ({reason(error)})")
        except ValueError:
            violations.append(f"task.prompts.dir: {path} is not UTF-8")
        else:
            problems = _find_problems(templates[name], fields[name])
            violations += [f"task.prompts.dir: {path} {problem}" for problem in problems]
    if violations:
        raise InputError(*violations)
    return templates


def _find_problems(text: str, fields: Sequence[str]) -> list[str]:
    template = Template(text)
    if not template.is_valid():
        return ["has a $ that names no field; write $$ for the character"]
    known = [name for field in fields for name in field.rstrip("?").split("|")]
    used = template.get_identifiers()
    unknown = [field for field in used if field not in known]
    problems = [f"has the field ${field}, which there is not; use ${', $'.join(known)}" for field in unknown]
    needed = [field.split("|") for field in fields if not field.endswith("?")]
    return problems + [f"lacks ${' or $'.join(names)}" for names in needed if not set(names) & set(used)]
