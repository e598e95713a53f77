"""The plan of an existing run, rebuilt from the configuration that Hydra composed for it."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from evodiverse.errors import InputError, describe
from evodiverse.settings.compose import COMPOSITION_ERRORS
from evodiverse.settings.plan import Plan, plan_run
from evodiverse.settings.schema import Config


def plan_again(path: Path) -> tuple[Plan, DictConfig, Any]:
    """Return the plan of an existing run, its composed configuration, and Hydra's own part of it, to resume the run.

    Changes the current directory to the folder that the run was started from, if that still exists, since paths in the
    configuration may be relative to it.

    Args:
        path: The run directory.

    Raises:
        InputError: The directory holds no started run, or its configuration is damaged or no longer valid.
    """
    folder = path.absolute()
    composed, hydra = (_load(folder / ".hydra" / f"{name}.yaml") for name in ("config", "hydra"))
    try:
        config = OmegaConf.merge(OmegaConf.structured(Config), composed)
        hydra_part = OmegaConf.select(hydra, "hydra")
        started_from = Path(str(hydra_part.runtime.cwd))
    except (*COMPOSITION_ERRORS, AttributeError) as error:
        raise InputError(f"{folder / '.hydra'} cannot be read ({describe(error)}); start the run again") from error
    if started_from.is_dir():
        os.chdir(started_from)
    if not isinstance(config, DictConfig):
        raise InputError(f"{folder / '.hydra' / 'config.yaml'} does not hold a configuration; start the run again")
    for source in hydra_part.runtime.config_sources:
        if source.provider == "command-line" and not Path(str(source.path)).is_dir():
            raise InputError(f"{path} was started with --config-dir {source.path}, which is gone; restore that folder")
    return replace(plan_run(config, hydra_part), path=folder), config, hydra_part


def _load(path: Path) -> Any:
    try:
        return OmegaConf.load(path)
    except FileNotFoundError as error:
        raise InputError(f"{path.parents[1]} is not a run directory; check the path") from error
    except (OSError, *COMPOSITION_ERRORS) as error:
        raise InputError(f"{path} cannot be read ({describe(error)}); start the run again") from error
