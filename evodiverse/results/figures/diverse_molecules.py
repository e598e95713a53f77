"""Figure ``diverse_molecules``: drawings of the diversity-aware top 10 of the best run on each target.

The diversity-aware top 10 holds up to ten molecules with high scores that are not too similar to each other.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from io import BytesIO
from typing import Final

from matplotlib.figure import Figure
from PIL import Image
from rdkit import Chem
from rdkit.Chem.Draw import rdMolDraw2D

from evodiverse.errors import InputError
from evodiverse.results.domains import find_metrics
from evodiverse.results.figures.molecule_panels import MOLECULES, TARGETS, name_of
from evodiverse.results.figures.reading import Context, FigureKind, Picture, best_run, describe_runs, group_runs
from evodiverse.results.figures.style import PAGE, new_figure
from evodiverse.results.tables.results import Result
from evodiverse.runlog.log import read_log
from evodiverse.tasks.molecules.metrics import select_diverse_calls
from evodiverse.tasks.molecules.store import MoleculeStore, NoMoleculeError

NAME: Final = "diverse_molecules"
_METRIC: Final = "diverse_top10_full"
_OURS: Final = "pt"
_COLUMNS: Final = 5
_PIXELS: Final = (420, 300)


def find(results: Sequence[Result], context: Context) -> Iterator[Picture]:
    """Yield one figure per group of runs (see `group_runs`) and target."""
    for group in group_runs(results, MOLECULES):
        for target in sorted({result.task for result in group.results}):
            own = [result for result in group.results if result.task == target]
            best = best_run([result for result in own if result.run.method == _OURS] or own, _METRIC)
            if best is not None:
                yield Picture(
                    f"{NAME}_{target}_{group.suffix}",
                    f"{name_of(target)}, {group.words}: the diversity-aware top 10 of the last iteration with their "
                    f"scores, from the run of {best.run.method} with the highest sum of these scores (seed "
                    f"{best.run.seed}, sum divided by ten {best.metrics[_METRIC]:.3f}).",
                    partial(draw, best, context),
                    describe_runs([best]),
                )


def read_top(best: Result, context: Context) -> list[tuple[str, float]]:
    """Return the SMILES and scores of the diversity-aware top 10 of the final pools, best first.

    The diversity-aware top 10 holds up to ten molecules with high scores that are not too similar to each other (see
    `select_diverse`). The mean of these scores is the metric ``diverse_top10`` of the tables.

    Raises:
        InputError: The log is damaged.
    """
    log = read_log(best.run, find_metrics(best.run).columns)
    try:
        with MoleculeStore(context.measurer.folder) as store:
            calls = select_diverse_calls(log, log.final_union, store.fingerprint)
    except NoMoleculeError as error:
        raise InputError(f"{best.run.path} is damaged ({error}); run it again with overwrite=true") from error
    return [(log.keys[call], log.scores[call]) for call in calls]


def draw(best: Result, context: Context) -> Figure:
    """Return a figure of up to ten molecules from the final pools of a run, in rows of five.

    These molecules have high scores and are not too similar to each other; see `read_top`.
    """
    top = read_top(best, context)
    n_rows = -(-len(top) // _COLUMNS)
    figure = new_figure(PAGE, 1.35 * max(1, n_rows))
    panels = figure.subplots(max(1, n_rows), _COLUMNS, squeeze=False).ravel()
    for panel in panels:
        panel.set_axis_off()
    for rank, (panel, (smiles, score)) in enumerate(zip(panels, top, strict=False), start=1):
        panel.imshow(_draw_molecule(smiles), interpolation="lanczos")
        panel.set_title(f"{rank}: {score:.3f}", fontsize=7, pad=1)
    return figure


def _draw_molecule(smiles: str) -> Image.Image:
    drawing = rdMolDraw2D.MolDraw2DCairo(*_PIXELS)
    rdMolDraw2D.PrepareAndDrawMolecule(drawing, Chem.MolFromSmiles(smiles))
    drawing.FinishDrawing()
    return Image.open(BytesIO(drawing.GetDrawingText()))


FIGURE: Final = FigureKind(
    NAME,
    "Drawings of the diverse top 10",
    find,
    example=f"evodiverse -m task={','.join(TARGETS)} method=pt llm=off seed=0,1,2",
)
