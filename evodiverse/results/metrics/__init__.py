"""Metrics of a run, computed only from its log.

A metric is a name with a value; tables refer to it by name.
"""

from evodiverse.ports import Metrics, Tools
from evodiverse.results.metrics.cost import measure_cost, measure_generations
from evodiverse.results.metrics.features import find_features, measure_features
from evodiverse.results.metrics.pareto import find_objective_columns, measure_pareto
from evodiverse.results.metrics.search import measure_curves, measure_search
from evodiverse.runlog.log import Measurement, read_log
from evodiverse.runlog.runs import Run


def measure(run: Run, metrics: Metrics, tools: Tools) -> Measurement:
    """Return all metrics of a complete run by name: those common to all domains, and those of the run's domain.

    Args:
        run: The complete run to measure.
        metrics: The metrics of the run's domain.
        tools: The tools that the metrics may use, such as encoders, which turn texts into vectors.

    Raises:
        InputError: A part of the log is missing or damaged, or scikit-learn is missing, which TF-IDF needs.
    """
    log = read_log(run, {**find_own_columns(run), **metrics.columns})
    return {
        **measure_generations(log),
        **measure_cost(log),
        **measure_search(log, metrics.targets),
        **measure_curves(log),
        **measure_features(log),
        **measure_pareto(log),
        **metrics.measure(log, tools),
    }


def find_own_columns(run: Run) -> dict[str, type]:
    """Return the columns of ``evaluations`` that the features and the objectives of a run need, with their type."""
    return {**dict.fromkeys(find_features(run.settings), float), **find_objective_columns(run)}
