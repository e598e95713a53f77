"""What is a molecule, what is not and why, and when two texts are the same one."""

from collections.abc import Callable, Iterable
from itertools import product

import pytest
from rdkit import Chem
from rdkit.Chem import AllChem

from evodiverse.data.cache import artifact_path
from evodiverse.tasks.molecules import parsing
from evodiverse.tasks.molecules.operators.chemistry_rules import write_child
from evodiverse.tasks.molecules.oracle import open_published
from evodiverse.tasks.molecules.parsing import MAX_CHARACTERS, Reader, parse_smiles
from evodiverse.vocabulary import Hypothesis, Reason, Rejection
from tests.tasks.clock import MAX_SECONDS, cpu_seconds
from tests.tasks.molecules.drugs import ALTERNATING, DRUGS

STEREOISOMERS = [
    pytest.param("C[C@@H](N)C(=O)O", "C[C@H](N)C(=O)O", id="mirror-images"),
    pytest.param("C[C@@H](N)C(=O)O", "CC(N)C(=O)O", id="one-of-them-and-unspecified"),
    pytest.param("F/C=C/F", "F/C=C\\F", id="trans-and-cis"),
    pytest.param("F/C=C/F", "FC=CF", id="trans-and-unspecified"),
    pytest.param("C[C@H]1CC[C@@H](O)CC1", "C[C@H]1CC[C@H](O)CC1", id="across-a-ring"),
    pytest.param(
        "COc1ccc2[nH]c(nc2c1)[S@@](=O)Cc1ncc(C)c(OC)c1C",
        "COc1ccc2[nH]c(nc2c1)[S@](=O)Cc1ncc(C)c(OC)c1C",
        id="at-sulfur",
    ),
]


def parse(text: str, max_heavy_atoms: int = 80) -> Hypothesis | Rejection:
    return parse_smiles(text, max_heavy_atoms)


def key(text: str) -> str:
    parsed = parse(text)
    assert isinstance(parsed, Hypothesis)
    return parsed.key


def entry_key(entry: str) -> str:
    parsed = Reader(80).read_entry(entry)
    assert isinstance(parsed, Hypothesis)
    return parsed.key


def _mapped(smiles: str) -> Chem.Mol:
    molecule = Chem.MolFromSmiles(smiles)
    for atom in molecule.GetAtoms():
        atom.SetAtomMapNum(atom.GetIdx() + 1)
    return molecule


def rejection(text: str, max_heavy_atoms: int = 80) -> Rejection:
    parsed = parse(text, max_heavy_atoms)
    assert isinstance(parsed, Rejection)
    return parsed


# Identity


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("OCC", "CCO"),
        ("C(O)C", "CCO"),
        ("C1=CC=CC=C1", "c1ccccc1"),
        ("[H]C([H])([H])O", "CO"),
        ("CC(=O)OC1=CC=CC=C1C(O)=O", "CC(=O)Oc1ccccc1C(=O)O"),
        ("OC(=O)[C@@H](N)C", "C[C@H](N)C(=O)O"),
        ("[O-][N+](=O)c1ccccc1", "O=[N+]([O-])c1ccccc1"),
        ("[13CH4]", "[13CH4]"),
    ],
)
def test_a_molecule_is_its_canonical_isomeric_smiles(text: str, canonical: str) -> None:
    assert parse(text) == Hypothesis(canonical, canonical)


def test_all_texts_of_a_molecule_have_one_key() -> None:
    for smiles in DRUGS:
        rewritten = Chem.MolToRandomSmilesVect(Chem.MolFromSmiles(smiles), 20, randomSeed=1)
        assert len(set(rewritten)) > 5
        assert {key(text) for text in rewritten} == {smiles}


def test_the_canonical_text_of_a_molecule_parses_to_itself() -> None:
    canonical = [key(smiles) for smiles in artifact_path("zinc250k").read_text().split()[::1000]]
    assert [key(smiles) for smiles in canonical] == canonical


@pytest.mark.parametrize("texts", ALTERNATING)
def test_a_molecule_whose_canonical_form_alternates_has_one_key(texts: tuple[str, str]) -> None:
    assert [Chem.CanonSmiles(text) for text in texts] == [*reversed(texts)]  # otherwise it tests nothing
    mapped = [Chem.MolToSmiles(_mapped(text)) for text in texts]
    assert {key(text) for text in (*texts, *mapped, *map(key, texts))} == {min(texts)}
    blocks = [Chem.MolToMolBlock(Chem.MolFromSmiles(text)) for text in texts if "@" not in text]  # it has no layout
    assert {entry_key(block) for block in blocks} <= {min(texts)}
    assert {write_child(Chem.MolFromSmiles(text), check_rings=False) for text in texts} == {min(texts)}


