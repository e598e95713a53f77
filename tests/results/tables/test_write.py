"""Tables as Markdown, CSV, LaTeX and HTML."""

import csv
import io
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from evodiverse.errors import InputError
from evodiverse.results.tables.cells import EMPTY, Cell, Line, Table
from evodiverse.results.tables.layout import Column
from evodiverse.results.tables.write import to_csv, to_latex, to_markdown, to_page, write_tables

TABLE = Table(
    name="mol_llm",
    title="Molecules & <more>",
    head=("target", "method"),
    columns=(Column("AUC ↑", "auc"), Column("mine", "mine", extra=True)),
    lines=(
        Line(
            ("JNK3", "EvoDiverse"),
            (Cell("0.50 ± 0.10", 0.5, 0.1, 3), Cell("1.00", 1.0, None, 1)),
            ("0.63 ± 0.05", None),
        ),
        Line(("GSK3β", "EvoDiverse"), (EMPTY, EMPTY), ("0.76", None)),
    ),
    notes=("Only 95% of it_ is true.",),
    commands=("evodiverse -m task=gsk3b method=pt",),
    label="tab:mol_llm",
    is_of_paper=True,
)
FOUND = Table(
    name="molecules",
    title="All",
    head=("task", "runs"),
    columns=(Column("AUC", "auc"), Column("reached", "reached")),
    lines=(Line(("jnk3", "3"), (Cell("0.5", 0.5, None, 3), Cell("7", 7.0, None, 2)), (None, None)),),
    notes=(),
    commands=(),
    label="molecules",
    is_of_paper=False,
)


def test_markdown_has_our_number_the_runs_behind_it_and_the_papers() -> None:
    assert to_markdown(TABLE) == (
        "# Molecules &amp; &lt;more&gt;\n"
        "\n"
        "| target   | method     | AUC ↑           | paper       | mine     |\n"
        "|:---------|:-----------|:----------------|:------------|:---------|\n"
        "| JNK3     | EvoDiverse | 0.50 ± 0.10 (3) | 0.63 ± 0.05 | 1.00 (1) |\n"
        "| GSK3β    | EvoDiverse | —               | 0.76        | —        |\n"
        "\n"
        "- Only 95% of it_ is true.\n"
        "\n"
        "To fill the cells with a dash, run:\n"
        "\n"
        "    evodiverse -m task=gsk3b method=pt\n"
    )


def test_only_a_row_that_shows_its_number_of_runs_leaves_it_out_of_the_cells() -> None:
    assert "| 0.5   | 7 (2)     |" in to_markdown(FOUND)
    by_seed = replace(FOUND, head=("task", "seed"))
    assert "| 0.5 (3) | 7 (2)     |" in to_markdown(by_seed)


def test_runs_are_named_once_where_they_have_a_column() -> None:
    assert "| jnk3   | 3      | 0.5   | 7 (2)     |" in to_markdown(FOUND)


def test_csv_has_numbers() -> None:
    first, second = csv.DictReader(io.StringIO(to_csv(TABLE)))
    assert first == {
        "target": "JNK3",
        "method": "EvoDiverse",
        "AUC ↑": "0.50 ± 0.10",
        "AUC ↑ mean": "0.5",
        "AUC ↑ std": "0.1",
        "AUC ↑ runs": "3",
        "AUC ↑ paper": "0.63 ± 0.05",
        "mine": "1.00",
        "mine mean": "1.0",
        "mine std": "",
        "mine runs": "1",
        "mine paper": "",
    }
    assert (second["AUC ↑"], second["AUC ↑ mean"], second["AUC ↑ runs"]) == ("—", "", "0")


def test_latex_is_escaped_and_can_be_set_by_pdflatex() -> None:
    text = to_latex(TABLE)
    assert text.isascii()
    assert r"\caption{Molecules \& \ensuremath{<}more\ensuremath{>}. Only 95\% of it\_ is true.}" in text
    assert r"& EvoDiverse & 0.50 $\pm$ 0.10 (3)" in text
    assert r"GSK3$\beta$" in text
    assert r"\toprule" in text
    assert r"\label{tab:mol_llm}" in text


