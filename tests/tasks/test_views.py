"""What the domains draw for a report."""

import base64
import html
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from markupsafe import Markup

from evodiverse.ports import Highlight
from evodiverse.tasks.equations import view as equations
from evodiverse.tasks.molecules import view as molecules
from evodiverse.tasks.programs import view as programs
from tests.tasks.clock import MAX_SECONDS, cpu_seconds


def svg_of(markup: Markup | None) -> ET.Element:
    assert markup is not None
    (encoded,) = re.findall(r"base64,([^\"]+)", markup)
    return ET.fromstring(base64.b64decode(encoded))  # noqa: S314


def equation(body: str) -> str:
    return f"def equation(x, v, params):\n    return {body}\n"


def words(markup: Markup | None) -> str:
    assert markup is not None
    return "".join(ET.fromstring(f"<p>{markup}</p>").itertext())  # noqa: S314


def test_a_molecule_is_drawn_and_its_labels_are_not() -> None:
    plain = svg_of(molecules.portray("CCO", {}))
    assert plain.tag.endswith("svg")
    labeled = molecules.portray("CCO |$<script>;;$| <script>", {})
    assert ET.tostring(svg_of(labeled)) == ET.tostring(plain)


def test_the_molecules_shown_first_differ_and_each_stands_for_a_cluster_of_hits() -> None:
    found = ["c1ccccc1CCO", "c1ccccc1CCCO", "no molecule", "CC(=O)N(C)C", "C1CCSC1", "c1ccccc1CCCCO", ""]
    scores = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]
    ranked = [
        {"call": call, "key": key, "score": score} for call, (key, score) in enumerate(zip(found, scores, strict=True))
    ]
    shown = molecules.highlight(ranked, Path("absent"))
    assert shown is not None
    assert list(shown.calls) == [0, 3, 4]
    assert "Of the best 5 molecules, 4 are hits (score of at least 0.5), in 3 clusters of similar" in shown.note
    assert molecules.highlight(ranked[2:3], Path("absent")) is None
    assert "best 1 molecules, 0 are hits (score of at least 0.5)." in str(
        molecules.highlight(ranked[5:], Path("absent"))
    )


def test_at_most_ten_molecules_are_shown_first() -> None:
    keys = ["[He]", "[Ne]", "[Ar]", "[Kr]", "[Xe]", "C", "N", "O", "P", "S", "F", "Cl", "Br"]
    ranked = [{"call": call, "key": key, "score": 1 - call / 100} for call, key in enumerate(keys)]
    shown = molecules.highlight(ranked, Path("absent"))
    assert shown is not None
    assert list(shown.calls) == list(range(10))
    assert "13 are hits (score of at least 0.5), in 13 clusters" in shown.note


@pytest.mark.parametrize("text", ["", "no molecule", "C" * 501, "<script>"])
def test_what_is_no_molecule_is_not_drawn(text: str) -> None:
    assert molecules.portray(text, {}) is None
    assert molecules.tell_change(["CCO"], text) is None


def test_a_change_of_a_molecule_counts_the_atoms_that_are_new_and_gone() -> None:
    changed = molecules.tell_change(["c1ccccc1CC"], "c1ccccc1CN")
    assert changed is not None
    assert "7 atoms kept, 1 new (marked), 1 of the parent's atoms gone" in html.unescape(changed)


def test_molecules_of_many_similar_branches_are_compared_in_little_time() -> None:
    parent = "FS(F)(F)(F)(Cl)S(F)(S(F)(F)(F)(Cl)Cl)(S(F)(F)(Cl)(Cl)Cl)(S(F)(F)(Cl)(Cl)Cl)S(F)(F)(Cl)(Cl)Cl"
    child = "FS(F)(F)(F)(Cl)S(F)(S(F)(F)(F)(Cl)Cl)(S(F)(F)(F)(Cl)Cl)(S(F)(Cl)(Cl)(Cl)Cl)S(F)(Cl)(Cl)(Cl)Cl"
    shown: list[Markup | None] = []
    assert cpu_seconds(lambda: shown.append(molecules.tell_change([parent], child))) < MAX_SECONDS
    assert "29 atoms kept, 3 new (marked)" in str(shown[0])


@pytest.mark.parametrize(
    ("parent", "child", "words"),
    [
        ("CCCCO", "CCNCCO", "5 atoms kept, 1 new (marked), 0 of"),  # the new atom may be between the others
        ("CC", "NN", "0 atoms kept, 2 new (marked), 2 of"),
        ("C" * 100, "C" * 99, "too large to be compared with its parent"),
    ],
)
def test_a_change_of_a_molecule_is_described(parent: str, child: str, words: str) -> None:
    assert words in str(molecules.tell_change([parent], child))


@pytest.mark.parametrize(
    ("body", "params", "shown"),
    [
        ("params[0] * x + params[1] * v", [2.0, -3.0], "2⋅x−3⋅v"),
        ("params[0] * (x + v)", [1.5], "1.5⋅(x+v)"),
        ("x - (v - params[0])", [1.0], "x−(v−1)"),
        ("np.sin(params[0] * x)", [-2.0], "sin(−2⋅x)"),
        ("params[0] * x", [1.2e-7], "1.2×10−7⋅x"),
        ("params[0] * x - params[1]", [12.3456789, 555432.1], "12.35⋅x−5.554×105"),
        ("params[0] * x", [], "c0⋅x"),
        ("np.less(x, v) * params[0]", [2.0], "(x<v)⋅2"),
        ("np.maximum(x, -v)", [], "maximum(x,−v)"),
    ],
)
def test_an_equation_reads_as_what_it_is(body: str, params: list[float], shown: str) -> None:
    exact = f"params = {params}" if params else ""
    assert words(equations.portray(equation(body), {"params": json.dumps(params)})) == shown + exact


