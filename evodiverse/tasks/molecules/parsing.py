"""From text to a molecule: the one place where SMILES are read and identity is decided."""

import re
from dataclasses import dataclass
from functools import lru_cache

from rdkit import Chem, rdBase

from evodiverse.vocabulary import Hypothesis, Reason, Rejection

# No molecule within a sensible size needs more; keeps a flood of text away from the parser.
MAX_CHARACTERS = 5_000
# Rings that no others add up to; drugs have up to a dozen. RDKit finds all rings that are as short, which may be
# exponentially many, and looks for aromaticity in sets of them, which takes minutes where they are.
MAX_RINGS = 18
MAX_SHORT_RINGS = 32
# Atoms and bonds of an entry, as version 2000 and version 3000 of the format write them.
_THREE = r"(  \d| \d\d|\d{3})"
_COUNTS = re.compile(rf"^{_THREE}{_THREE}.*V2000|^M  V30 COUNTS +(\d+) +(\d+)", re.MULTILINE)
# So few are read at once, however many are as short.
_FEW_RINGS = 10


def parse_smiles(text: str, max_heavy_atoms: int, *, allow_fragments: bool = False) -> Hypothesis | Rejection:
    """Return the molecule that ``text`` stands for, as canonical isomeric SMILES, or why it is none.

    RDKit accepts the empty string as a molecule without atoms and reads a name behind a space; both are rejected here.
    Stereoisomers are different molecules, although the published oracles, whose fingerprints ignore
    stereochemistry, score them alike. A salt is rejected unless ``allow_fragments`` is set.
    """
    molecule = read_molecule(text, max_heavy_atoms)
    if isinstance(molecule, Rejection):
        return molecule
    if ":" in text:
        molecule = Chem.Mol(molecule)
        for atom in molecule.GetAtoms():
            atom.SetAtomMapNum(0)  # a label, not a part of the molecule
        Chem.AssignStereochemistry(molecule, cleanIt=True, force=True)  # labels may have made neighbors look different
        canonical = Chem.MolToSmiles(molecule)
    else:
        canonical = canonical_form(text.strip())
    if "*" in canonical or "~" in canonical:
        return Rejection(Reason.UNPARSABLE, "placeholders for atoms or bonds")
    if "." in canonical and not allow_fragments:
        return Rejection(Reason.MULTI_FRAGMENT, "several fragments")
    return Hypothesis(canonical, canonical)


@dataclass(frozen=True, slots=True)
class Reader:
    """What a run takes for a molecule; equal readers read alike.

    Attributes:
        max_heavy_atoms: Larger molecules are rejected.
        allow_fragments: A salt is a molecule, too.
    """

    max_heavy_atoms: int
    allow_fragments: bool = False

    def read(self, smiles: str) -> Hypothesis | Rejection:
        """Return the molecule that a SMILES stands for, or why it is none."""
        return parse_smiles(smiles, self.max_heavy_atoms, allow_fragments=self.allow_fragments)

    def read_entry(self, entry: str) -> Hypothesis | Rejection:
        """Return the molecule of an SDF's entry, or of a molfile, or why it is none. Its properties are passed over."""
        counts = _COUNTS.search(entry, 0, MAX_CHARACTERS)
        if counts is not None:
            n_atoms, n_bonds = (int(number) for number in counts.groups() if number is not None)
            if n_bonds - n_atoms >= MAX_RINGS:  # RDKit looks for rings as it reads
                return Rejection(Reason.TOO_LARGE, f"{n_bonds - n_atoms + 1} rings, at most {MAX_RINGS}")
        with rdBase.BlockLogs():
            try:
                graph: Chem.Mol | None = Chem.MolFromMolBlock(entry, sanitize=False, removeHs=False)
                excess = None if graph is None else _find_excess(graph, self.max_heavy_atoms)
                if excess is not None:
                    return Rejection(Reason.TOO_LARGE, excess)
                molecule: Chem.Mol | None = Chem.MolFromMolBlock(entry)
            except RuntimeError:  # RDKit's own checks, which other text than a molfile may fail
                molecule = None
        if molecule is None:
            return Rejection(Reason.UNPARSABLE, "RDKit reads no molecule")
        return self.read(Chem.MolToSmiles(molecule))


