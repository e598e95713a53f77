"""The view of molecules: their structures, the changes from parent to child, and the best that differ."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup
from rdkit import Chem
from rdkit.Chem import rdRascalMCES
from rdkit.Chem.Draw import rdMolDraw2D

from evodiverse.kit.pictures import embed_svg
from evodiverse.ports import Highlight
from evodiverse.tasks.molecules.diversity import molecule_fingerprint
from evodiverse.tasks.molecules.hits import HIT, LIMIT, N_TOP, find_different
from evodiverse.tasks.molecules.parsing import read_molecule
from evodiverse.text import count_of
from evodiverse.vocabulary import Rejection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE: Final = (260, 200)  # pixels
_MOST_PAIRS: Final = 8_000  # of a parent's and a child's bond; two molecules of 80 atoms without rings have 6,241


def report_columns(settings: Mapping[str, Any], logged: Mapping[str, type]) -> dict[str, type]:  # noqa: ARG001
    """Return the raw values of an objective's components, and the spreads of forests; none without an objective."""
    return {name: kind for name, kind in logged.items() if name.endswith(("_raw", "_spread"))}


def portray(genotype: str, details: Mapping[str, Any]) -> Markup | None:  # noqa: ARG001 (the structure suffices)
    """Return a picture of a molecule, or None if the text is not a molecule or is too large."""
    molecule = _read_drawable(genotype)
    return (
        None
        if molecule is None
        else embed_svg(_draw_on(rdMolDraw2D.MolDraw2DSVG(*_SIZE), molecule), f"structure of {genotype}")
    )


def draw(axes: "Axes", genotype: str, details: Mapping[str, Any]) -> None:  # noqa: ARG001 (the structure suffices)
    """Draw the structure of a molecule on axes, whose frame is removed.

    Raises:
        ValueError: The text is not a molecule or is too large.
    """
    from PIL import Image  # here, like matplotlib, so that a search does not load it

    if (molecule := _read_drawable(genotype)) is None:
        raise ValueError(f"{genotype!r} is no molecule that can be drawn")
    axes.set_axis_off()
    content = _draw_on(rdMolDraw2D.MolDraw2DCairo(420, 300), molecule)
    axes.imshow(Image.open(BytesIO(content)), interpolation="lanczos")


def tell_change(parents: Sequence[str], genotype: str) -> Markup | None:
    """Return a picture of a child and a line on the change from its first parent.

    The picture marks the atoms that the first parent lacks, and the line counts the atoms kept, new and gone. The
    result is None if the text of the child or of the first parent is not a molecule or is too large.
    """
    parent, child = _read_drawable(parents[0]), _read_drawable(genotype)
    if parent is None or child is None:
        return None
    if (kept := _find_kept(parent, child)) is None:
        new, words = [], "too large to be compared with its parent"
    else:
        new = [atom for atom in range(child.GetNumAtoms()) if atom not in kept]
        lost = parent.GetNumAtoms() - len(kept)
        words = f"{count_of(len(kept), 'atom')} kept, {len(new)} new (marked), {lost} of the parent's atoms gone"
    picture = embed_svg(_draw_on(rdMolDraw2D.MolDraw2DSVG(*_SIZE), child, new), f"structure of {genotype}; {words}")
    return Markup("<div>{}<p>{}</p></div>").format(picture, words)


def highlight(ranked: Sequence[Mapping[str, Any]], folder: Path) -> Highlight | None:  # noqa: ARG001 (the log suffices)
    """Return the best molecules that differ, and the number of clusters of hits; None if there is no molecule.

    Molecules are visited from the highest score to the lowest; one is chosen if its similarity to each one chosen
    before is below `LIMIT`. Each chosen hit stands for the cluster of hits that are similar to it.
    """
    molecules = {row["call"]: _read_drawable(row["key"] or "") for row in ranked}
    bits = {call: molecule_fingerprint(one) for call, one in molecules.items() if one is not None}
    if not bits:
        return None
    calls, hits = [*bits], {row["call"] for row in ranked if row["score"] >= HIT}
    different = [calls[place] for place in find_different([*bits.values()], LIMIT)]
    n_hits, n_clusters = len(hits & bits.keys()), len(hits.intersection(different))
    found = f", in {count_of(n_clusters, 'cluster')} of similar molecules" if n_hits else ""
    note = (
        f"Best first, each with a Tanimoto similarity below {LIMIT} to all others here. Of "
        f"the best {len(bits):,} molecules, {n_hits:,} are hits (score of at least {HIT}){found}."
    )
    return Highlight("Best different molecules", note, different[:N_TOP])


def _find_kept(parent: Chem.Mol, child: Chem.Mol) -> set[int] | None:
    """Return the child's atoms in the maximum common edge subgraph, or None if the search for it would be too large.

    For most molecules, the search takes a few milliseconds. If the time limit ends it, the best subgraph so far counts.
    RDKit's `FindMCS` is not used: molecules with many similar branches keep it busy for minutes, whatever its limit.
    """
    if parent.GetNumBonds() * child.GetNumBonds() > _MOST_PAIRS:
        return None
    options: Any = rdRascalMCES.RascalOptions()  # RDKit's type stubs are wrong about its fields
    options.similarityThreshold = 0.0
    options.ringMatchesRingOnly = True
    options.timeout = 1  # second
    options.maxBondMatchPairs = _MOST_PAIRS
    found = rdRascalMCES.FindMCES(parent, child, options)
    return {atom for _, atom in found[0].atomMatches()} if found else set()


def _read_drawable(genotype: str) -> Chem.Mol | None:
    """Return the molecule that the first word of a text represents, or None; the rest may be a name."""
    if not genotype.strip() or len(genotype) > 500:
        return None
    molecule = read_molecule(genotype.split()[0], max_heavy_atoms=250)
    return None if isinstance(molecule, Rejection) else molecule


def _draw_on(canvas: Any, molecule: Chem.Mol, marked: Sequence[int] = ()) -> Any:
    """Draw a molecule with some atoms marked, and return the picture: text for an SVG, else bytes."""
    colors = dict.fromkeys(marked, (0.62, 0.86, 0.73))
    rdMolDraw2D.PrepareAndDrawMolecule(canvas, molecule, highlightAtoms=list(marked), highlightAtomColors=colors)
    canvas.FinishDrawing()
    return canvas.GetDrawingText()
