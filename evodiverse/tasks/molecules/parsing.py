"""Parsing of molecules: the one place that decides whether two molecules are the same."""

import re
from dataclasses import dataclass
from functools import lru_cache

from rdkit import Chem, rdBase

from evodiverse.vocabulary import Hypothesis, Reason, Rejection

# No molecule of a sensible size needs more; protects the parser from huge texts.
MAX_CHARACTERS = 5_000
MAX_SMARTS = 1_000
# For files of molecules, where no configuration sets a limit.
MAX_HEAVY_ATOMS = 1_000
# Limits on the number of independent rings (bonds - atoms + 1; drugs have up to a dozen), and on the number of shortest
# rings, which include all equally short alternatives: cubane has 5 and 6. RDKit enumerates all of these alternatives,
# which may be exponentially many, and looks for aromaticity in sets of them. For some cages this takes minutes.
MAX_RINGS = 18
MAX_SHORT_RINGS = 32
# The largest number of neighbors of an atom; the iron of a ferrocene has 10. What is computed later may take time that
# is exponential in this number: the path fingerprint of an atom with 36 neighbors takes 5 s.
MAX_NEIGHBORS = 10
_CROWDED = Chem.MolFromSmarts(f"[D{{{MAX_NEIGHBORS + 1}-}}]")
# The numbers of atoms and bonds of an SDF entry, as versions V2000 and V3000 of the format write them.
_THREE = r"(  \d| \d\d|\d{3})"
_COUNTS = re.compile(rf"^{_THREE}{_THREE}.*V2000|^M  V30 COUNTS +(\d+) +(\d+)", re.MULTILINE)
# Up to this number of rings, RDKit is so fast that the number of shortest rings need not be checked.
_FEW_RINGS = 10


def parse_smiles(text: str, max_heavy_atoms: int, *, allow_fragments: bool = False) -> Hypothesis | Rejection:
    """Return the molecule that a SMILES represents, as canonical isomeric SMILES, or why it is rejected.

    RDKit accepts the empty string as a molecule without atoms, and text after a space as a name; both are rejected
    here. The extension of a CXSMILES, as in ``CCO |$a;b;c$|``, is ignored. Stereoisomers are different molecules,
    although the published oracles score them alike, as their fingerprints ignore stereochemistry.

    Args:
        text: The SMILES, possibly with white space around it.
        max_heavy_atoms: The maximum number of heavy atoms.
        allow_fragments: Whether to accept molecules of several fragments, such as salts.
    """
    smiles = strip_extension(text)
    molecule = read_molecule(smiles, max_heavy_atoms)
    if isinstance(molecule, Rejection):
        return molecule
    if ":" in smiles:
        molecule = Chem.Mol(molecule)
        for atom in molecule.GetAtoms():
            atom.SetAtomMapNum(0)  # a label, not part of the molecule
        # Labels may have made equivalent neighbors look different, and thus made their atom look like a stereocenter.
        Chem.AssignStereochemistry(molecule, cleanIt=True, force=True)
        smiles = Chem.MolToSmiles(molecule)
    canonical = canonical_form(smiles)
    if canonical is None:
        return Rejection(Reason.UNPARSABLE, "RDKit cannot read the canonical SMILES that it writes")
    if "*" in canonical or "~" in canonical:
        return Rejection(Reason.UNPARSABLE, "placeholders for atoms or bonds")
    if "." in canonical and not allow_fragments:
        return Rejection(Reason.MULTI_FRAGMENT, "several fragments")
    return Hypothesis(canonical, canonical)


@dataclass(frozen=True, slots=True)
class Reader:
    """A parser of molecules with its limits; equal readers give equal results, so caches use them as keys.

    Attributes:
        max_heavy_atoms: The maximum number of heavy atoms.
        allow_fragments: Whether to accept molecules of several fragments, such as salts.
    """

    max_heavy_atoms: int
    allow_fragments: bool = False

    def read(self, smiles: str) -> Hypothesis | Rejection:
        """Return the molecule that a SMILES represents, or why it is rejected (see `parse_smiles`)."""
        return parse_smiles(smiles, self.max_heavy_atoms, allow_fragments=self.allow_fragments)

    def read_entry(self, entry: str) -> Hypothesis | Rejection:
        """Return the molecule of an SDF entry or a molfile, or why it is rejected; data fields are ignored."""
        if counts := _COUNTS.search(entry, 0, MAX_CHARACTERS):
            n_atoms, n_bonds = (int(number) for number in counts.groups() if number is not None)
            if n_bonds - n_atoms >= MAX_RINGS:  # checked first, as RDKit searches for rings while it reads
                return Rejection(Reason.TOO_LARGE, f"{n_bonds - n_atoms + 1} rings, at most {MAX_RINGS}")
        with rdBase.BlockLogs():
            try:
                graph = Chem.MolFromMolBlock(entry, sanitize=False, removeHs=False)
                if excess := _find_excess(graph, self.max_heavy_atoms):
                    return Rejection(Reason.TOO_LARGE, excess)
                molecule: Chem.Mol | None = Chem.MolFromMolBlock(entry)
            except RuntimeError:  # a failed check inside RDKit; text that is not a molfile may cause one
                molecule = None
        if molecule is None:
            return Rejection(Reason.UNPARSABLE, "RDKit reads no molecule")
        return self.read(Chem.MolToSmiles(molecule))


@lru_cache(maxsize=8192)
def molecule_of(smiles: str) -> Chem.Mol:
    """Return the molecule that RDKit reads from a SMILES, or None if RDKit cannot read the SMILES.

    The return annotation has no None because RDKit's type stubs omit it.

    The result is cached and shared, since several callers in turn need the same new molecule. Copy it before editing.
    """
    return Chem.MolFromSmiles(smiles)