@lru_cache(maxsize=2048)
def molecule_of(smiles: str) -> Chem.Mol:
    """Return the molecule that RDKit reads in a SMILES; None, which RDKit's types do not tell, where it reads none.

    The result is cached and shared, since several look at a new molecule one after the other: copy it before an edit.
    """
    return Chem.MolFromSmiles(smiles)


@lru_cache(maxsize=2048)
def canonical_form(smiles: str) -> str:
    """Return the canonical isomeric SMILES of what RDKit reads in a SMILES, cached as the molecule itself."""
    return Chem.MolToSmiles(molecule_of(smiles))


def read_molecule(text: str, max_heavy_atoms: int) -> Chem.Mol | Rejection:
    """Return what RDKit reads in ``text``, maybe several fragments or placeholders, or why that is no molecule.

    The molecule is shared: copy it before an edit.
    """
    smiles = text.strip()
    if not smiles:
        return Rejection(Reason.EMPTY)
    if len(smiles) > MAX_CHARACTERS:
        return Rejection(Reason.TOO_LARGE, f"{len(smiles)} characters, at most {MAX_CHARACTERS}")
    if len(smiles.split()) > 1:
        return Rejection(Reason.UNPARSABLE, "more than one word")
    if not (smiles.isascii() and smiles.isprintable()):  # RDKit would pass over them
        return Rejection(Reason.UNPARSABLE, "characters that no SMILES has")
    with rdBase.BlockLogs():
        if len(smiles) > max_heavy_atoms or sum(map(str.isdigit, smiles)) > 2 * _FEW_RINGS:  # each ring has two digits
            graph: Chem.Mol | None = Chem.MolFromSmiles(smiles, sanitize=False)
            excess = None if graph is None else _find_excess(graph, max_heavy_atoms)
            if excess is not None:
                return Rejection(Reason.TOO_LARGE, excess)
        molecule: Chem.Mol | None = molecule_of(smiles)
    if molecule is None:
        return Rejection(Reason.UNPARSABLE, "RDKit reads no molecule")
    n_heavy = molecule.GetNumHeavyAtoms()
    if not n_heavy:
        return Rejection(Reason.EMPTY, "no heavy atom")
    if n_heavy > max_heavy_atoms:
        return Rejection(Reason.TOO_LARGE, f"{n_heavy} heavy atoms, at most {max_heavy_atoms}")
    return molecule


def _find_excess(graph: Chem.Mol, max_heavy_atoms: int) -> str | None:
    """Return what a molecule has so much of that RDKit would take long to make sense of it.

    Args:
        graph: Atoms and bonds as they are written, of which nothing is known yet.
        max_heavy_atoms: As many may be bound to several others, which no hydrogen is.
    """
    n_atoms = graph.GetNumAtoms()
    if n_atoms > max_heavy_atoms:
        n_heavy, n_inner = graph.GetNumHeavyAtoms(), sum(atom.GetDegree() > 1 for atom in graph.GetAtoms())
        if n_inner > max_heavy_atoms:
            kind = "heavy atoms" if n_heavy >= n_inner else "atoms bound to several others"
            return f"{max(n_heavy, n_inner)} {kind}, at most {max_heavy_atoms}"
    n_rings = graph.GetNumBonds() - n_atoms + len(Chem.GetMolFrags(graph))
    if n_rings > MAX_RINGS:
        return f"{n_rings} rings, at most {MAX_RINGS}"
    n_short = len(Chem.GetSymmSSSR(graph)) if n_rings > _FEW_RINGS else 0
    return f"{n_short} rings of the shortest kind, at most {MAX_SHORT_RINGS}" if n_short > MAX_SHORT_RINGS else None