@pytest.mark.parametrize(
    "text", ["", "<script>", "def equation(x", equation("x") * 2 + "(", "x = 1", equation("f")[:-3]]
)
def test_what_is_no_equation_is_not_drawn(text: str) -> None:
    assert equations.portray(text, {"params": "[1"}) is None
    assert equations.tell_change([text], equation("x")) is None


def test_a_change_of_an_equation_names_the_terms() -> None:
    changed = equations.tell_change([equation("params[0] * x + params[1] * v")], equation("params[0] * x + np.sin(v)"))
    assert words(changed).split("\n") == ["+ sin(v)", "− v", "  x", ""]


HALL_OF_FAME = """\
chosen,complexity,nmse_train,nmse_held,nmse_id,nmse_ood,call,equation,latex,params
0,3,0.5,0.75,,,1,v*x,v x,[]
1,5,0.25,0.5,nan,1e999,2,<script>,x,[1.5]
"""


def highlight_of(folder: Path, about: str | None, front: str | None) -> Highlight | None:
    for name, content in (("equation.json", about), ("hall_of_fame.csv", front)):
        if content is not None:
            folder.joinpath(name).write_text(content)
    return equations.highlight([{"call": 3, "score": -0.1}, {"call": 2, "score": -0.25}], folder)


def test_the_chosen_equation_is_shown_first_with_its_errors_and_the_front(tmp_path: Path) -> None:
    known = {"call": 2, "nmse_train": 0.25, "nmse_held": 0.512345, "nmse_id": None, "nmse_ood": "<script>"}
    about = json.dumps(known | {"no_error": {"ood": "the target is the same in all rows"}})
    shown = highlight_of(tmp_path, about, HALL_OF_FAME)
    assert shown is not None
    assert list(shown.calls) == [2]
    assert shown.note == (
        "The error (NMSE) of the chosen equation is 0.25 in training, 0.5123 on held-back rows. "
        "It has none out of domain: the target is the same in all rows."
    )
    assert list(shown.lines) == [
        [3, 0.5, 0.75, None, None, 1, "v*x", None],
        [5, 0.25, 0.5, None, None, 2, "<script>", "chosen"],
    ]


DAMAGED = [None, "", "[", "[1]", '{"call": 9}', '{"call": [2]}', "[" * 10_000]
DAMAGED_FRONTS = [None, "", "chosen\n1\n", "complexity\nnan\n", "\0,\n", "complexity,a\n,,,\n"]


@pytest.mark.parametrize(
    ("about", "front"), [*((about, None) for about in DAMAGED), *((None, front) for front in DAMAGED_FRONTS[1:])]
)
def test_files_about_the_choice_that_are_absent_or_damaged_are_left_out(
    tmp_path: Path, about: str | None, front: str | None
) -> None:
    assert highlight_of(tmp_path, about, front) is None


def test_links_and_long_files_about_the_choice_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text('{"call": 2}')
    (tmp_path / "equation.json").symlink_to(tmp_path / "elsewhere")
    assert highlight_of(tmp_path, None, HALL_OF_FAME + " " * (1 << 20)) is None


def test_a_change_of_a_program_is_its_diff() -> None:
    changed = programs.tell_change(["a = 1\nb = 2\n"], "a = 1\nb = '<script>'\n")
    assert words(changed).splitlines()[1:] == [" a = 1", "-b = 2", "+b = '<script>'"]


@pytest.mark.parametrize("value", [None, 3.0, ""])
def test_a_program_without_texts_or_stages_has_none_to_show(value: object) -> None:
    assert programs.annotate({"feedback": value, "output": value, "other": "text"}) == {}
    assert programs.tabulate([]) is programs.tabulate([{"seconds": 1.0, "valid": True}]) is None


def test_stages_with_impossible_times_are_counted_all_the_same() -> None:
    times = ({"seconds_a": float("inf"), "valid": True}, {"seconds_a": float("-inf"), "valid": False})
    sheet = programs.tabulate(times)
    assert sheet is not None
    assert list(sheet.lines[0][:3]) == ["a", 2, 0]


def test_a_packing_is_drawn_with_all_its_circles() -> None:
    packing = json.dumps({"centers": [[0.25, 0.25], [0.75, 0.75]], "radii": [0.25, 0.2]})
    svg = svg_of(programs.portray("", {"packing": packing}))
    circles = [element for element in svg if element.tag.endswith("circle")]
    assert [(float(one.attrib["cx"]), float(one.attrib["cy"]), float(one.attrib["r"])) for one in circles] == [
        (64.0, 184.0, 60.0),
        (184.0, 64.0, 48.0),
    ]


@pytest.mark.parametrize(
    "packing", [None, "", "[", "{}", '{"centers": [[1]], "radii": [1]}', '{"centers": [[0, 1e999]], "radii": [1]}']
)
def test_what_is_no_packing_is_not_drawn(packing: str | None) -> None:
    assert programs.portray("", {"packing": packing}) is None
