"""The command ``evodiverse``: compose, validate, build, run."""

import os
import shlex
import sys
import traceback

import hydra
from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from evodiverse.errors import EvoDiverseError, InputError, Interrupted, ModelUnavailableError
from evodiverse.runner.process import complain, prepare, say
from evodiverse.settings.command_line import check_sweep, explain, put_options_last
from evodiverse.settings.compose import COMPOSITION_ERRORS, CONFIG_NAME, find_conf, save_composition
from evodiverse.settings.own_options import register_own_options
from evodiverse.settings.schema import register

_given: list[str] = []  # the command line as the user wrote it
_BUG = "a bug in EvoDiverse or in code of your own"


class _Refused(BaseException):
    """Carries the error of a single run past Hydra, which would print a line of its own about an `Exception`."""


class _ReportedError(Exception):
    """Carries the error of a sweep's run, which has been printed, from the process where a launcher had it made."""


class _Sweep:
    """The runs of a sweep made in the process of the command: how many, and what those that failed would exit with."""

    def __init__(self) -> None:
        self.process: int | None = None
        self.n_runs = 0
        self.failures: list[int] = []


_sweep = _Sweep()


def main() -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises, instead of printing many lines and exiting with 1
    _sweep.process = os.getpid()
    _given[:] = sys.argv[1:]
    sys.argv[1:] = put_options_last(_given)
    prepare()
    register()
    register_own_options()
    try:
        check_sweep(sys.argv[1:], _check)
        hydra.main(version_base="1.3", config_path=str(find_conf()), config_name=CONFIG_NAME)(job)()
        if _sweep.failures:
            n_failed = f"{len(_sweep.failures):,} of {_sweep.n_runs:,} runs failed"
            complain(f"{n_failed}; the same command tries them again")
            sys.exit(_sweep.failures[0])
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
    return shlex.join(["evodiverse", *_given])


def job(composed: DictConfig) -> None:
    """Run one configuration, and print what it fails with. The other runs of a sweep go on."""
    if HydraConfig.get().mode is not RunMode.MULTIRUN:
        _run_alone(composed)
        return
    _sweep.n_runs += 1
    name = HydraConfig.get().job.override_dirname
    try:
        _run(composed)
    except EvoDiverseError as error:
        complain("\n".join(f"{name}: {line}" for line in str(error).splitlines()))
        _note_failure(error.exit_code)
    except Exception as error:  # noqa: BLE001 (Hydra would tell of the first one alone, after all runs)
        traceback.print_exception(error)
        complain(f"{name}: {_BUG}")
        _note_failure(EvoDiverseError.exit_code)


def _run_alone(composed: DictConfig) -> None:
    try:
        _run(composed)
    except EvoDiverseError as error:
        complain(str(error))
        if isinstance(error, ModelUnavailableError):
            complain(f"to resume: {_command()}")
        raise _Refused(error.exit_code) from error
    except (OSError, *COMPOSITION_ERRORS) as error:  # `main` must not take it for the user's mistake
        raise RuntimeError(_BUG) from error


def _note_failure(exit_code: int) -> None:
    """Remember that a run of a sweep failed; from another process an error alone comes back to the main one."""
    if os.getpid() != _sweep.process:
        raise _ReportedError(exit_code)
    _sweep.failures.append(exit_code)


def _run(composed: DictConfig) -> None:
    from evodiverse.runner.display import choose_display  # here: --help does without the libraries these load
    from evodiverse.settings.assembly import run
    from evodiverse.settings.plan import plan_run

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
    from evodiverse.settings.plan import plan_run

    plan_run(composed, hydra_part)
