"""EvoDiverse from Python, for notebooks and scripts: `run` performs a run, `load` reads one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from evodiverse.errors import InputError
from evodiverse.kit.documented import join_or
from evodiverse.runlog.datasets import DATASETS as SCHEMAS
from evodiverse.runlog.record import RECORD
from evodiverse.runlog.runs import Run as LoggedRun
from evodiverse.runlog.runs import read_record
from evodiverse.vocabulary import CHARGED, Outcome

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Held by `run`, since Hydra, litellm and multiprocessing keep their state in one place for all threads of a process.
_TURN = Lock()
DATASETS: Final = (
    "evaluations",
    "populations",
    "swaps",
    "migrations",
    "adaptation",
    "llm_calls",
    "choices",
    "screened",
)
"""The tables of a run. Their columns are listed in docs/columns.md."""


@dataclass(frozen=True, slots=True)
class Best:
    """The candidate with the highest score of a run; of several with the same score, the one evaluated first.

    Attributes:
        score: The score, higher is better.
        genotype: The text of the candidate: a SMILES string, an equation, or a program.
        call: The number of the oracle call that evaluated it, counted from 1.
    """

    score: float
    genotype: str
    call: int


@dataclass(frozen=True, slots=True)
class Curve:
    """The best score so far as a function of oracle calls.

    Attributes:
        calls: ``(n,)`` numbers of the calls, 1 to n.
        best: ``(n,)`` best scores up to each call; NaN until a call has a score.
    """

    calls: NDArray[np.int64]
    best: NDArray[np.float64]


class Run(LoggedRun):
    """A run on disk, complete or not.

    Attributes:
        path: The run directory.
        record: The content of ``run.json``: the status, why the run ended, versions, totals and seconds.
        settings: The settings that can change the log of the run, by dotted key, such as ``method.swap.period``.
    """

    @property
    def status(self) -> str:
        """The status: running, complete, failed, interrupted, or asking (waiting for scores from outside the run)."""
        return str(self.record["status"])

    def table(self, name: str = "evaluations") -> pa.Table:
        """Return one of the tables, with its rows in the order in which they were committed.

        Args:
            name: One of `DATASETS`.

        Raises:
            InputError: There is no such table, nothing has been written yet, or a file cannot be read.
        """
        if name not in DATASETS:
            raise InputError(f"{name} is not a table of a run; use {', '.join(DATASETS)}")
        parts = self._parts(name)
        if not parts and self._parts("evaluations"):  # an older version wrote the run
            return SCHEMAS[name].empty_table()
        if not parts:
            raise InputError(f"{self.path} has written nothing yet; try again later")
        try:
            return pa.concat_tables([pq.read_table(part) for part in parts], promote_options="default")
        except (OSError, pa.ArrowInvalid) as error:
            raise InputError(
                f"{self.path / name} cannot be read ({error}); run it again with overwrite=true"
            ) from error

    def frame(self, name: str = "evaluations") -> "pd.DataFrame":
        """Return one of the tables as a pandas data frame.

        Args:
            name: One of `DATASETS`.

        Raises:
            InputError: There is no such table, nothing has been written yet, or a file cannot be read.
        """
        return self.table(name).to_pandas()

    def best(self) -> Best | None:
        """Return the candidate with the highest score; None if no candidate has a score.

        Raises:
            InputError: The log cannot be read.
        """
        table = self._evaluated()
        scores = table["score"].to_numpy()
        if not scores.size or np.isnan(scores).all():
            return None
        best = table.slice(int(np.nanargmax(scores)), 1).to_pylist()[0]
        return Best(best["score"], best["genotype"], best["call"])

    def curve(self) -> Curve:
        """Return the best score so far as a function of oracle calls.

        Raises:
            InputError: The log cannot be read.
        """
        table = self._evaluated()
        if CHARGED in table.column_names:
            table = table.filter(pc.fill_null(table[CHARGED], fill_value=True))
        scores = table["score"].to_numpy()
        return Curve(np.arange(1, scores.size + 1), np.fmax.accumulate(scores) if scores.size else scores)

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the best score so far against oracle calls, and return the axes.

        Args:
            axes: The axes of matplotlib to draw on; None for those of a new figure.

        Raises:
            InputError: The log cannot be read.
        """
        import matplotlib.pyplot as plt  # slow to import

        curve = self.curve()
        axes = plt.subplots(figsize=(5, 3))[1] if axes is None else axes
        axes.step(curve.calls, curve.best, where="post")
        axes.set(xlabel="oracle calls", ylabel="best score")
        return axes

    def _repr_html_(self) -> str | None:
        """Return a table of the best candidates with their pictures, as notebooks show it; None before the first."""
        from evodiverse.results.pages.one_run import draw_table

        return draw_table(self) if self._parts("evaluations") else None

    def predict(self, data: Any, *, size: int | None = None) -> NDArray[np.float64]:
        """Return the ``(n,)`` predictions of an equation that the run has found, NaN where they are not finite.

        Args:
            data: The variables: a mapping or a table (of pandas or Arrow) with a column for each, in any order and
                among others, or an array ``(n, variables)`` in the order of ``variables`` in ``best/equation.json``.
            size: The complexity of an equation in ``best/hall_of_fame.csv``; None for the chosen equation.

        Raises:
            InputError: The run has no equation, or none of this size; or the data lack a column, or are not numbers.
        """
        from evodiverse.tasks.equations.result import read_result

        return read_result(self.path).predict(data, size)

    def intervals(self, data: Any, *, size: int | None = None, bootstrap: int = 0) -> NDArray[np.float64]:
        """Return the ends ``(constants, 2)`` of the 95% confidence intervals of an equation's constants.

        They follow from the covariance of a least-squares fit to the data, and are infinite for constants that the
        data do not determine.

        Args:
            data: A mapping or a table, as for `predict`, that also has the column of the target, and that of
                ``task.data.sigma`` if the run has one.
            size: The complexity of the equation, as for `predict`.
            bootstrap: If above 0, the constants are fitted again to so many samples of the rows, drawn with
                replacement, and the intervals hold 95% of the constants found.

        Raises:
            InputError: As for `predict`, or the target or a prediction is not finite in a row.
        """
        from evodiverse.tasks.equations.result import read_result

        return read_result(self.path).intervals(data, size, bootstrap)

    def _evaluated(self) -> pa.Table:
        """Return the rows of ``evaluations`` that have a call number, in the order of these numbers."""
        if not self._parts("evaluations"):
            return SCHEMAS["evaluations"].empty_table()
        table = self.table("evaluations")
        return table.filter(pc.equal(table["outcome"], str(Outcome.EVALUATED))).sort_by("call")


