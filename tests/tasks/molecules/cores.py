"""Cores with open positions, molecules that have them, and RDKit's R-group decomposition as a second opinion."""

from typing import Final

from hypothesis import strategies as st
from rdkit import Chem
from rdkit.Chem.rdRGroupDecomposition import RGroupDecompose, RGroupDecompositionParameters

from evodiverse.tasks.molecules.scaffold import Scaffold

N_POSITIONS: Final = {
    "c1ccc2[nH]c([*:1])nc2c1": 1,
    "[*:1]c1ccc([*:2])cc1": 2,  # symmetric
    "[*:1]c1ccccc1[*:2]": 2,  # a ring can join its positions
    "[*:1]Nc1nccc([*:2])n1": 2,
    "[*:1]C([*:2])C(=O)Nc1ccccc1": 2,  # two positions at an atom
    "O=C(O)[C@@H]1CCCN1[*:1]": 1,
    "[*:1][C@@H]1CCCN1CC(F)(F)F": 1,  # the position is at a stereocenter
    "[*:1]/C=C/c1cc[n+]([O-])cc1": 1,
}
SUBSTITUENTS: Final = ("F", "CO", "C(F)(F)F", "C1CCNC1", "CC(=O)O", "c1ccncc1", "C(C)CC", "C[C@H](O)CC")


def decorate(core: str, *substituents: str) -> str:
    """Return the core with these substituents at its open positions in order; "[H]" is a hydrogen."""
    parts = [f"[*:{number}]{substituent}" for number, substituent in enumerate(substituents, start=1)]
    return Chem.CanonSmiles(Chem.MolToSmiles(Chem.molzip(Chem.MolFromSmiles(".".join([core, *parts])))))


def has_core(core: str, smiles: str) -> bool:
    """Return whether RDKit finds the core, with substituents only at its open positions."""
    parameters = RGroupDecompositionParameters()
    parameters.onlyMatchAtRGroups = True
    _, unmatched = RGroupDecompose([Chem.MolFromSmiles(core)], [Chem.MolFromSmiles(smiles)], options=parameters)
    return not unmatched


@st.composite
def families(draw: st.DrawFn, size: int) -> tuple[Scaffold, list[str]]:
    """Draw a core and molecules that have it."""
    core = draw(st.sampled_from(sorted(N_POSITIONS)))
    one = st.tuples(*[st.sampled_from(SUBSTITUENTS)] * N_POSITIONS[core])
    return Scaffold(core), [decorate(core, *draw(one)) for _ in range(size)]
