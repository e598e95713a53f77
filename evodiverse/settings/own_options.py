"""The user's own options on the page that ``--help`` prints."""

from pathlib import Path

from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from omegaconf import OmegaConf

from evodiverse.kit.text import printable
from evodiverse.settings.compose import find_conf

_INDENT, _NAME_WIDTH, _TEXT_WIDTH = " " * 4, 14, 36


def register_own_options() -> None:
    """Let the page of ``--help`` refer to them: ``${own_options:GROUP}`` is their lines, each on a new one."""
    OmegaConf.register_new_resolver("own_options", _list_own, replace=True)


def _list_own(group: str) -> str:
    sources = GlobalHydra.instance().config_loader().get_sources()
    folders = [Path(source.path) for source in sources if source.scheme() == "file" and source.provider != "main"]
    published = {path.stem for path in (find_conf() / group).glob("*.yaml")}
    # Every composition asks for them, and the loader's own list would copy all its sources first.
    names = {name for source in sources if source.is_group(group) for name in source.list(group, ObjectType.CONFIG)}
    return "".join(f"\n{_line(group, name, folders)}" for name in sorted(names - published))


def _line(group: str, name: str, folders: list[Path]) -> str:
    """Return an option's line: its name, what the first comment of its file says, and an example."""
    folder = next((folder for folder in folders if (folder / group / f"{name}.yaml").is_file()), None)
    text = "" if folder is None else _first_comment(folder / group / f"{name}.yaml")
    plus = "+" if group == "experiment" else ""
    example = f"evodiverse --config-dir {folder} {plus}{group}={name}" if folder else f"evodiverse {plus}{group}={name}"
    return printable(f"{_INDENT}{name:{_NAME_WIDTH}}  {text[:_TEXT_WIDTH]:{_TEXT_WIDTH}}  {example}")


def _first_comment(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            first = file.readline(1000).strip()
    except OSError:
        return ""
    return first.lstrip("# ") if first.startswith("#") else ""
