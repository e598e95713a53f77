"""The command ``evodiverse``: compose, validate, build, run."""

import logging
import os
import signal
import sys
from types import FrameType

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from evodiverse.errors import EvoDiverseError, Interrupted
from evodiverse.settings.compose import COMPOSITION_ERRORS, CONFIG_NAME, explain, find_conf, save_composition
from evodiverse.settings.schema import register


class _Refused(BaseException):
    """Carries the error of a single run past Hydra, which would print a line of its own about an `Exception`."""

    def __init__(self, error: EvoDiverseError) -> None:
        self.error = error


def main() -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises, instead of printing many lines and exiting with 1
    logging.basicConfig(format="evodiverse: %(message)s", level=logging.WARNING)
    logging.getLogger("evodiverse").setLevel(logging.INFO)
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, _interrupt)
    register()
    try:
        hydra.main(version_base="1.3", config_path=str(find_conf()), config_name=CONFIG_NAME)(job)()
    except Interrupted as error:
        _complain(f"{error}; start the same command to resume")
        sys.exit(error.exit_code)
    except _Refused as refused:
        _complain(str(refused.error))
        sys.exit(refused.error.exit_code)
    except EvoDiverseError as error:  # of a job of a sweep, which has reported it
        sys.exit(error.exit_code)
    except COMPOSITION_ERRORS as error:
        refusal = explain(error, sys.argv[1:])
        _complain(str(refusal))
        sys.exit(refusal.exit_code)
    except OSError as error:  # Hydra could not write the folder of a sweep
        _complain(f"outputs: {error.filename}: {error.strerror}; choose another folder with outputs=…")
        sys.exit(2)


def job(composed: DictConfig) -> None:
    """Run one configuration. In a sweep its errors are reported here, and the other jobs go on.

    Raises:
        EvoDiverseError: It cannot be run, or failed.
    """
    try:
        _run(composed)
    except EvoDiverseError as error:
        if HydraConfig.get().mode is RunMode.MULTIRUN:
            name = HydraConfig.get().job.override_dirname
            _complain("\n".join(f"{name}: {line}" for line in str(error).splitlines()))
            raise
        raise _Refused(error) from error
    except (OSError, *COMPOSITION_ERRORS) as error:  # `main` must not take it for the user's mistake
        raise RuntimeError("a bug in EvoDiverse or in code of your own") from error


def _run(composed: DictConfig) -> None:
    from evodiverse.runner.display import PlainDisplay
    from evodiverse.settings.build import plan_run, run

    plan = plan_run(composed)
    if plan.config.dry_run:
        _say(OmegaConf.to_yaml(composed, resolve=True))
        _say(plan.summary)
        return
    run(plan, PlainDisplay(sys.stderr), _say, lambda folder: save_composition(folder, composed))


def _interrupt(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
    for again in (signal.SIGINT, signal.SIGTERM):
        signal.signal(again, signal.SIG_DFL)  # whoever asks twice means it
    raise Interrupted(signum)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _complain(message: str) -> None:
    sys.stderr.write("".join(f"evodiverse: {line}\n" for line in message.splitlines()))


if __name__ == "__main__":
    main()