def test_a_molecule_whose_canonical_form_rdkit_cannot_read_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "C(O)CCCCSCCCF"  # in no other test, since results are cached
    monkeypatch.setattr(parsing, "molecule_of", {text: Chem.MolFromSmiles(text)}.get)
    assert "cannot read the canonical SMILES" in rejection(text).detail


def test_a_molecule_with_all_atoms_mapped_has_the_key_of_the_molecule() -> None:
    for smiles in DRUGS:
        mapped = Chem.MolToSmiles(_mapped(smiles))
        assert ":1]" in mapped
        assert key(mapped) == smiles


@pytest.mark.parametrize(
    ("mapped", "plain"),
    [
        ("[CH3:7]CO", "CCO"),
        ("CC[OH:7]", "CCO"),
        ("[CH3:2][CH2:1][OH:1]", "CCO"),
        ("[H:1]OCC", "CCO"),
        ("[13CH3:1]C", "[13CH3]C"),
        ("[OH:1]", "[OH]"),
        ("F[C@:5]([H:1])(Cl)Br", "F[C@]([H])(Cl)Br"),
        ("[F:1]/[CH:2]=C/F", "F/C=C/F"),
        ("F[C@](Cl)([CH3:1])[CH3:2]", "CC(C)(F)Cl"),
        ("[CH3:1]/C(C)=C/F", "CC(C)=CF"),
    ],
)
def test_atom_maps_do_not_change_the_key(mapped: str, plain: str) -> None:
    assert key(mapped) == key(plain)


@pytest.mark.parametrize(
    "text", [" CCO", "CCO ", "\tCCO\r\n", "\n\n CCO\x0b", "\xa0CCO\u2003", "CCO |$a;b;c$|", "OCC |(0,0;1,1;2,0)|\n"]
)
def test_white_space_and_what_cxsmiles_append_are_ignored(text: str) -> None:
    assert key(text) == "CCO"


@pytest.mark.parametrize(("first", "second"), STEREOISOMERS)
def test_stereoisomers_are_different_molecules(first: str, second: str) -> None:
    assert key(first) != key(second)


@pytest.mark.parametrize(("first", "second"), STEREOISOMERS)
def test_the_published_oracle_scores_stereoisomers_alike(first: str, second: str) -> None:
    scores = open_published("jnk3", artifact_path("jnk3"))([key(first), key(second)])
    assert scores[0] == scores[1]


@pytest.mark.parametrize(("first", "second"), [("CC", "[13CH3]C"), ("CC(=O)O", "CC(=O)[O-]"), ("CC", "C=C")])
def test_isotopes_charges_and_bonds_tell_molecules_apart(first: str, second: str) -> None:
    assert key(first) != key(second)


# Rejections


@pytest.mark.parametrize("text", ["", " ", "\n", " \t\r\n "])
def test_no_text_is_empty(text: str) -> None:
    assert parse(text) == Rejection(Reason.EMPTY)


@pytest.mark.parametrize("text", ["[H][H]", "[H]", "[H+]", "[2H]", "*"])
def test_what_has_no_heavy_atom_is_empty(text: str) -> None:
    assert parse(text) == Rejection(Reason.EMPTY, "no heavy atom")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("c1ccc", id="open-ring"),
        pytest.param("CC(", id="open-branch"),
        pytest.param("C(C)(C)(C)(C)C", id="carbon-of-five-bonds"),
        pytest.param("c1cccc1", id="no-kekule-structure"),
        pytest.param("molecule", id="a-word"),
        pytest.param("C>>CC", id="a-reaction"),
        pytest.param("(" * MAX_CHARACTERS, id="deep-nesting"),
    ],
)
def test_what_rdkit_cannot_read_is_unparsable(text: str) -> None:
    assert parse(text) == Rejection(Reason.UNPARSABLE, "RDKit reads no molecule")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("C\x00C", id="a-null-byte"),
        pytest.param("CCO\x00", id="a-trailing-null-byte"),
        pytest.param("CCO\x7f", id="a-trailing-delete"),
        pytest.param("\x1bCCO", id="a-leading-escape"),
        pytest.param("CéC", id="a-letter-beyond-ascii"),
        pytest.param("CCOé", id="a-trailing-letter-beyond-ascii"),
        pytest.param("éCCO", id="a-leading-letter-beyond-ascii"),
        pytest.param("CCO\u200b", id="a-trailing-space-of-no-width"),
        pytest.param("\ufeffCCO", id="a-leading-byte-order-mark"),
        pytest.param("C\u2013C", id="a-dash-for-a-bond"),
        pytest.param("C\ud800C", id="a-lone-surrogate"),
        pytest.param("CCO\udfff", id="a-trailing-lone-surrogate"),
    ],
)
def test_characters_that_no_smiles_has_are_unparsable(text: str) -> None:
    assert parse(text) == Rejection(Reason.UNPARSABLE, "characters that no SMILES has")