class Seen(HTMLParser):
    """What a page shows and links."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if name == "href" and value]
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_escaped() -> None:
    seen = Seen(to_page([TABLE], ["<a fact>"])).text
    assert all(text in seen for text in ("0.50 ± 0.10 (3)", "<more>", "<a fact>", "Only 95% of it_ is true."))


def test_tables_without_numbers_come_last_in_one_folded_list() -> None:
    bare = replace(TABLE, name="bare", lines=(Line(("JNK3", "x"), (EMPTY, EMPTY), (None, None)),))
    page = to_page([bare, TABLE], [])
    folded = page.index('<details id="empty">')
    assert page.index('id="mol_llm"') < folded < page.index('id="bare"')
    assert "<summary>1 table without numbers yet" in page
    assert "<details id" not in to_page([TABLE], [])


def test_every_file_is_linked_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    page = write_tables(tmp_path / "tables", [TABLE, FOUND], [])
    seen = Seen(page.read_text(encoding="utf-8"))
    files = {link for link in seen.links if not link.startswith(("#", "data:"))}
    assert files == {file.name for file in page.parent.iterdir()} - {"index.html", ".written"}
    assert {link[1:] for link in seen.links if link.startswith("#")} == set(seen.ids) == {"mol_llm", "molecules"}


def test_tables_of_an_earlier_call_do_not_stay_but_other_files_do(tmp_path: Path) -> None:
    write_tables(tmp_path, [TABLE, FOUND], [])
    for name in ("mol_llm_annotated.tex", "molecules_mine.csv", "notes.md"):
        (tmp_path / name).touch()
    write_tables(tmp_path, [FOUND], [])
    assert {file.name for file in tmp_path.iterdir()} == {
        *(f"molecules.{ending}" for ending in ("md", "csv", "tex")),
        *("index.html", ".written", "mol_llm_annotated.tex", "molecules_mine.csv", "notes.md"),
    }


def test_a_list_of_files_that_was_changed_by_hand_deletes_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "precious.csv").touch()
    (tmp_path / "tables" / ".written").write_text("../precious.csv\nindex.html\n")
    write_tables(tmp_path / "tables", [TABLE], [])
    assert (tmp_path / "precious.csv").exists()


def test_what_markdown_or_latex_cannot_set_does_not_break_a_table() -> None:
    odd = replace(FOUND, lines=(replace(FOUND.lines[0], of=("a|b λ→é_%{}", "3")),))
    assert r"| a\|b λ→é_%{} |" in to_markdown(odd)
    assert r"a|b ??é\_\%\{\}" in to_latex(odd)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "tables").touch()
    told = r"tables cannot be written \(File exists\); choose another folder with outputs=…"
    with pytest.raises(InputError, match=told):
        write_tables(tmp_path / "tables", [TABLE], [])


# A folder from somebody else


@pytest.mark.parametrize("name", ["molecules.csv", "molecules.md", "index.html"])
def test_a_link_in_the_place_of_a_file_is_replaced_and_not_written_through(tmp_path: Path, name: str) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / name).symlink_to(tmp_path / "victim")
    write_tables(tmp_path / "tables", [FOUND], [])
    assert (tmp_path / "victim").read_text() == "precious"
    assert not (tmp_path / "tables" / name).is_symlink()


def test_a_list_of_files_that_is_a_link_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / ".written").symlink_to(tmp_path / "victim")
    with pytest.raises(InputError, match=r"\.written is damaged \(it is a link\); delete it"):
        write_tables(tmp_path / "tables", [FOUND], [])
    assert [path.name for path in (tmp_path / "tables").iterdir()] == [".written"]


def test_a_folder_of_tables_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tables").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="tables is a link"):
        write_tables(tmp_path / "tables", [FOUND], [])
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_list_of_files_from_somebody_else_deletes_no_file_that_no_call_wrote(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    (tmp_path / ".written").write_text(f"thesis.tex\n{'0' * 64} thesis.tex\n../x.csv\n\udcff", errors="surrogateescape")
    write_tables(tmp_path, [FOUND], [])
    assert (tmp_path / "thesis.tex").read_text() == "mine"


def test_a_table_that_was_edited_since_is_not_deleted(tmp_path: Path) -> None:
    write_tables(tmp_path, [TABLE, FOUND], [])
    (tmp_path / "mol_llm.tex").write_text("with remarks of mine")
    write_tables(tmp_path, [FOUND], [])
    assert sorted(path.name for path in tmp_path.glob("mol_llm.*")) == ["mol_llm.tex"]


def with_head(head: str) -> Table:
    """A table of a run whose name, such as that of its model, comes from elsewhere."""
    return replace(FOUND, lines=(replace(FOUND.lines[0], of=(head, "3")),), notes=(f"Ours: {head}.",), commands=(head,))


def test_a_spreadsheet_finds_no_formula_in_text_from_a_run() -> None:
    formulas = {head: f"'{head}" for head in ("=1+1", "+1", "-1", "@SUM(A1)", "＝1", "\t=1")}
    others = {"a;=1": "a;'=1", "jnk3": "jnk3", "a=1,b=-2": "a=1,b=-2"}
    for head, written in (formulas | others).items():
        (_, row) = csv.reader(io.StringIO(to_csv(with_head(head)), newline=""))
        assert row[:2] == [written, "3"], head


def test_a_number_of_ours_below_zero_stays_one() -> None:
    below = replace(FOUND.lines[0], cells=(Cell("-7.53", -7.53, 0.1, 3), EMPTY))
    (row,) = csv.DictReader(io.StringIO(to_csv(replace(FOUND, lines=(below,)))))
    assert (row["AUC"], row["AUC mean"]) == ("-7.53", "-7.53")


@pytest.mark.parametrize(
    ("head", "written"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("&lt;", "&amp;lt;"),
        ("![x](https://evil)", r"!\[x\](https:\//evil)"),
        (r"\[x](y)", r"\\\[x\](y)"),
        ("www.evil.com", r"www\.evil.com"),
        ("<https://evil>", r"&lt;https:\//evil&gt;"),
        ("graph_ga", "graph_ga"),
    ],
)
def test_markdown_shows_text_from_a_run_as_text(head: str, written: str) -> None:
    text = to_markdown(with_head(head))
    assert f"| {written} " in text
    assert f"- Ours: {written}." in text
    assert f"    {head}\n" in text


@pytest.mark.parametrize(
    ("head", "written"),
    [
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        (r"\write18{id}", r"\textbackslash{}write18\{id\}"),
        ("^^5cinput", r"\^{}\^{}5cinput"),
        ("%}$#&_~", r"\%\}\$\#\&\_\textasciitilde{}"),
    ],
)
def test_latex_runs_no_command_in_text_from_a_run(head: str, written: str) -> None:
    text = to_latex(with_head(head))
    assert f"\n {written} " in text
    assert f"Ours: {written}.}}" in text


@pytest.mark.parametrize(("head", "written"), [("[5cm]", "{[}5cm]"), ("*", "{*}")])
def test_the_begin_of_a_row_in_latex_is_no_option_of_the_end_of_the_one_before(head: str, written: str) -> None:
    assert f"\n {written} " in to_latex(with_head(head))


def test_html_has_no_tag_and_no_attribute_in_text_from_a_run(tmp_path: Path) -> None:
    hostile = '"><script>alert(1)</script>'
    page = to_page([replace(with_head(hostile), name='x" onclick="y')], [hostile])
    assert page.count("<script") == 1
    assert Seen(page).ids == ['x" onclick="y']


def test_nothing_in_a_file_controls_a_terminal(tmp_path: Path) -> None:
    page = write_tables(tmp_path, [with_head("a\x1b[31m\nb\ud800")], ["a\x1b fact"])
    for file in page.parent.iterdir():
        assert "\x1b" not in file.read_text(encoding="utf-8")
    assert r"| a�\[31m�b�" in (tmp_path / "molecules.md").read_text(encoding="utf-8")


def test_tables_of_one_name_and_of_a_long_one_have_files_of_their_own(tmp_path: Path) -> None:
    write_tables(tmp_path, [TABLE, replace(FOUND, name="mol_llm"), replace(FOUND, name="x" * 300)], [])
    assert {file.stem for file in tmp_path.glob("*.md")} == {"mol_llm", "mol_llm-2", "x" * 200}
