"""What is measured of a run, from its log alone. A metric is a name and a value; tables choose among them."""

from collections.abc import Mapping
from typing import Final

from evodiverse.analysis.metrics import equations, programs
from evodiverse.analysis.metrics.cost import measure_cost, measure_generations
from evodiverse.analysis.metrics.equations import Encode, measure_equations
from evodiverse.analysis.metrics.molecule_store import MoleculeStore
from evodiverse.analysis.metrics.molecules import measure_molecules
from evodiverse.analysis.metrics.programs import measure_packing
from evodiverse.analysis.metrics.search import measure_search
from evodiverse.analysis.metrics.values import Measurement
from evodiverse.runlog.log import Log, read_log
from evodiverse.runlog.runs import Run

MOLECULES: Final = "molecules"
EQUATIONS: Final = "equations"
CIRCLE_PACKING: Final = "circle packing"
OTHER: Final = "other"

# Scores whose time to be reached is measured: of the oracle, minus the MSE in variances, the sum of radii over 2.635.
TARGETS: Final[Mapping[str, tuple[float, ...]]] = {
    MOLECULES: (0.5, 0.6, 0.7, 0.8, 0.9),
    EQUATIONS: (-1e-1, -1e-2, -1e-3, -1e-4, -1e-6, -1e-8),
    CIRCLE_PACKING: (0.85, 0.9, 0.95),
    OTHER: (),
}


def find_kind(run: Run) -> str:
    """Return which metrics a run has: those of its domain, or those that every search has."""
    if run.domain == "evodiverse.tasks.molecules":
        return MOLECULES
    if run.domain == "evodiverse.tasks.equations":
        return EQUATIONS
    return CIRCLE_PACKING if run.settings.get("task.evaluator") == "circle_packing" else OTHER


def measure(run: Run, store: MoleculeStore, encoders: Mapping[str, Encode]) -> Measurement:
    """Return all metrics of a complete run.

    Args:
        run: The run.
        store: What is known of molecules.
        encoders: What the diversity of programs is measured with, by name.

    Raises:
        InputError: A part of the log is missing or damaged, or TF-IDF is not installed.
    """
    kind = find_kind(run)
    own = {EQUATIONS: equations.COLUMNS, CIRCLE_PACKING: programs.COLUMNS}.get(kind, ())
    log = read_log(run, *own)
    return {
        **measure_generations(log),
        **measure_cost(log),
        **measure_search(log, TARGETS[kind]),
        **_measure_domain(kind, log, store, encoders),
    }


def _measure_domain(kind: str, log: Log, store: MoleculeStore, encoders: Mapping[str, Encode]) -> Measurement:
    if kind == MOLECULES:
        return measure_molecules(log, store)
    if kind == EQUATIONS:
        return measure_equations(log, encoders)
    return measure_packing(log, encoders) if kind == CIRCLE_PACKING else {}