def canonical_form(smiles: str) -> str | None:
    """Return the canonical isomeric SMILES of a molecule, which is the same however often it is canonicalized again.

    RDKit's canonical SMILES of some symmetric molecules changes when it is read and written again. It is therefore
    rewritten until it is stable. If it alternates between several forms, the alphabetically first is returned. A SMILES
    that is canonical already is read and written only once.

    Returns:
        The SMILES, or None if RDKit cannot read ``smiles``, or cannot read what it wrote.
    """
    forms = [smiles]
    while (form := _rewrite(forms[-1])) not in forms:
        if form is None:
            return None
        forms.append(form)
    return min(forms[forms.index(form) :])


@lru_cache(maxsize=16_384)  # offspring often recur, and each may have two entries
def _rewrite(smiles: str) -> str | None:
    """Return the SMILES that RDKit writes for the molecule that it reads; the result is cached."""
    molecule: Chem.Mol | None = molecule_of(smiles)
    return None if molecule is None else Chem.MolToSmiles(molecule)


def strip_extension(text: str) -> str:
    """Return a SMILES without white space around it, and without the extension of a CXSMILES, such as its labels."""
    smiles = text.strip()
    before, bar, _ = smiles.removesuffix("|").rpartition("|") if smiles.endswith("|") else ("", "", "")
    return before.rstrip() if bar and before[-1:].isspace() else smiles


def read_molecule(text: str, max_heavy_atoms: int) -> Chem.Mol | Rejection:
    """Return the molecule that RDKit reads from a SMILES, or why it is rejected.

    Unlike `parse_smiles`, this function accepts several fragments, and placeholders such as ``*`` for any atom or ``~``
    for any bond. The molecule is shared, so copy it before editing.
    """
    smiles = strip_extension(text)
    if not smiles:
        return Rejection(Reason.EMPTY)
    if len(smiles) > MAX_CHARACTERS:
        return Rejection(Reason.TOO_LARGE, f"{len(smiles)} characters, at most {MAX_CHARACTERS}")
    if len(smiles.split()) > 1:
        return Rejection(Reason.UNPARSABLE, "more than one word")
    if not (smiles.isascii() and smiles.isprintable()):  # RDKit would ignore such characters
        return Rejection(Reason.UNPARSABLE, "characters that no SMILES has")
    with rdBase.BlockLogs():
        may_exceed = len(smiles) > max_heavy_atoms or sum(map(str.isdigit, smiles)) > 2 * _FEW_RINGS  # 2 per ring
        if may_exceed and (excess := _find_excess(Chem.MolFromSmiles(smiles, sanitize=False), max_heavy_atoms)):
            return Rejection(Reason.TOO_LARGE, excess)
        molecule: Chem.Mol | None = molecule_of(smiles)
    if molecule is None:
        return Rejection(Reason.UNPARSABLE, "RDKit reads no molecule")
    n_heavy = molecule.GetNumHeavyAtoms()
    if not n_heavy:
        return Rejection(Reason.EMPTY, "no heavy atom")
    if n_heavy > max_heavy_atoms:
        return Rejection(Reason.TOO_LARGE, f"{n_heavy} heavy atoms, at most {max_heavy_atoms}")
    if molecule.HasSubstructMatch(_CROWDED):
        n_neighbors = max(atom.GetDegree() for atom in molecule.GetAtoms())
        return Rejection(Reason.TOO_LARGE, f"an atom with {n_neighbors} neighbors, at most {MAX_NEIGHBORS}")
    return molecule


class NoMoleculeError(ValueError):
    """A text in a log is not a molecule that a run could have logged, so the log is damaged."""


def logged_molecule(smiles: str) -> Chem.Mol:
    """Return the molecule of a SMILES from a log, which may come from a stranger; "" is a scaffold without rings.

    Raises:
        NoMoleculeError: The text is not a molecule that a run could have logged, or would keep RDKit busy for minutes.
    """
    molecule = read_molecule(smiles, MAX_CHARACTERS) if smiles else molecule_of(smiles)
    if isinstance(molecule, Rejection):
        raise NoMoleculeError(f"{smiles[:80]} cannot be measured ({molecule}), and no run logs such a text")
    return molecule


def _find_excess(graph: Chem.Mol | None, max_heavy_atoms: int) -> str | None:
    """Return which limit a molecule exceeds, or None; beyond these limits RDKit may take minutes to sanitize it.

    Args:
        graph: The molecule as it was written, not sanitized; None if RDKit cannot read it.
        max_heavy_atoms: The maximum number of heavy atoms. This function counts only atoms with several neighbors, so
            that explicit hydrogens do not count. `read_molecule` counts all heavy atoms later.
    """
    if graph is None:
        return None
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
    return f"{n_short} shortest rings, at most {MAX_SHORT_RINGS}" if n_short > MAX_SHORT_RINGS else None


@lru_cache(maxsize=256)
def read_smarts(smarts: str) -> Chem.Mol:
    """Return the pattern of a SMARTS.

    Raises:
        ValueError: The text is not a SMARTS, is empty, or is too long.
    """
    with rdBase.BlockLogs():
        pattern: Chem.Mol | None = Chem.MolFromSmarts(smarts) if len(smarts) <= MAX_SMARTS else None
    if pattern is None or pattern.GetNumAtoms() == 0:
        raise ValueError(f"expected a SMARTS of 1 to {MAX_SMARTS} characters, got {smarts[:80]!r}")
    return pattern


def find_smarts_violations(smarts: str, key: str) -> list[str]:
    """Return what is wrong with the SMARTS of a configuration key; nothing if it can be used."""
    try:
        read_smarts(smarts)
    except ValueError as error:
        return [f"{key}: {error}"]
    return []
