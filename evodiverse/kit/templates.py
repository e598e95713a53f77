"""Prompt templates: text files with fields ``$name``, those that are shipped or a user's own in their place."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from evodiverse.errors import InputError, reason
from evodiverse.kit.inputs import TEXT_BYTES, read_text_input


def read_templates(folder: Path, fields: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the templates of a folder by name, each a ``.txt`` file.

    Args:
        folder: What ``task.prompts.dir`` names, or the shipped ones.
        fields: The templates there must be, each with the fields that it must have; a ? marks those that it may leave
            out.

    Raises:
        InputError: One is missing, lacks a field that it must have, or names one that there is not; names all.
    """
    templates, violations = {}, []
    for name in fields:
        path = folder / f"{name}.txt"
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
    known = [field.rstrip("?") for field in fields]
    used = template.get_identifiers()
    unknown = [field for field in used if field not in known]
    problems = [f"has the field ${field}, which there is not; use ${', $'.join(known)}" for field in unknown]
    return problems + [f"lacks ${field}" for field in fields if not field.endswith("?") and field not in used]