@pytest.mark.parametrize("text", ["*C", "C*", "[1*]C", "[#0]C", "c1ccccc1*", "*1CC1", "*C.*C"])
def test_a_molecule_with_a_dummy_atom_is_unparsable(text: str) -> None:
    assert parse(text) == Rejection(Reason.UNPARSABLE, "placeholders for atoms or bonds")


@pytest.mark.parametrize("text", ["C~C", "C1C~C1", "N~[Fe]", "C~[CH3:1]"])
def test_a_molecule_with_a_bond_of_any_order_is_unparsable(text: str) -> None:
    assert parse(text) == Rejection(Reason.UNPARSABLE, "placeholders for atoms or bonds")


@pytest.mark.parametrize("text", ["CCO ethanol", "CC O", "CCO\nCC", "CCO\tC", "CCO |a", "CCO |a| b"])
def test_more_than_one_word_is_unparsable(text: str) -> None:
    assert parse(text) == Rejection(Reason.UNPARSABLE, "more than one word")


@pytest.mark.parametrize("text", ["[Na+].[Cl-]", "CCO.O", "CCO.[H][H]", "C1.C2.C12.C"])
def test_several_fragments_are_rejected(text: str) -> None:
    assert rejection(text).reason is Reason.MULTI_FRAGMENT


def test_several_fragments_are_a_molecule_where_they_are_allowed() -> None:
    assert parse_smiles("Cl.OCC", 80, allow_fragments=True) == Hypothesis("CCO.Cl", "CCO.Cl")
    assert isinstance(parse_smiles("Cl.*", 80, allow_fragments=True), Rejection)


def test_a_dot_that_a_ring_closure_bridges_is_no_fragment() -> None:
    assert key("C1.C1") == "CC"


def test_a_molecule_of_just_the_largest_size_is_accepted() -> None:
    assert parse("CCCCO", max_heavy_atoms=5) == Hypothesis("CCCCO", "CCCCO")


def test_a_molecule_of_one_heavy_atom_more_is_too_large() -> None:
    assert parse("CCCCCO", max_heavy_atoms=5) == Rejection(Reason.TOO_LARGE, "6 heavy atoms, at most 5")


def test_hydrogens_do_not_count_as_heavy_atoms() -> None:
    assert parse("[H]C([H])([H])[H]", max_heavy_atoms=1) == Hypothesis("C", "C")


@pytest.mark.parametrize("character", ["C", "(", "x"])
def test_an_absurdly_long_text_is_too_large_whatever_it_says(character: str) -> None:
    assert parse(character * 5_001) == Rejection(Reason.TOO_LARGE, "5001 characters, at most 5000")


def test_white_space_around_a_molecule_does_not_count_as_length() -> None:
    assert key(" " * MAX_CHARACTERS + "CCO" + "\n" * MAX_CHARACTERS) == "CCO"


def test_a_text_of_just_the_largest_length_is_read() -> None:
    assert rejection("C" * 5_000).detail == "5000 heavy atoms, at most 80"


def test_rdkit_does_not_print_why_it_reads_no_molecule(capfd: pytest.CaptureFixture[str]) -> None:
    parse("c1ccc")
    assert capfd.readouterr() == ("", "")


# What RDKit would take long for


def spell(bonds: Iterable[tuple[int, int]], atom: str) -> str:
    """The SMILES of a graph whose nodes are numbered: every bond closes a ring between atoms written apart."""
    digits: dict[int, str] = {}
    for number, ends in enumerate(bonds, 10):
        for end in ends:
            digits[end] = digits.get(end, "") + (f"%{number}" if number < 100 else f"%({number})")
    return ".".join(atom + digits[end] for end in sorted(digits))


def ring(n: int) -> list[tuple[int, int]]:
    return [(at, (at + 1) % n) for at in range(n)]


def prism(n: int) -> list[tuple[int, int]]:
    """Two rings, each atom of one bound to its counterpart."""
    return [*ring(n), *((n + one, n + other) for one, other in ring(n)), *((at, n + at) for at in range(n))]


