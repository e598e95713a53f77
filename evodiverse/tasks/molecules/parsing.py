"""From text to a molecule: the one place where SMILES are read and identity is decided."""

from rdkit import Chem, rdBase

from evodiverse.vocabulary import Hypothesis, Reason, Rejection

# No molecule within a sensible size needs more; keeps a flood of text away from the parser.
MAX_CHARACTERS = 5_000


def parse_smiles(text: str, max_heavy_atoms: int) -> Hypothesis | Rejection:
    """Return the molecule that ``text`` stands for, as canonical isomeric SMILES, or why it is none.

    RDKit accepts the empty string as a molecule without atoms and reads a name behind a space; both are rejected here.
    Stereoisomers are different molecules, although the published oracles, whose fingerprints ignore
    stereochemistry, score them alike.
    """
    smiles = text.strip()
    if not smiles:
        return Rejection(Reason.EMPTY)
    if len(smiles) > MAX_CHARACTERS:
        return Rejection(Reason.TOO_LARGE, f"{len(smiles)} characters, at most {MAX_CHARACTERS}")
    if any(character.isspace() for character in smiles):
        return Rejection(Reason.UNPARSABLE, "more than one word")
    if not (smiles.isascii() and smiles.isprintable()):  # RDKit would pass over them
        return Rejection(Reason.UNPARSABLE, "characters that no SMILES has")
    with rdBase.BlockLogs():
        molecule: Chem.Mol | None = Chem.MolFromSmiles(smiles)
    if molecule is None:
        return Rejection(Reason.UNPARSABLE, "RDKit reads no molecule")
    n_heavy = molecule.GetNumHeavyAtoms()
    if not n_heavy:
        return Rejection(Reason.EMPTY, "no heavy atom")
    if n_heavy > max_heavy_atoms:
        return Rejection(Reason.TOO_LARGE, f"{n_heavy} heavy atoms, at most {max_heavy_atoms}")
    if ":" in smiles:
        for atom in molecule.GetAtoms():
            atom.SetAtomMapNum(0)  # a label, not a part of the molecule
        Chem.AssignStereochemistry(molecule, cleanIt=True, force=True)  # labels may have made neighbors look different
    canonical = Chem.MolToSmiles(molecule)
    if "*" in canonical or "~" in canonical:
        return Rejection(Reason.UNPARSABLE, "placeholders for atoms or bonds")
    if "." in canonical:
        return Rejection(Reason.MULTI_FRAGMENT, "several fragments")
    return Hypothesis(canonical, canonical)
