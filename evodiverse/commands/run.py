"""The command ``evodiverse``, which composes and validates a configuration, and then starts the run."""

import os
import shlex
import sys
import traceback

import hydra
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from evodiverse.commands.frame import finish
from evodiverse.errors import EvoDiverseError, InputError, ModelUnavailableError, describe
from evodiverse.kit.environment import cap_threads
from evodiverse.runner.process import complain, prepare, say
from evodiverse.settings import find_conf
from evodiverse.settings.command_line import explain, parse_arguments, put_options_last
from evodiverse.settings.compose import COMPOSITION_ERRORS, CONFIG_NAME, hydra_session, save_composition
from evodiverse.settings.schema import register

_given: list[str] = []  # the arguments as the user wrote them
_BUG = "a bug in EvoDiverse or in your own code"


class RunFailed(EvoDiverseError):  # noqa: N818 (the name states what happened)
    """The failure of one run of a sweep, with its error message, which can be passed between processes."""


def main() -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # makes Hydra raise instead of printing many lines and exiting with 1
    _given[:] = sys.argv[1:]
    sys.argv[1:] = put_options_last(_given)
    register()
    sys.exit(finish(_start, f"; to resume: {_command()}", "; choose another folder with outputs=…"))


def is_basic(hydra: HydraConf) -> bool:
    """Return whether a sweep goes over lists of values, rather than letting a sweeper choose values as it goes."""
    return str(hydra.sweeper.get("_target_")).endswith(f".{BasicSweeper.__name__}")


def _start() -> int | None:
    """Start a run or a sweep, or print what an option such as ``--cfg`` asks for, and return the exit code.

    A single run uses `hydra.main` only with options such as ``--config-path``, because `hydra.main` composes the
    configuration twice, which takes time.
    """
    try:
        parsed = parse_arguments(_given)
        is_print = any((parsed.hydra_help, parsed.cfg, parsed.info, parsed.shell_completion))
        is_elsewhere = any((parsed.config_path, parsed.config_name, parsed.experimental_rerun))
        is_sweep = parsed.multirun or "hydra.mode=MULTIRUN" in parsed.overrides
        if is_sweep and not is_print and not parsed.run:
            from evodiverse.commands.sweep import run_sweep  # here so that errors are reported fast

            return run_sweep(_given, job)
        if is_print or is_elsewhere:
            hydra.main(version_base="1.3", config_path=str(find_conf()), config_name=CONFIG_NAME)(job)()
        else:
            with hydra_session(parsed.config_dir) as session:
                session.run(CONFIG_NAME, job, [*parsed.overrides, "hydra.mode=RUN"])
    except COMPOSITION_ERRORS as error:
        from evodiverse.settings.plan import plan_run  # here so that errors are reported fast

        raise explain(error, sys.argv[1:], plan_run) from error
    return None


def _command() -> str:
    return shlex.join(["evodiverse", *_given])


def job(composed: DictConfig) -> float | None:
    """Run one configuration, and return its best score; None if there is no score.

    Hydra calls this function with the configuration of a single run, or of each run of a sweep. A sweeper that chooses
    its runs, such as Optuna's, uses the returned score.

    Raises:
        RunFailed: A run of a sweep failed. The other runs of the sweep continue.
    """
    if HydraConfig.get().mode is not RunMode.MULTIRUN:
        return _run_alone(composed)
    try:
        return _run(composed)
    except EvoDiverseError as error:
        message = str(error)
    except Exception as error:  # noqa: BLE001 (Hydra would report only the first error, after all runs)
        traceback.print_exception(error)
        message = f"{describe(error)}; {_BUG}"
    raise RunFailed(message)


def _run_alone(composed: DictConfig) -> float | None:
    try:
        return _run(composed)
    except EvoDiverseError as error:
        complain(str(error))
        if isinstance(error, ModelUnavailableError):
            complain(f"to resume: {_command()}")
        raise SystemExit(error.exit_code) from error  # Hydra would print a line about an `Exception`
    except (OSError, *COMPOSITION_ERRORS) as error:  # so that `main` does not take it for an error of the user
        raise RuntimeError(_BUG) from error


def _run(composed: DictConfig) -> float | None:
    from evodiverse.settings.plan import plan_run

    cap_threads()  # here too, since the processes of a launcher never call `main`
    prepare()
    hydra_part = HydraConfig.get()
    if hydra_part.mode is RunMode.RUN and hydra_part.sweeper.get("params"):
        raise InputError("this experiment is a sweep; start it with evodiverse -m …")
    is_shown = hydra_part.mode is RunMode.MULTIRUN and is_basic(hydra_part)  # in the display of the sweep
    plan = plan_run(composed, hydra_part)
    if plan.config.dry_run:
        from evodiverse.settings.assembly import rehearse  # here so that errors are reported fast

        rehearse(plan, lambda summary: say(f"{OmegaConf.to_yaml(composed, resolve=True)}\n{summary}"))
        return None
    from evodiverse.runner.display import NoDisplay, choose_display
    from evodiverse.settings.assembly import run

    return run(
        plan,
        NoDisplay() if is_shown else choose_display(plan.config.display, str(plan.path)),
        (lambda _: None) if is_shown else say,  # the overview of the sweep shows the run
        lambda folder: save_composition(folder, composed, hydra_part),
    )
