"""A Hydra session with the same setup as the command."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hydra import initialize_config_dir
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.global_hydra import GlobalHydra

from evodiverse.settings.conf_folder import find_conf

_JOB = "evodiverse"


@contextmanager
def hydra_session(config_dir: str | None) -> Iterator[Hydra]:
    """Set up Hydra temporarily, with the user's own folder of options if there is one.

    Args:
        config_dir: The folder of ``--config-dir``; ignored if it does not exist.
    """
    GlobalHydra.instance().clear()
    search_path = create_config_search_path(str(find_conf()))
    if config_dir and Path(config_dir).is_dir():
        folder, schema = f"file://{Path(config_dir).absolute()}", SearchPathQuery(provider="schema")
        search_path.prepend("command-line", folder, anchor=schema)
    with initialize_config_dir(config_dir=str(find_conf()), version_base="1.3"):
        GlobalHydra.instance().clear()
        yield Hydra.create_main_hydra2(_JOB, search_path)
