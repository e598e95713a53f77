"""The crossover of Graph GA (Jensen 2019), which joins a fragment of one molecule to a fragment of another.

Either one acyclic single bond is cut in each parent and the fragments are joined there, or two ring bonds are cut in
each parent and the fragments are joined by two new bonds, so that a new ring forms. A pair of cuts has several possible
children. One of those that obey the chemistry rules is drawn uniformly: children are tried in random order until one
obeys the rules.

With a scaffold, only bonds outside its core are cut, and a fragment with the core is joined to one without it. The bond
to a hydrogen at an open position of the core counts as an acyclic single bond, so that a child may gain or lose a
substituent.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from rdkit import Chem

from evodiverse.tasks.molecules.operators import chemistry_rules as rules
from evodiverse.tasks.molecules.parsing import molecule_of
from evodiverse.tasks.molecules.scaffold import Match, Scaffold

RingCut: TypeAlias = tuple[int, int, int, int]
"""Indices of atoms ``a, b, c, d``: the bonds ``a-b`` and ``c-d`` are cut. If they meet at an atom, ``b == c``."""

SINGLE, DOUBLE = Chem.BondType.SINGLE, Chem.BondType.DOUBLE
ORDERS: Final = (SINGLE, DOUBLE)

CHAIN_BOND = Chem.MolFromSmarts("*-;!@*")
_RING_PATH = Chem.MolFromSmarts("[R]@[R]@[R]@[R]")
_RING_CORNER = Chem.MolFromSmarts("[R]@[R;!D2]@[R]")


@dataclass(frozen=True, slots=True, eq=False)
class Parent:
    """A molecule with the places where it can be cut.

    Attributes:
        mol: The molecule from `editable_molecule`; shared, so copy it before editing. The hydrogens of atoms with free
            positions of a scaffold follow its atoms.
        chain_cuts: The acyclic single bonds, each as the indices of its two atoms.
        path_cuts: The first and the last bond of every path of four ring atoms. If several paths consist of the same
            four atoms, only one of them is used.
        corner_cuts: All pairs of ring bonds that meet at an atom with at least three neighbors, but at most one pair
            from each 3-ring.
        n_atoms: The number of atoms without these hydrogens.
        scaffold: The scaffold whose core the molecule has, or None.
        cores: The atoms of the core, one set for each of its places; None without a scaffold.
    """

    mol: Chem.Mol
    chain_cuts: tuple[tuple[int, int], ...]
    path_cuts: tuple[RingCut, ...]
    corner_cuts: tuple[RingCut, ...]
    n_atoms: int
    scaffold: Scaffold | None = None
    cores: tuple[frozenset[int], ...] | None = None

    def fragment(
        self, atoms: frozenset[int], cut_bonds: tuple[tuple[int, int], ...], span: int = 0, limits: tuple[int, ...] = ()
    ) -> "Fragment":
        """Return one side of the molecule (see the attributes of `Fragment`)."""
        size = sum(atom < self.n_atoms for atom in atoms)
        has_core = None if self.cores is None else any(core <= atoms for core in self.cores)
        return Fragment(self.mol, atoms, size, cut_bonds, span, limits, has_core)


@dataclass(frozen=True, eq=False)
class Fragment:
    """One side of a cut molecule.

    Attributes:
        parent: The molecule that is cut; shared, so copy it before editing.
        atoms: The indices, in ``parent``, of the atoms on this side.
        size: The number of these atoms, without the hydrogens at free positions of a scaffold.
        cut_bonds: For each cut bond, its atom on this side (its *end*) and its atom on the other side.
        span: The number of bonds on the shortest path on this side between the two ends of a ring cut; 0 for an
            acyclic cut.
        limits: For each bond of a ring cut, the highest order that a new bond in its place can have; empty for an
            acyclic cut.
        has_core: Whether the core of the scaffold is on this side; None without a scaffold.
    """

    parent: Chem.Mol
    atoms: Collection[int]
    size: int
    cut_bonds: tuple[tuple[int, int], ...]
    span: int = 0
    limits: tuple[int, ...] = ()
    has_core: bool | None = None

    @cached_property
    def graph(self) -> tuple[Chem.Mol, tuple[int, ...]]:
        """The graph of the atoms on this side, and for each cut bond, the index of its atom in this graph.

        The atoms are in the parent's order. Copy the graph before editing. If new bonds are added in the order of
        ``cut_bonds``, each new bond takes the spatial position of the cut bond that it replaces, so stereocenters keep
        their configuration.
        """
        part = Chem.RWMol(self.parent)
        for end, gone in reversed(self.cut_bonds):  # the place of the bond detached last is the first to be filled
            rules.detach(part, end, gone)
        part.BeginBatchEdit()
        for atom in range(part.GetNumAtoms()):
            if atom not in self.atoms:
                part.RemoveAtom(atom)
        part.CommitBatchEdit()
        return part.GetMol(), tuple(sum(atom < end for atom in self.atoms) for end, _ in self.cut_bonds)


class Join(NamedTuple):
    """A plan for a child: the ends of two fragments are joined, pair by pair, by bonds of given orders.

    Attributes:
        first: One fragment.
        second: The other fragment.
        orders: The order of each new bond.
        is_turned: Whether the first end of one fragment is joined to the last end of the other, instead of first to
            first.
    """

    first: Fragment
    second: Fragment
    orders: tuple[Chem.BondType, ...]
    is_turned: bool = False


@lru_cache(maxsize=8192)
def read_parent(smiles: str, scaffold: Scaffold | None = None) -> Parent:
    """Find where a molecule can be cut: with a scaffold, only at bonds outside its core."""
    mol = rules.editable_molecule(smiles)
    parent = Parent(
        mol=mol,
        chain_cuts=mol.GetSubstructMatches(CHAIN_BOND),
        path_cuts=mol.GetSubstructMatches(_RING_PATH),
        corner_cuts=tuple((a, b, b, c) for a, b, c in mol.GetSubstructMatches(_RING_CORNER)),
        n_atoms=mol.GetNumAtoms(),
        scaffold=scaffold,
    )
    return parent if scaffold is None else _spare_core(parent, scaffold.find(molecule_of(smiles)))


def _spare_core(parent: Parent, matches: Sequence[Match]) -> Parent:
    """Leave out the cuts through the core, at each place that it has, and add those of hydrogens at free positions."""
    cores = tuple(match.atoms for match in matches)

    def is_spared(cut: tuple[int, ...]) -> bool:
        return any(not (core.issuperset(cut[:2]) or core.issuperset(cut[-2:])) for core in cores)

    free = sorted({atom for match in matches for atom in match.free})
    mol = Chem.AddHs(parent.mol, onlyOnAtoms=free) if free else parent.mol  # an empty list would stand for all atoms
    hydrogens = range(parent.n_atoms, mol.GetNumAtoms())
    freed = tuple((mol.GetAtomWithIdx(atom).GetNeighbors()[0].GetIdx(), atom) for atom in hydrogens)
    chain_cuts = (*filter(is_spared, parent.chain_cuts), *freed)
    path_cuts, corner_cuts = (tuple(filter(is_spared, cuts)) for cuts in (parent.path_cuts, parent.corner_cuts))
    return replace(parent, mol=mol, chain_cuts=chain_cuts, path_cuts=path_cuts, corner_cuts=corner_cuts, cores=cores)


def _detach(mol: Chem.Mol, bonds: Iterable[tuple[int, int]]) -> tuple[Chem.Mol, dict[int, frozenset[int]]]:
    """Return a copy of a molecule without these bonds, and for each atom, all atoms on its side."""
    apart = Chem.RWMol(mol)
    for first, second in bonds:
        apart.RemoveBond(first, second)
    return apart, {atom: side for side in map(frozenset, Chem.GetMolFrags(apart)) for atom in side}


@lru_cache(maxsize=16_384)
def cut_chain(parent: Parent, cut: tuple[int, int]) -> tuple[Fragment, Fragment]:
    """Cut an acyclic bond, given by the indices of its two atoms, and return both sides."""
    (begin, end), (_, sides) = cut, _detach(parent.mol, [cut])
    return parent.fragment(sides[begin], ((begin, end),)), parent.fragment(sides[end], ((end, begin),))


@lru_cache(maxsize=16_384)
def cut_ring(parent: Parent, cut: RingCut) -> tuple[Fragment, Fragment] | None:
    """Cut two ring bonds and return both sides, or None if another ring still connects them."""
    a, b, c, d = cut
    apart, sides = _detach(parent.mol, [(a, b), (c, d)])
    if a in sides[b]:
        return None

    def side(*cut_bonds: tuple[int, int]) -> Fragment:
        (first, _), (last, _) = cut_bonds
        span = 0 if first == last else len(Chem.GetShortestPath(apart, first, last)) - 1
        limits = tuple(_order_limit(parent.mol, *bond) for bond in cut_bonds)
        return parent.fragment(sides[first], cut_bonds, span, limits)

    return side((b, a), (c, d)), side((a, b), (d, c))


def _order_limit(mol: Chem.Mol, end: int, gone: int) -> int:
    """Return an upper limit for the order of a new bond at ``end`` in place of its bond to ``gone``.

    The limit is the order of the bond to ``gone`` plus the number of hydrogens of ``end``. If the atomic number of
    ``end`` is above 9, or its number of hydrogens is fixed, the limit is 2, the highest order of any new bond.
    """
    atom = mol.GetAtomWithIdx(end)
    if atom.GetAtomicNum() > 9 or atom.GetNoImplicit():  # valence varies beyond the second period; left to sanitization
        return len(ORDERS)
    return int(mol.GetBondBetweenAtoms(end, gone).GetBondTypeAsDouble()) + atom.GetTotalNumHs()


def ring_joins(lefts: Sequence[Fragment], rights: Sequence[Fragment]) -> list[Join]:
    """Plan the possible children of one ring cut in each parent, without those sure to have a bad valence or ring size.

    Each left fragment is paired with each right one. For each pair, the ends are matched in both orders, and the two
    new bonds are single or double, in all combinations that the ``limits`` of the fragments allow. The ``span`` of a
    fragment is the number of bonds on the shortest path in it from one end to the other, so the new ring has
    ``left.span + right.span + 2`` atoms. Pairs for which this is above 6 are left out, and so are those for which it is
    2, since both bonds would join the same two atoms, and those that `_can_join` refuses.

    Args:
        lefts: Both sides of the cut in the first parent.
        rights: Both sides of the cut in the second parent.
    """
    joins = []
    for left, right in product(lefts, rights):
        if not (3 <= left.span + right.span + 2 <= rules.MAX_RING and _can_join(left, right)):
            continue
        for is_turned, rights_limits in ((False, right.limits), (True, right.limits[::-1])):
            orders = [ORDERS[: min(limits)] for limits in zip(left.limits, rights_limits, strict=True)]
            joins += [Join(left, right, pair, is_turned) for pair in product(*orders)]
    return joins


def _can_join(left: Fragment, right: Fragment) -> bool:
    """Return whether, if there is a scaffold, just one of two fragments has its core."""
    return left.has_core is None or left.has_core != right.has_core


def build_child(join: Join) -> Chem.RWMol:
    """Build the molecule that results from joining two fragments as ``join`` says, without sanitizing it.

    At both of the atoms that it joins, a new bond takes the spatial position of a bond that was cut there, so
    stereocenters keep their configuration.
    """
    (first, ends), (second, others) = join.first.graph, join.second.graph
    child = Chem.RWMol(first)
    offset = child.GetNumAtoms()
    child.InsertMol(second)
    if join.is_turned:
        if others[0] == others[1]:
            child.GetAtomWithIdx(others[0] + offset).InvertChirality()
        others = others[::-1]
    for end, other, order in zip(ends, others, join.orders, strict=True):
        rules.attach(child, end, other + offset, order)
    return child


def _first_allowed(
    joins: Sequence[Join], rng: np.random.Generator, scaffold: Scaffold | None, *, check_rings: bool
) -> str | None:
    for index in rng.permutation(len(joins)):
        join = joins[index]
        has_allowed_size = rules.has_allowed_size(join.first.size + join.second.size, rng)
        if has_allowed_size and (smiles := rules.write_child(build_child(join), scaffold, check_rings=check_rings)):
            return smiles
    return None


def _draw_ring_cut(parent: Parent, rng: np.random.Generator) -> tuple[Fragment, Fragment] | None:
    for _ in range(rules.TRIES):
        cuts = parent.path_cuts if rng.random() < 0.5 else parent.corner_cuts
        if not cuts:
            return None
        if fragments := cut_ring(parent, cuts[rng.integers(len(cuts))]):
            return fragments
    return None


def cross_chains(first: Parent, second: Parent, rng: np.random.Generator) -> str | None:
    """Cut each parent at an acyclic single bond and join one side of each, so that all rings stay whole.

    Returns:
        The SMILES of a child whose number of atoms is allowed (see `has_allowed_size`), or None if a parent has no such
        bond or all tries failed.
    """
    if not first.chain_cuts or not second.chain_cuts:
        return None
    for _ in range(rules.TRIES):
        cuts = [parent.chain_cuts[rng.integers(len(parent.chain_cuts))] for parent in (first, second)]
        sides = product(cut_chain(first, cuts[0]), cut_chain(second, cuts[1]))
        joins = [Join(*pair, (SINGLE,)) for pair in sides if _can_join(*pair)]
        if child := _first_allowed(joins, rng, first.scaffold, check_rings=False):
            return child
    return None


def cross_rings(first: Parent, second: Parent, rng: np.random.Generator) -> str | None:
    """Cut a ring in both parents and join one side of each to form a ring.

    Returns:
        The SMILES of a child whose number of atoms and whose rings are allowed (see `has_allowed_size` and
        `has_allowed_rings`), or None if no cut was found or all tries failed.
    """
    for _ in range(rules.TRIES):
        lefts, rights = _draw_ring_cut(first, rng), _draw_ring_cut(second, rng)
        if lefts is None or rights is None:
            return None
        if child := _first_allowed(ring_joins(lefts, rights), rng, first.scaffold, check_rings=True):
            return child
    return None


def cross_over(first: str, second: str, rng: np.random.Generator, *, scaffold: Scaffold | None = None) -> str | None:
    """Cross two molecules in up to 10 tries; each try does a chain or a ring crossover with equal probability.

    Args:
        first: The canonical isomeric SMILES of one parent.
        second: The canonical isomeric SMILES of the other parent.
        rng: The random generator; the number of draws from it varies.
        scaffold: The scaffold whose core both parents have and the child keeps, or None.

    Returns:
        The canonical isomeric SMILES of a child that has an allowed number of atoms (see `has_allowed_size`) and
        differs from both parents, or None. After a ring crossover, all rings are of the kinds that `has_allowed_rings`
        allows; a chain crossover keeps the parents' rings as they are.
    """
    parents = read_parent(first, scaffold), read_parent(second, scaffold)
    for _ in range(rules.TRIES):
        child = (cross_chains if rng.random() < 0.5 else cross_rings)(*parents, rng)
        if child is not None and child not in (first, second):
            return child
    return None
