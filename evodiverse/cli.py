"""The command ``evodiverse``: compose, validate, build, run."""

import io
import logging
import os
import signal
import sys
from types import FrameType

import hydra
from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from evodiverse.errors import EvoDiverseError, InputError, Interrupted
from evodiverse.runner.display import PlainDisplay, say
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
    logging.basicConfig(format="evodiverse: %(message)s", level=logging.WARNING)
    logging.getLogger("evodiverse").setLevel(logging.INFO)
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, _interrupt)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal without Greek gets its letters as numbers
        sys.stdout.reconfigure(errors="backslashreplace")
    register()
    try:
        check_sweep(sys.argv[1:], _check)
        hydra.main(version_base="1.3", config_path=str(find_conf()), config_name=CONFIG_NAME)(job)()
    except Interrupted as error:
        _complain(f"{error}; start the same command to resume")
        sys.exit(error.exit_code)
    except (_Refused, _ReportedError) as carried:
        sys.exit(carried.args[0])
    except EvoDiverseError as error:
        _complain(str(error))
        sys.exit(error.exit_code)
    except COMPOSITION_ERRORS as error:
        _complain(str(explain(error, sys.argv[1:], _check)))
        sys.exit(InputError.exit_code)
    except OSError as error:  # Hydra could not write the folder of a sweep
        _complain(f"outputs: {error.filename}: {error.strerror}; choose another folder with outputs=…")
        sys.exit(InputError.exit_code)


def job(composed: DictConfig) -> None:
    """Run one configuration, and print what it fails with."""
    is_sweep = HydraConfig.get().mode is RunMode.MULTIRUN
    try:
        _run(composed)
    except EvoDiverseError as error:
        name = f"{HydraConfig.get().job.override_dirname}: " if is_sweep else ""
        _complain("\n".join(f"{name}{line}" for line in str(error).splitlines()))
        raise (_ReportedError if is_sweep else _Refused)(error.exit_code) from error
    except (OSError, *COMPOSITION_ERRORS) as error:  # `main` must not take it for the user's mistake
        raise RuntimeError("a bug in EvoDiverse or in code of your own") from error


def _run(composed: DictConfig) -> None:
    from evodiverse.settings.build import plan_run, run

    hydra_part = HydraConfig.get()
    if hydra_part.mode is RunMode.RUN and hydra_part.sweeper.get("params"):
        raise InputError("this experiment is a sweep; start it with evodiverse -m …")
    plan = plan_run(composed, hydra_part)
    if plan.config.dry_run:
        say(OmegaConf.to_yaml(composed, resolve=True))
        say(plan.summary)
        return
    run(plan, PlainDisplay(sys.stderr), say, lambda folder: save_composition(folder, composed, hydra_part))


def _check(composed: DictConfig, hydra_part: HydraConf) -> None:
    from evodiverse.settings.build import plan_run  # loads the libraries, which --help does without

    plan_run(composed, hydra_part)


def _interrupt(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
    for again in (signal.SIGINT, signal.SIGTERM):
        signal.signal(again, signal.SIG_DFL)  # whoever asks twice means it
    raise Interrupted(signum)


def _complain(message: str) -> None:
    sys.stderr.write("".join(f"evodiverse: {line}\n" for line in message.splitlines()))


if __name__ == "__main__":
    main()
