"""Tracking in MLflow: the settings as parameters, the metrics of each iteration, and ``best/`` as artifacts."""

import json
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from evodiverse.ports import TrackedRun

# The search waits whenever MLflow waits for a server that does not answer, so these limits are short. The environment
# may set others.
_PATIENCE: Final = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}
_MOST_PARAMS: Final = 100


class MlflowTracker:
    """A run in MLflow, see `evodiverse.ports.Tracker`.

    Args:
        uri: The address where MLflow keeps runs; None uses the variable MLFLOW_TRACKING_URI if it is set, else a file
            in the folder of all runs.
        experiment: The name of the experiment, which is created if it does not exist.
        outputs: The folder of all runs.
    """

    def __init__(self, uri: str | None, experiment: str, outputs: Path) -> None:
        for name, value in _PATIENCE.items():
            os.environ.setdefault(name, value)
        from mlflow import MlflowClient  # the import takes seconds
        from mlflow.entities import Metric, Param

        for noisy in ("mlflow", "alembic"):
            logging.getLogger(noisy).setLevel(logging.WARNING)
        logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)  # it warns at each retry
        folder = outputs.absolute()
        own = None if uri or os.environ.get("MLFLOW_TRACKING_URI") else f"sqlite:///{folder / 'mlflow.db'}"
        self._artifacts = None if own is None else (folder / "mlflow").as_uri()
        self.place = uri or own or os.environ["MLFLOW_TRACKING_URI"]
        self._client = MlflowClient(tracking_uri=self.place)
        self._experiment = experiment
        self._metric, self._param = Metric, Param
        self._run = ""

    def begin(self, run: TrackedRun) -> str:
        """Create the tracked run, or continue the existing one, and return its identifier."""
        if run.name is not None:
            self._run = run.name
            self._client.update_run(self._run, status="RUNNING")
            return self._run
        parts = [str(run.settings[key]) for key in ("task.name", "method.name", "llm.name")]
        name = "/".join([*parts, f"seed{run.settings['seed']}"])
        tags = {"evodiverse.path": str(run.path)}
        experiment = self._client.get_experiment_by_name(self._experiment)
        place = self._client.create_experiment(self._experiment, self._artifacts) if experiment is None else None
        self._run = self._client.create_run(place or experiment.experiment_id, run_name=name, tags=tags).info.run_id
        texts = {key: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for key, v in run.settings.items()}
        params = [self._param(key, text[:500]) for key, text in texts.items()]
        for at in range(0, len(params), _MOST_PARAMS):
            self._client.log_batch(self._run, params=params[at : at + _MOST_PARAMS])
        return self._run

    def log(self, iteration: int, numbers: Mapping[str, float]) -> None:
        """Write the numbers of an iteration."""
        now = int(1000 * time.time())
        metrics = [self._metric(name, value, now, iteration) for name, value in numbers.items()]
        self._client.log_batch(self._run, metrics=metrics)

    def end(self, status: str, best: Path) -> None:
        """Copy the files of the best candidates, and record how the run ended."""
        if best.is_dir():
            self._client.log_artifacts(self._run, str(best), best.name)
        statuses = {"complete": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
        self._client.set_terminated(self._run, statuses[status])
