"""The molecules that a run with a scaffold starts from: cores with substituents from the molecules of a library."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Final

import numpy as np
from rdkit import Chem, rdBase

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.filters.filters import Filters, count_kinds, parse_filtered
from evodiverse.tasks.molecules.initial import WHOLE, AnyLibrary, Molecule
from evodiverse.tasks.molecules.operators.crossover import CHAIN_BOND
from evodiverse.tasks.molecules.parsing import canonical_form, molecule_of
from evodiverse.tasks.molecules.scaffold import Scaffold, neighbor, open_positions
from evodiverse.text import count_of
from evodiverse.vocabulary import Rejection

BUILT: Final = 0
"""The line of a molecule that is not from a file."""
# After this number of molecules in a row that are rejected, or that were found before, no more are drawn.
_PATIENCE: Final = 2_000

_LOG = logging.getLogger("evodiverse.tasks.molecules")


@dataclass(frozen=True, eq=False)
class ScaffoldLibrary:
    """The molecules of a library that have the core of a scaffold, and cores with substituents from the library.

    At most `WHOLE` molecules of the library are used, drawn in the same way for all runs.

    Attributes:
        library: The library.
        scaffold: The scaffold.
        filters: The filters that molecules must pass, that for the scaffold among them.
        max_heavy_atoms: The maximum number of heavy atoms.
    """

    library: AnyLibrary
    scaffold: Scaffold
    filters: Filters
    max_heavy_atoms: int

    @property
    def names_lines(self) -> bool:
        """Whether molecules with the core come from a user's file."""
        return self.library.names_lines

    @property
    def scores(self) -> Mapping[str, float]:
        """The measured scores of the library's molecules that were drawn, by SMILES."""
        return self.library.scores

    @cached_property
    def _molecules(self) -> list[Molecule]:
        return self.library.sample(WHOLE, np.random.default_rng(0))

    @cached_property
    def _with_core(self) -> list[Molecule]:
        with rdBase.BlockLogs():
            return [one for one in self._molecules if self.scaffold.is_in(molecule_of(one.smiles))]

    def sample(self, size: int, rng: np.random.Generator, enough: int | None = None) -> list[Molecule]:
        """Draw different molecules with the core that pass the filters: those of the library first, then built ones.

        Args:
            size: The number of molecules. If so many cannot be found, there are fewer, which is logged.
            rng: The random generator.
            enough: The number of molecules after which to stop; None for ``size``.

        Raises:
            InputError: No molecule passes.
        """
        enough = size if enough is None else enough
        found: dict[str, Molecule] = {}
        faults: list[Rejection] = []
        n_futile = 0
        for molecule in self._draw(rng):
            n_futile += 1
            if molecule is not None:
                parsed = parse_filtered(molecule.smiles, self.max_heavy_atoms, self.filters)
                if isinstance(parsed, Rejection):
                    faults.append(parsed)
                elif parsed.key not in found:
                    found[parsed.key], n_futile = molecule, 0
            if len(found) == enough or n_futile == _PATIENCE:
                break
        if not found:
            rejected = f" (rejected by: {count_kinds(faults)})" if faults else ""
            raise InputError(
                f"task.scaffold: no molecule to start from could be built with substituents of the library{rejected}; "
                "loosen task.filters, or provide molecules with the scaffold with task.initial.path"
            )
        n_built = sum(molecule.line == BUILT for molecule in found.values())
        counted = count_of(len(found), "molecule")
        _LOG.info("a pool starts from %s with the scaffold, %s of them built by the program", counted, f"{n_built:,}")
        if len(found) < enough:
            _LOG.warning("%s were requested, but no more were found; see task.initial.path", f"{enough:,}")
        return list(found.values())

    def all_smiles(self) -> Sequence[str]:
        """Return the SMILES of the library's molecules with the core, and of `WHOLE` built ones, without repeats.

        They do not depend on the run, and need not pass filters other than that for the scaffold.
        """
        rng = np.random.default_rng(0)
        built = [smiles for _ in range(WHOLE) if (smiles := self._decorate(rng)) is not None]
        return list(dict.fromkeys([*(molecule.smiles for molecule in self._with_core), *built]))

    def digest(self) -> str:
        """Return a digest of the library and the scaffold."""
        return f"{self.library.digest()} {self.scaffold.smiles}"

    def _draw(self, rng: np.random.Generator) -> Iterator[Molecule | None]:
        """Yield the library's molecules with the core in random order, then built ones, None for one that failed."""
        yield from (self._with_core[place] for place in rng.permutation(len(self._with_core)).tolist())
        while True:
            smiles = self._decorate(rng)
            yield None if smiles is None else Molecule(smiles, BUILT)

    def _decorate(self, rng: np.random.Generator) -> str | None:
        """Return the core with a substituent at one or more of its open positions, drawn uniformly.

        The number of substituents is drawn uniformly, too; the other positions hold hydrogens. Of the two atoms of a
        new bond, at least one is carbon. The result is None if a drawn substituent does not fit.
        """
        core = Chem.Mol(molecule_of(self.scaffold.smiles))
        for atom in core.GetAtoms():
            atom.SetAtomMapNum(0)
        positions, parts = open_positions(core), [core]
        n_chosen = int(rng.integers(1, len(positions) + 1))
        for label, place in enumerate(rng.permutation(len(positions)).tolist(), start=1):
            position = positions[place]
            if label > n_chosen:
                position.SetAtomicNum(1)
                position.SetIsotope(0)
                continue
            substituent = self._cut_substituent(rng)
            if substituent is None:
                return None
            (end,) = open_positions(substituent)
            if 6 not in (neighbor(position).GetAtomicNum(), neighbor(end).GetAtomicNum()):
                return None
            position.SetAtomMapNum(label)
            end.SetAtomMapNum(label)
            parts.append(substituent)
        with rdBase.BlockLogs():  # RDKit may refuse the child
            smiles = canonical_form(Chem.MolToSmiles(Chem.molzip(reduce(Chem.CombineMols, parts))))
        return smiles if smiles is not None and self.scaffold.is_in(molecule_of(smiles)) else None

    def _cut_substituent(self, rng: np.random.Generator) -> Chem.Mol | None:
        """Return a substituent with a placeholder for what it is bound to, or None if the drawn molecule gives none.

        A molecule of the library is cut at an acyclic single bond, both drawn uniformly, and the smaller side is taken.
        """
        molecule = molecule_of(self._molecules[rng.integers(len(self._molecules))].smiles)
        bonds = molecule.GetSubstructMatches(CHAIN_BOND)
        if not bonds:
            return None
        bond = molecule.GetBondBetweenAtoms(*bonds[rng.integers(len(bonds))])
        cut = Chem.FragmentOnBonds(molecule, [bond.GetIdx()], dummyLabels=[(0, 0)])
        sides: tuple[Chem.Mol, ...] = Chem.GetMolFrags(cut, asMols=True)
        return min(sides, key=Chem.Mol.GetNumAtoms)