def mesh(rows: int, columns: int) -> list[tuple[int, int]]:
    """A honeycomb on a torus, two atoms a cell."""
    cells = list(product(range(rows), range(columns)))
    place = {cell: 2 * at for at, cell in enumerate(cells)}
    inside = [(place[cell], place[cell] + 1) for cell in cells]
    down = [(place[row, column] + 1, place[(row + 1) % rows, column]) for row, column in cells]
    right = [(place[row, column] + 1, place[row, (column + 1) % columns]) for row, column in cells]
    return [*inside, *down, *right]


def diamonds(n: int) -> list[tuple[int, int]]:
    """A ring of rings of four: there are two ways through each, so that 2**n rings are as short."""
    corners = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]
    return [(4 * at + one, (4 * at + other) % (4 * n)) for at in range(n) for one, other in corners]


def bipartite(few: int, many: int) -> list[tuple[int, int]]:
    return list(product(range(few), range(few, few + many)))


CAGES = {
    "a honeycomb of nitrogen": spell(mesh(4, 10), "N"),
    "a narrow honeycomb of nitrogen": spell(mesh(2, 20), "N"),
    "a small honeycomb of phosphorus": spell(mesh(2, 8), "P"),
    "a prism of nitrogen": spell(prism(40), "N"),
    "diamonds of nitrogen": spell(diamonds(17), "N"),
    "fewer diamonds of nitrogen": spell(diamonds(13), "N"),
    "many diamonds of carbon": spell(diamonds(20), "C"),
    "uranium bound to all others": spell(bipartite(5, 60), "[U]"),
    "a long ring": f"c1{'c' * 4_900}1",
    "a long ring of hydrogen": f"[2H]1{'[2H]' * 1_200}C1",
    "a long ring of placeholders": f"C1{'*' * 4_900}1",
}


@pytest.mark.parametrize("smiles", CAGES.values(), ids=CAGES)
def test_rings_that_rdkit_would_work_on_for_long_are_too_large_at_once(smiles: str) -> None:
    assert len(smiles) <= MAX_CHARACTERS
    assert cpu_seconds(lambda: rejection(smiles)) < MAX_SECONDS
    assert rejection(smiles).reason is Reason.TOO_LARGE


@pytest.mark.parametrize(
    "smiles",
    [
        pytest.param("C/C=C/" * 26, id="cis-and-trans"),
        pytest.param("[C@H](O)" * 40, id="stereocenters"),
        pytest.param("[C@H](O)" * 600, id="too-many-stereocenters"),
        pytest.param("".join(f"[C@H:{at}](O)" for at in range(350)), id="mapped-stereocenters"),
        pytest.param("[U@OH5](F)(F)(F)(F)" * 15, id="octahedral-centers"),
        pytest.param("C=" * 2_400 + "C", id="a-long-allene"),
        pytest.param("C1" * 2_500, id="rings-of-two"),
        pytest.param("".join(f"C%({at})" for at in range(600)), id="rings-never-closed"),
        pytest.param("C(" * 1_600 + "C" + ")" * 1_600, id="branches-in-each-other"),
        pytest.param("[U]" + "(F)" * 1_600, id="branches-of-one-atom"),
        pytest.param("C." * 2_400 + "C", id="fragments"),
        pytest.param("[C+999999999]", id="a-charge"),
        pytest.param("[CH999999999]", id="hydrogens"),
        pytest.param("[999999999C:999999999]", id="an-isotope"),
        pytest.param("C" + ">" * 4_000, id="reactions"),
        pytest.param("[C,N;!$(C=O)]" * 380, id="smarts"),
        pytest.param(spell(diamonds(9), "N"), id="few-diamonds"),
        pytest.param(spell(prism(9), "N"), id="a-small-prism"),
        pytest.param(spell(mesh(3, 3), "P"), id="a-small-honeycomb"),
    ],
)
def test_odd_molecules_of_any_size_are_read_at_once(smiles: str) -> None:
    assert len(smiles) <= MAX_CHARACTERS
    assert cpu_seconds(lambda: parse(smiles)) < MAX_SECONDS


def test_a_molecule_of_just_the_most_rings_is_accepted() -> None:
    assert isinstance(parse("C1CC1" * 18), Hypothesis)
    assert rejection("C1CC1" * 19) == Rejection(Reason.TOO_LARGE, "19 rings, at most 18")


@pytest.mark.parametrize("center", ["U", "*"])
def test_an_atom_with_too_many_neighbors_is_too_large(center: str) -> None:
    assert isinstance(parse(f"[U]{'(C)' * 9}C"), Hypothesis)
    assert rejection(f"[{center}]{'(C)' * 10}C") == Rejection(Reason.TOO_LARGE, "an atom with 11 neighbors, at most 10")


