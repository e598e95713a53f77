"""Print docs/configuration.md: python scripts/reference.py > docs/configuration.md."""

import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

from hydra import compose, initialize_config_dir

from evodiverse.kit.documented import Bounds
from evodiverse.kit.typed import flatten
from evodiverse.settings import find_conf
from evodiverse.settings.compose import CONFIG_NAME, resolve
from evodiverse.settings.identity import show
from evodiverse.settings.schema import Config, Task, register

INTRODUCTION = """\
# Configuration

Every configuration key, with its default and its meaning. `make docs` generates this page.

Every key can be set on the command line (`key=value`) and swept with `-m` (`key=a,b,c`). The defaults are those of
`task=jnk3 method=pt llm=off budget=paper`; those of *Programs* and *Equations* are those of `task=bin_packing` and
`task=equation`. `???` marks a key that has no default with these choices. `evodiverse --cfg job task=… method=…` prints
the defaults of other tasks and methods. Some defaults depend on the domain: they are in the task's file, below
`task.defaults`. `search.early_stop=null` disables early stopping.

† Not part of a run's identity: a run resumes even if the value has changed, and the path of its folder does not name
it. Such a key does not by itself change what a run logs, except that `evaluator.timeout`, `evaluator.retries`,
`task.score_timeout` and `search.on_failed_start` decide what counts as failed.

The groups `task`, `method`, `llm`, `budget`, `evaluator`, `tracking`, `launcher` and `experiment` choose files in
`conf/`; `evodiverse --help` lists their options. `--config-dir FOLDER` adds a folder of your own.

"""

HEAD: Final = "| key | meaning | default | values |\n|---|---|---|---|\n"
KINDS: Final = {
    int: "integer",
    float: "number",
    str: "string",
    bool: "bool",
    list[int]: "integers",
    list[float]: "numbers",
    list[Any]: "list",
    list[str]: "strings",
    dict[str, str]: "strings by name",
}
_ATTRIBUTE: Final = re.compile(r"^    (\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)


def main() -> int:
    """Print the page that lists all configuration keys, and return the exit code."""
    register()
    with initialize_config_dir(config_dir=str(find_conf()), version_base="1.3"):
        default = _compose()
        sections: dict[str, list[tuple[type, str, Mapping[str, Any]]]] = {
            "All tasks": [(Config, "", default), (Task, "task.", default)]
        }
        tasks = sorted(path.stem for path in find_conf().joinpath("task").glob("*.yaml"))
        for task in [default["task.name"], *tasks]:
            values = _compose(f"task={task}")
            domain = str(values["task.domain"])  # the first task of a domain provides its defaults
            settings = importlib.import_module(f"{domain}.domain").settings
            sections.setdefault(domain.rpartition(".")[2].capitalize(), [(settings, "task.", values)])
    seen: dict[str, str] = {}
    tables = (
        f"## {heading}\n\n{HEAD}{''.join(row for group in groups for row in _rows(*group, seen))}"
        for heading, groups in sections.items()
    )
    sys.stdout.write(INTRODUCTION + "\n".join(tables))
    return 0


def read_docs(schema: type) -> dict[str, str]:
    """Return what the keys of a group mean, by name, from the docstring of its class."""
    _, _, attributes = (inspect.getdoc(schema) or "").partition("\nAttributes:\n")
    return {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(attributes)}


def _rows(schema: type, prefix: str, defaults: Mapping[str, Any], seen: dict[str, str]) -> Iterator[str]:
    """Yield a row of the table for each key of a group and of the groups in it.

    Args:
        schema: The class of the group.
        prefix: The prefix of its keys.
        defaults: The defaults, by dotted key.
        seen: The keys of the rows before, by meaning.
    """
    docs, kinds = read_docs(schema), get_type_hints(schema)
    for field in fields(schema):
        key, kind = f"{prefix}{field.name}", kinds[field.name]
        if field.name in docs and "omegaconf_ignore" not in field.metadata:
            yield _row(key, field, kind, docs[field.name], defaults, seen)
        for option in (kind, *get_args(kind)):
            if isinstance(option, type) and is_dataclass(option):
                yield from _rows(option, f"{key}.", defaults, seen)


def _row(key: str, field: Field[Any], kind: Any, doc: str, defaults: Mapping[str, Any], seen: dict[str, str]) -> str:
    """Return the row of a key; a meaning that an earlier key has already refers to that key."""
    bounds, unit = field.metadata.get("bounds", Bounds()), field.metadata.get("unit", "")
    first = seen.setdefault(doc, key)
    meaning = doc if first == key else f"as `{first}`"
    mark = "" if field.metadata.get("changes_log", True) else "†"
    default = field.default if field.default_factory is MISSING else field.default_factory()
    values = _kind(kind)
    if bounds.choices:
        values = f"{bounds} or null" if values.endswith("null") else str(bounds)
    elif str(bounds):
        values += f", {bounds}"
    if unit and unit not in doc:
        values += f" ({unit})"
    return f"| `{key}` | {meaning}{mark} | `{show(defaults.get(key, default))}` | {values} |\n"


def _kind(kind: Any) -> str:
    if get_origin(kind) is dict:
        return "keys"
    if kind is Any:
        return "any"
    if get_origin(kind) is UnionType:
        return " or ".join([*(KINDS[option] for option in get_args(kind) if option is not NoneType), "null"])
    return KINDS[kind]


def _compose(*overrides: str) -> dict[str, Any]:
    return dict(flatten(resolve(compose(CONFIG_NAME, list(overrides)))))


if __name__ == "__main__":
    sys.exit(main())
