"""The command ``evodiverse``: compose, validate, build, run."""

import os
import shlex
import sys

import hydra
from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from evodiverse.errors import EvoDiverseError, InputError, Interrupted, ModelUnavailableError
from evodiverse.runner.process import complain, prepare, say
from evodiverse.settings.command_line import check_sweep, explain
from evodiverse.settings.compose import COMPOSITION_ERRORS, CONFIG_NAME, find_conf, save_composition
from evodiverse.settings.schema import register


class _Refused(BaseException):
    """Carries the error of a single run past Hydra, which would print a line of its own about an `Exception`."""


class _ReportedError(Exception):
    """Carries the error of a sweep's job, which has been printed; the other jobs go on."""


def main() -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises, instead of printing many lines and exiting with 1
    prepare()
    register()
    try:
        check_sweep(sys.argv[1:], _check)
        hydra.main(version_base="1.3", config_path=str(find_conf()), config_name=CONFIG_NAME)(job)()
    except Interrupted as error:
        complain(f"{error}; to resume: {_command()}")
        sys.exit(error.exit_code)
    except (_Refused, _ReportedError) as carried:
        sys.exit(carried.args[0])
    except EvoDiverseError as error:
        complain(str(error))
        sys.exit(error.exit_code)
    except COMPOSITION_ERRORS as error:
        complain(str(explain(error, sys.argv[1:], _check)))
        sys.exit(InputError.exit_code)
    except OSError as error:  # Hydra could not write the folder of a sweep, or what it prints
        if error.filename is None:
            complain(f"cannot write to standard output ({error.strerror})")
            sys.exit(1)
        complain(f"outputs: {error.filename}: {error.strerror}; choose another folder with outputs=…")
        sys.exit(InputError.exit_code)


def _command() -> str:
    return shlex.join(["evodiverse", *sys.argv[1:]])


def job(composed: DictConfig) -> None:
    """Run one configuration, and print what it fails with."""
    is_sweep = HydraConfig.get().mode is RunMode.MULTIRUN
    try:
        _run(composed)
    except EvoDiverseError as error:
        name = f"{HydraConfig.get().job.override_dirname}: " if is_sweep else ""
        complain("\n".join(f"{name}{line}" for line in str(error).splitlines()))
        if isinstance(error, ModelUnavailableError):
            complain(f"to resume: {_command()}")
        raise (_ReportedError if is_sweep else _Refused)(error.exit_code) from error
    except (OSError, *COMPOSITION_ERRORS) as error:  # `main` must not take it for the user's mistake
        raise RuntimeError("a bug in EvoDiverse or in code of your own") from error


def _run(composed: DictConfig) -> None:
    from evodiverse.runner.display import choose_display  # here: --help does without the libraries these load
    from evodiverse.settings.build import plan_run, run

    hydra_part = HydraConfig.get()
    if hydra_part.mode is RunMode.RUN and hydra_part.sweeper.get("params"):
        raise InputError("this experiment is a sweep; start it with evodiverse -m …")
    plan = plan_run(composed, hydra_part)
    if plan.config.dry_run:
        say(OmegaConf.to_yaml(composed, resolve=True))
        say(plan.summary)
        return
    run(
        plan,
        choose_display(plan.config.display, str(plan.path)),
        say,
        lambda folder: save_composition(folder, composed, hydra_part),
    )


def _check(composed: DictConfig, hydra_part: HydraConf) -> None:
    from evodiverse.settings.build import plan_run

    plan_run(composed, hydra_part)
