"""The seven kinds of mutation of Graph GA (Jensen 2019), as tables of weighted rules on the Kekulé form of a molecule.

A rule consists of a SMARTS pattern that finds sites and an edit of one site, so each site gives one possible child. One
of the children that obey the chemistry rules is drawn uniformly: sites are tried in random order until a child obeys
these rules.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import permutations
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from rdkit import Chem

from evodiverse.kit.choice import pick
from evodiverse.tasks.molecules.operators import chemistry_rules as rules
from evodiverse.tasks.molecules.parsing import molecule_of
from evodiverse.tasks.molecules.scaffold import Scaffold

Site: TypeAlias = tuple[int, ...]
"""The indices of the atoms that match a pattern, in the order of the atoms in its SMARTS."""
Edit: TypeAlias = Callable[[Chem.RWMol, Site], None]
"""Changes a molecule at one site, in place."""

SINGLE, DOUBLE, TRIPLE = Chem.BondType.SINGLE, Chem.BondType.DOUBLE, Chem.BondType.TRIPLE


class Rule(NamedTuple):
    """One way to change a molecule.

    Attributes:
        name: The kind of mutation and the edit, such as ``append_atom =O``.
        pattern: The pattern whose matches are the sites. A match of the same atoms in another order is another site.
        edit: A function that changes a copy of the molecule at one site, in place.
        growth: The number of atoms that the molecule gains.
    """

    name: str
    pattern: Chem.Mol
    edit: Edit
    growth: int = 0


RuleTable: TypeAlias = tuple[tuple[Rule, float], ...]
"""The rules of one kind of mutation, each with its weight in the draw."""


def _insert(mol: Chem.RWMol, site: Site, element: str, order: Chem.BondType) -> None:
    first, second = site
    new = mol.AddAtom(Chem.Atom(element))
    rules.detach(mol, first, second)
    rules.attach(mol, first, new, order)
    rules.attach(mol, new, second, SINGLE)


def _append(mol: Chem.RWMol, site: Site, element: str, order: Chem.BondType) -> None:
    rules.attach(mol, site[0], mol.AddAtom(Chem.Atom(element)), order)


def _connect(mol: Chem.RWMol, site: Site, order: Chem.BondType = SINGLE) -> None:
    rules.attach(mol, site[0], site[-1], order)


def _open_ring(mol: Chem.RWMol, site: Site) -> None:
    rules.detach(mol, site[0], site[1])


def _delete(mol: Chem.RWMol, site: Site, joins: tuple[tuple[int, int], ...]) -> None:
    """Remove the second atom of the site, and add a single bond between the two atoms of each pair in ``joins``.

    The site lists the indices of the atoms that match a SMARTS pattern. The numbers in ``joins`` are positions in this
    list, counted from 0.
    """
    deleted = site[1]
    for neighbor in site[:1] + site[2:]:
        rules.detach(mol, neighbor, deleted)
    for first, second in joins:
        rules.attach(mol, site[first], site[second], SINGLE)
    mol.RemoveAtom(deleted)


def _change(mol: Chem.RWMol, site: Site, element: int) -> None:
    """Replace an atom by one of another element, without a charge, isotope, radical electrons and chiral tag."""
    mol.ReplaceAtom(site[0], Chem.Atom(element))


def _rule(name: str, smarts: str, edit: Edit, growth: int = 0) -> Rule:
    return Rule(name, Chem.MolFromSmarts(smarts), edit, growth)


def _new_atoms(kind: str, smarts: str, sign: str, elements: str, weight: float) -> RuleTable:
    """Return one rule for each element, which adds an atom of this element; the rules share ``weight`` equally.

    Args:
        kind: The kind of mutation, ``insert_atom`` or ``append_atom``.
        smarts: The pattern of the sites.
        sign: The bond to the new atom: ``-``, ``=`` or ``#``.
        elements: The symbols of the elements, separated by spaces.
        weight: The weight of all these rules together.
    """
    order = {"-": SINGLE, "=": DOUBLE, "#": TRIPLE}[sign]
    edit, symbols = partial(_insert if kind == "insert_atom" else _append, order=order), elements.split()
    return tuple(
        (_rule(f"{kind} {sign}{symbol}", smarts, partial(edit, element=symbol), growth=1), weight / len(symbols))
        for symbol in symbols
    )


INSERT_ATOM: Final[RuleTable] = (
    *_new_atoms("insert_atom", "*~*", "-", "C N O S", 0.60),
    *_new_atoms("insert_atom", "[*;!H0]~*", "=", "C N", 0.35),
    *_new_atoms("insert_atom", "[*;!R;!H1;!H0]~*", "#", "C", 0.05),
)

CHANGE_BOND_ORDER: Final[RuleTable] = (
    (_rule("change_bond_order to -", "*!-*", partial(_connect, order=SINGLE)), 0.45),
    (_rule("change_bond_order - to =", "[*;!H0]-[*;!H0]", partial(_connect, order=DOUBLE)), 0.45),
    (_rule("change_bond_order # to =", "*#*", partial(_connect, order=DOUBLE)), 0.05),
    (_rule("change_bond_order to #", "[*;!R;!H1;!H0]~*", partial(_connect, order=TRIPLE)), 0.05),
)

DELETE_CYCLIC_BOND: Final[RuleTable] = ((_rule("delete_cyclic_bond", "*@*", _open_ring), 1.0),)

ADD_RING: Final[RuleTable] = (
    (_rule("add_ring 3", "[!r;!H0]~[!r]~[!r;!H0]", _connect), 0.05),
    (_rule("add_ring 4", "[!r;!H0]~[!r]~[!r]~[!r;!H0]", _connect), 0.05),
    (_rule("add_ring 5", "[!r;!H0]~[!r]~*~*~[!r;!H0]", _connect), 0.45),
    (_rule("add_ring 6", "[!r;!H0]~[!r]~*~*~[!r]~[!r;!H0]", _connect), 0.45),
)

DELETE_ATOM: Final[RuleTable] = tuple(
    (_rule(f"delete_atom {name}", smarts, partial(_delete, joins=joins), growth=-1), weight)
    for name, smarts, joins, weight in (
        ("D1", "*~[D1]", (), 0.25),
        ("D2", "*~[D2]~*", ((0, 2),), 0.25),
        ("D3", "*~[D3](~[*;!H0])~*", ((0, 2), (2, 3)), 0.25),
        ("D4 chain", "*~[D4](~[*;!H0])(~[*;!H0])~*", ((0, 2), (2, 3), (3, 4)), 0.1875),
        ("D4 star", "*~[D4](~[*;!H0;!H1])(~*)~*", ((0, 2), (2, 3), (2, 4)), 0.0625),
    )
)

APPEND_ATOM: Final[RuleTable] = (
    *_new_atoms("append_atom", "[*;!H0]", "-", "C N O F S Cl Br", 0.60),
    *_new_atoms("append_atom", "[*;!H0;!H1]", "=", "C N O", 0.35),
    *_new_atoms("append_atom", "[*;H3]", "#", "C N", 0.05),
)

ELEMENTS: Final = ((6, 0.15), (7, 0.15), (8, 0.14), (9, 0.14), (16, 0.14), (17, 0.14), (35, 0.14))
"""The atomic numbers of the elements that ``change_atom`` replaces and inserts, with the weights of their draws."""

_CHANGE_ATOM: Final = {
    (old, new): _rule(f"change_atom {old} to {new}", f"[#{old}]", partial(_change, element=new))
    for old, new in permutations(dict(ELEMENTS), 2)
}

KINDS: Final[tuple[tuple[RuleTable | None, float], ...]] = (
    (INSERT_ATOM, 0.15),
    (CHANGE_BOND_ORDER, 0.14),
    (DELETE_CYCLIC_BOND, 0.14),
    (ADD_RING, 0.14),
    (DELETE_ATOM, 0.14),
    (None, 0.14),  # change_atom
    (APPEND_ATOM, 0.15),
)
"""The rules of each kind of mutation, with the weight of the kind in the draw."""


def draw_rule(mol: Chem.Mol, rng: np.random.Generator) -> Rule | None:
    """Draw a kind of mutation and one of its rules.

    The result is None if the kind is ``change_atom`` and the molecule has none of the elements in `ELEMENTS`.
    """
    if (table := pick(KINDS, rng)) is not None:
        return pick(table, rng)
    numbers = {atom.GetAtomicNum() for atom in mol.GetAtoms()}
    present = [choice for choice in ELEMENTS if choice[0] in numbers]
    if not present:
        return None
    old = pick(present, rng)
    return _CHANGE_ATOM[old, pick([choice for choice in ELEMENTS if choice[0] != old], rng)]


class Core(NamedTuple):
    """The core of a scaffold in a molecule.

    Attributes:
        scaffold: The scaffold.
        atoms: The atoms of the molecule that belong to the core at each of its places, without those at free positions.
    """

    scaffold: Scaffold
    atoms: frozenset[int]


def apply_rule(rule: Rule, mol: Chem.Mol, rng: np.random.Generator, core: Core | None = None) -> str | None:
    """Return a child drawn uniformly over the sites at which the rule gives an allowed child.

    Args:
        rule: The rule to apply.
        mol: A molecule from `editable_molecule`; it is not changed.
        rng: The random generator that draws the order of the sites and a size limit for each site.
        core: The core that the child must keep; sites that consist of its atoms are passed over. None for any child.

    Returns:
        The canonical isomeric SMILES of a child that has the core and obeys the size and the ring rules, or None.
    """
    sites = mol.GetSubstructMatches(rule.pattern, uniquify=False)
    if core is not None:
        sites = [site for site in sites if not core.atoms.issuperset(site)]
    n_atoms = mol.GetNumAtoms() + rule.growth
    for index in rng.permutation(len(sites)):
        if not rules.has_allowed_size(n_atoms, rng):
            continue
        child = Chem.RWMol(mol)
        rule.edit(child, sites[index])
        if smiles := rules.write_child(child, core and core.scaffold):
            return smiles
    return None


@lru_cache(maxsize=8192)
def _find_core(scaffold: Scaffold, smiles: str) -> Core:
    matches = scaffold.find(molecule_of(smiles))
    atoms = frozenset.intersection(*(match.atoms for match in matches)) if matches else frozenset[int]()
    return Core(scaffold, atoms.difference(*(match.free for match in matches)))


def mutate(smiles: str, rng: np.random.Generator, *, scaffold: Scaffold | None = None) -> str | None:
    """Change a molecule at one site, in up to 10 tries, or 100 with a scaffold, each with a newly drawn rule.

    Args:
        smiles: The molecule. If it has fewer than 5 atoms, not counting hydrogens, the result is None, since a child
            must have more than 5 atoms, and a rule adds at most one.
        rng: The random generator; the number of draws from it varies.
        scaffold: The scaffold whose core the child must have; None for any child.

    Returns:
        The canonical isomeric SMILES of the child, or None if no rule gave an allowed child.
    """
    mol = rules.editable_molecule(smiles)
    core = None if scaffold is None else _find_core(scaffold, smiles)
    for _ in range(rules.TRIES if scaffold is None else 100):  # many rules have no site outside a core
        rule = draw_rule(mol, rng)
        if rule and (child := apply_rule(rule, mol, rng, core)):
            return child
    return None