@contextmanager
def _alone() -> Iterator[None]:
    if not _TURN.acquire(blocking=False):
        raise InputError(
            "evodiverse.run is already running in this process; wait until it has ended, or use another process"
        )
    try:
        yield
    finally:
        _TURN.release()


@_alone()
def run(overrides: Sequence[str] = (), *, config_dir: str | Path | None = None, display: str = "none") -> Run:
    """Start or resume a run, as ``evodiverse OVERRIDES`` does, and wait until it ends or asks a person for scores.

    A run that is already complete is only loaded, unless ``overwrite=true`` is given. A process carries out one run at
    a time.

    Args:
        overrides: The arguments of the command line, such as ``["task=jnk3", "method=pt", "seed=1"]``.
        config_dir: A folder with your own tasks, methods and other YAML options, as for ``--config-dir``.
        display: How to show progress: none, plain, rich or auto.

    Raises:
        InputError: The configuration is invalid; the message names everything that is wrong with it. Or this process
            already carries out a run, or runs a script without a `__main__` guard.
        EvoDiverseError: The run failed. The same call resumes it.
    """
    # Imported here so that `load` does not have to wait for these modules.
    from evodiverse.runner import DISPLAYS
    from evodiverse.runner.display import choose_display
    from evodiverse.runner.process import say
    from evodiverse.settings.assembly import run as run_plan
    from evodiverse.settings.command_line import explain, plan_each
    from evodiverse.settings.compose import COMPOSITION_ERRORS, save_composition
    from evodiverse.settings.plan import plan_run
    from evodiverse.settings.schema import register

    if isinstance(overrides, str) or not all(isinstance(word, str) for word in overrides):
        raise InputError(f'overrides must be a list of strings such as ["task=jnk3", "seed=1"], got {overrides!r}')
    if flags := [word for word in overrides if word.startswith("-")]:
        raise InputError(
            f"{', '.join(flags)}: flags are for the command line; use the arguments config_dir and display"
        )
    if display not in DISPLAYS:
        raise InputError(f"display must be {join_or(DISPLAYS)}, got {display}")
    register()
    folder = None if config_dir is None else str(config_dir)
    try:
        planned = plan_each(
            overrides, lambda composed, hydra: (plan_run(composed, hydra), composed, hydra), config_dir=folder
        )
    except COMPOSITION_ERRORS as error:
        options = [] if folder is None else ["--config-dir", folder]
        raise explain(error, [*options, *overrides], plan_run) from None
    if len(planned) != 1:
        raise InputError(f"expected one run, got {len(planned)}; call run for each of them, or use evodiverse -m")
    ((plan, composed, hydra),) = planned
    if plan.config.dry_run:
        raise InputError("dry_run=true starts no run; use the command evodiverse, which shows what would run")
    shown = choose_display(display, str(plan.path))
    run_plan(
        plan,
        shown,
        (lambda _: None) if display == "none" else say,
        lambda folder: save_composition(folder, composed, hydra),
    )
    return load(plan.path)


def load(path: str | Path) -> Run:
    """Return an existing run, complete or not.

    Args:
        path: The run directory, which contains ``run.json``.

    Raises:
        InputError: The folder does not contain a run, or its record is damaged.
    """
    folder = Path(path)
    if not (folder / RECORD).exists():
        raise InputError(f"{folder} is not a run; name the folder that contains {RECORD}")
    return Run(folder, read_record(folder / RECORD))