# Entries of an SDF


def test_an_entry_of_an_sdf_is_the_molecule_that_was_written() -> None:
    for smiles in DRUGS:
        assert Reader(80).read_entry(Chem.MolToMolBlock(Chem.MolFromSmiles(smiles))) == parse(smiles), smiles


@pytest.mark.parametrize("smiles", ["C[C@@H](N)C(=O)O", "C[C@H](N)C(=O)O", "F/C=C/F", "F/C=C\\F"])
def test_coordinates_of_an_entry_say_which_stereoisomer_it_is(smiles: str) -> None:
    molecule = Chem.AddHs(Chem.MolFromSmiles(smiles))
    AllChem.EmbedMolecule(molecule, randomSeed=1)
    flat = Chem.MolFromSmiles(smiles)
    AllChem.Compute2DCoords(flat)
    for written in (Chem.MolToMolBlock(molecule), Chem.MolToMolBlock(flat), Chem.MolToV3KMolBlock(flat)):
        assert Reader(80).read_entry(written) == parse(smiles)


@pytest.mark.parametrize("written", [Chem.MolToMolBlock, Chem.MolToV3KMolBlock])
def test_rings_of_an_entry_are_counted_in_both_versions_of_the_format(written: Callable[[Chem.Mol], str]) -> None:
    rings = Chem.MolFromSmiles(f"C{'C1CC1' * 19}")
    assert Reader(80).read_entry(written(rings)) == Rejection(Reason.TOO_LARGE, "19 rings, at most 18")


def test_an_entry_is_held_to_the_limits_of_a_smiles() -> None:
    entry = Chem.MolToMolBlock(Chem.MolFromSmiles("CCCCCC"))
    assert Reader(5).read_entry(entry) == Rejection(Reason.TOO_LARGE, "6 heavy atoms, at most 5")


@pytest.mark.parametrize(
    ("smiles", "reason"), [("C.C", Reason.MULTI_FRAGMENT), ("*C", Reason.UNPARSABLE), ("", Reason.EMPTY)]
)
def test_an_entry_is_rejected_as_its_smiles_is(smiles: str, reason: Reason) -> None:
    rejected = Reader(80).read_entry(Chem.MolToMolBlock(Chem.MolFromSmiles(smiles)))
    assert isinstance(rejected, Rejection)
    assert rejected.reason == reason


@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize(
    "entry", ["", "CCO", "\n\n\n", "a\n\n\n 99 99 V2000", "a\nb\nc\n  2  9  0 V2000\nx y z\nM  END"]
)
def test_an_entry_that_is_none_is_unparsable(entry: str, count: int) -> None:
    rejected = Reader(80).read_entry("\n" * count + entry)
    assert rejected == Rejection(Reason.UNPARSABLE, "RDKit reads no molecule")


def write_graph(smiles: str) -> str:
    """Write atoms and bonds as a molfile; RDKit's own writer would look for rings."""
    graph = Chem.MolFromSmiles(smiles, sanitize=False)
    atoms = [f"{0.0:10.4f}{0.0:10.4f}{0.0:10.4f} {atom.GetSymbol():<3} 0  0" for atom in graph.GetAtoms()]
    ends = [(bond.GetBeginAtomIdx() + 1, bond.GetEndAtomIdx() + 1, bond.GetIsAromatic()) for bond in graph.GetBonds()]
    bonds = [f"{first:3d}{second:3d}{4 if is_aromatic else 1:3d}  0" for first, second, is_aromatic in ends]
    counts = f"{len(atoms):3d}{len(bonds):3d}  0  0  0  0  0  0  0  0999 V2000"
    return "\n".join(["", "", "", counts, *atoms, *bonds, "M  END", ""])


def test_atoms_and_bonds_written_as_a_molfile_are_the_molecule() -> None:
    assert Reader(80).read_entry(write_graph("Cc1ccccc1")) == parse("Cc1ccccc1")


@pytest.mark.parametrize("smiles", [pytest.param(text, id=name) for name, text in CAGES.items() if "long" not in name])
def test_rings_in_an_entry_that_rdkit_would_work_on_for_long_are_too_large_at_once(smiles: str) -> None:
    entry = write_graph(smiles)
    assert cpu_seconds(lambda: Reader(80).read_entry(entry)) < MAX_SECONDS
    rejected = Reader(80).read_entry(entry)
    assert isinstance(rejected, Rejection)
    assert rejected.reason is Reason.TOO_LARGE
