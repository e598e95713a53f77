"""The molecules that a run with a scaffold starts from: cores with substituents from the molecules of a library."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from rdkit import Chem, rdBase

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.filters.filters import Filters, count_kinds, parse_filtered
from evodiverse.tasks.molecules.initial import WHOLE, AnyLibrary, Molecule
from evodiverse.tasks.molecules.operators import chemistry_rules as rules
from evodiverse.tasks.molecules.operators.crossover import SINGLE, Fragment, cut_chain, read_parent
from evodiverse.tasks.molecules.parsing import molecule_of
from evodiverse.tasks.molecules.scaffold import Scaffold, open_positions
from evodiverse.text import count_of
from evodiverse.vocabulary import Rejection

BUILT: Final = 0
"""The line of a molecule that is not from a file."""
_CARBON: Final = 6
# How many molecules are built, of which enough must pass: _MOST_EACH for each molecule requested, at least _LEAST.
_MOST_EACH: Final = 4
_LEAST: Final = 12_000

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
        for molecule in self._draw(size, rng):
            parsed = parse_filtered(molecule.smiles, self.max_heavy_atoms, self.filters)
            if isinstance(parsed, Rejection):
                faults.append(parsed)
            else:
                found.setdefault(parsed.key, molecule)
            if len(found) == enough:
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
        with rdBase.BlockLogs():
            built = [smiles for _ in range(WHOLE) if (smiles := self._decorate(rng)) is not None]
        return list(dict.fromkeys([*(molecule.smiles for molecule in self._with_core), *built]))

    def digest(self) -> str:
        """Return a digest of the library and the scaffold."""
        return f"{self.library.digest()} {self.scaffold.smiles}"

    def _draw(self, size: int, rng: np.random.Generator) -> Iterator[Molecule]:
        """Yield the library's molecules with the core in random order, and then built molecules."""
        yield from (self._with_core[place] for place in rng.permutation(len(self._with_core)).tolist())
        with rdBase.BlockLogs():
            for _ in range(max(_LEAST, _MOST_EACH * size)):
                smiles = self._decorate(rng)
                if smiles is not None:
                    yield Molecule(smiles, BUILT)

    def _decorate(self, rng: np.random.Generator) -> str | None:
        """Return the core with a substituent at one or more of its open positions, drawn uniformly.

        The number of substituents is drawn uniformly, too; the other positions hold hydrogens. The result is None if no
        substituent fits, or if they cannot be read as a molecule with the core.
        """
        core = rules.editable_molecule(self.scaffold.smiles)
        positions = [position.GetIdx() for position in open_positions(core)]
        n_chosen = int(rng.integers(1, len(positions) + 1))
        chosen = set(rng.choice(positions, size=n_chosen, replace=False).tolist())
        child = Chem.RWMol(core)
        for position in positions:
            atom = core.GetAtomWithIdx(position).GetNeighbors()[0]
            rules.detach(child, atom.GetIdx(), position)
            if position not in chosen:
                continue
            substituent = self._cut_substituent(rng)
            if substituent is None:
                return None
            graph, (end,) = substituent.graph
            if _CARBON not in (atom.GetAtomicNum(), graph.GetAtomWithIdx(end).GetAtomicNum()):
                return None
            n_atoms = child.GetNumAtoms()
            child.InsertMol(graph)
            rules.attach(child, atom.GetIdx(), n_atoms + end, SINGLE)
        for position in sorted(positions, reverse=True):
            child.RemoveAtom(position)
        return rules.write_child(child, self.scaffold, check_rings=False)

    def _cut_substituent(self, rng: np.random.Generator) -> Fragment | None:
        """Cut a molecule of the library at an acyclic single bond, both drawn uniformly; return the smaller side."""
        parent = read_parent(self._molecules[rng.integers(len(self._molecules))].smiles)
        if not parent.chain_cuts:
            return None
        sides = cut_chain(parent, parent.chain_cuts[rng.integers(len(parent.chain_cuts))])
        return min(sides, key=lambda side: side.size)
