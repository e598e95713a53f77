"""How a model is asked for a molecule, and how its answer is read."""

import dataclasses
from pathlib import Path

import pytest

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.prompts import SHIPPED, MoleculePrompts, build, read_templates
from evodiverse.tasks.molecules.settings import MoleculeSettings, Oracle, PromptSettings
from evodiverse.vocabulary import Candidate, Prompt, Reason, Rejection, Request, Stream
from tests.runs import ROOT, plan
from tests.tasks.clock import is_read_in_time

GOLDEN = ROOT / "tests" / "golden"
SETTINGS = PromptSettings(target="JNK3", meaning="It measures how strongly a molecule inhibits JNK3.")
NO_BOX, EMPTY_BOX, OPEN_BOX = (
    Rejection(Reason.NO_ANSWER, f"the reply proposes nothing: {instead}")
    for instead in ("no <box>", "an empty <box>", "a <box> that is not closed")
)
PARENTS = (
    Candidate(3, "Cc1ccc(O)cc1", "Cc1ccc(O)cc1", 0.25, None),
    Candidate(9, "O=C1CCN1", "O=C1CCN1", 1 / 3, None),
)


def request(prompt: Prompt = Prompt.COLD, parents: tuple[Candidate, ...] = PARENTS) -> Request:
    return Request(1, 0, 0, 1, parents, prompt, Stream(0, 4))


def built(settings: PromptSettings = SETTINGS) -> MoleculePrompts:
    return build(MoleculeSettings(prompts=settings))


def text(settings: PromptSettings = SETTINGS, asked: Request | None = None) -> str:
    (message,) = built(settings).messages(asked or request())
    assert message.role == "user"
    return message.content


@pytest.mark.parametrize("prompt", Prompt)
def test_the_whole_prompt_is_the_golden_one(prompt: Prompt) -> None:
    assert text(asked=request(prompt)) + "\n" == (GOLDEN / f"molecules_{prompt}.txt").read_text()


@pytest.mark.parametrize("prompt", Prompt)
@pytest.mark.parametrize("task", ["jnk3", "gsk3b"])
def test_every_prompt_shows_the_parents_with_their_scores_and_ends_with_the_fixed_sentence(
    task: str, prompt: Prompt
) -> None:
    (message,) = build(plan(f"task={task}").task).messages(request(prompt))
    whole = message.content
    assert "\n\nCc1ccc(O)cc1, 0.2500\nO=C1CCN1, 0.3333\n\n" in whole
    assert whole.endswith("\n\n<box>SMILES</box>")


def test_the_hot_prompt_asks_to_explore_and_the_cold_one_for_a_higher_score() -> None:
    cold, hot = text(), text(asked=request(Prompt.HOT))
    assert "higher JNK3 score than the ones above" in cold
    assert "Explore" in hot
    assert "competitive" in hot
    assert "Explore" not in cold


@pytest.mark.parametrize("prompt", Prompt)
@pytest.mark.parametrize(("task", "words"), [("jnk3", ["JNK", "kinase"]), ("gsk3b", ["GSK", "kinase"])])
def test_the_target_can_be_hidden(task: str, words: list[str], prompt: Prompt) -> None:
    shown, hidden = (
        build(plan(f"task={task}", f"task.prompts.name_target={is_named}").task).messages(request(prompt))[0].content
        for is_named in ("true", "false")
    )
    assert all(word in shown for word in words)
    assert not any(word in hidden for word in words)


@pytest.mark.parametrize("prompt", Prompt)
def test_the_scaffold_is_told_below_the_parents_before_the_filters(prompt: Prompt) -> None:
    core = "[*:1]c1ccccc1"
    settings = MoleculeSettings(prompts=SETTINGS, scaffold=core, filters={"elements": ["C"]})
    (message,) = build(settings).messages(request(prompt))
    _, below = message.content.split("O=C1CCN1, 0.3333\n\n")
    scaffold, filters, *_ = below.split("\n")
    assert f"only molecules with the scaffold {core} are scored" in scaffold
    assert "only at its open positions" in scaffold
    assert filters.startswith("Only molecules that meet all of these conditions are scored: no elements but H, C")


OWN_ORACLES = (Oracle(published="jnk3", path="my.npz"), Oracle(published="jnk3", _target_="mine.score"))


@pytest.mark.parametrize("oracle", OWN_ORACLES)
def test_a_model_is_never_told_the_published_target_of_another_oracle(oracle: Oracle) -> None:
    with pytest.raises(InputError) as refused:
        build(MoleculeSettings(oracle=oracle))
    assert [line.partition(" ")[0] for line in refused.value.violations] == [
        "task.prompts.target",
        "task.prompts.meaning",
    ]
    assert all("task.prompts.name_target=false" in line for line in refused.value.violations)


@pytest.mark.parametrize("oracle", OWN_ORACLES)
def test_a_model_is_told_what_the_user_says_of_an_oracle_of_their_own(oracle: Oracle) -> None:
    told = PromptSettings(target="hERG", meaning="It measures a risk.")
    (message,) = build(MoleculeSettings(oracle=oracle, prompts=told)).messages(request())
    assert "higher hERG score" in message.content
    assert "It measures a risk." in message.content
    (hidden,) = build(MoleculeSettings(oracle=oracle, prompts=PromptSettings(name_target=False))).messages(request())
    assert "target score" in hidden.content


def test_words_of_the_users_own_go_before_the_published_ones() -> None:
    settings = MoleculeSettings(Oracle(published="jnk3"), prompts=PromptSettings(target="MAPK10"))
    (message,) = build(settings).messages(request())
    assert "higher MAPK10 score" in message.content
    assert "c-Jun N-terminal kinase 3" in message.content


def test_a_single_parent_is_shown_alone() -> None:
    assert "\n\nO=C1CCN1, 0.3333\n\n" in text(asked=request(parents=PARENTS[1:]))


def write_templates(folder: Path, cold: str, hot: str = "$parents") -> PromptSettings:
    (folder / "cold.txt").write_text(cold)
    (folder / "hot.txt").write_text(hot)
    return dataclasses.replace(SETTINGS, dir=str(folder))


def test_a_users_own_templates_are_used(tmp_path: Path) -> None:
    settings = write_templates(tmp_path, "For $$5, better this ${score} than\n$parents!\n")
    assert text(settings) == "For $5, better this JNK3 score than\nCc1ccc(O)cc1, 0.2500\nO=C1CCN1, 0.3333!"


def test_templates_that_differ_have_another_digest(tmp_path: Path) -> None:
    mine = built(write_templates(tmp_path, "$parents"))
    assert mine.sha256 != built().sha256
    assert mine.sha256 == built(write_templates(tmp_path, "$parents")).sha256
    assert mine.sha256 != built(write_templates(tmp_path, "$parents", "$parents?")).sha256


def test_all_that_is_wrong_with_templates_is_told(tmp_path: Path) -> None:
    (tmp_path / "cold.txt").write_text("better $parent than $parents, $$, $targets")
    with pytest.raises(InputError) as refused:
        read_templates(tmp_path)
    assert [line.removeprefix(f"task.prompts.dir: {tmp_path}") for line in refused.value.violations] == [
        "/cold.txt has the unknown field $parent; expected $score, $meaning, $parents",
        "/cold.txt has the unknown field $targets; expected $score, $meaning, $parents",
        f"task.prompts.dir: cannot read {tmp_path}/hot.txt (No such file or directory); check the path",
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"costs 5$", "has a \\$ without the name of a field; write \\$\\$ for the character itself"),
        (b"no place", "is missing \\$parents"),
        (b"$parents \xff", "is not UTF-8"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    write_templates(tmp_path, "")
    (tmp_path / "cold.txt").write_bytes(content)
    with pytest.raises(InputError, match=f"cold.txt {problem}"):
        read_templates(tmp_path)


def test_a_run_with_templates_that_cannot_be_used_is_refused() -> None:
    with pytest.raises(InputError, match=r"task\.prompts\.dir: cannot read /nowhere/cold\.txt"):
        plan("task=jnk3", "task.prompts.dir=/nowhere")


def test_a_home_of_nobody_is_told_in_one_line() -> None:
    with pytest.raises(InputError, match=r"task\.prompts\.dir: cannot read ~no-such-user/x/cold\.txt"):
        plan("task=jnk3", "task.prompts.dir='~no-such-user/x'")


def test_the_shipped_templates_name_no_field_in_vain() -> None:
    assert set(read_templates(SHIPPED)) == set(Prompt)


@pytest.mark.parametrize(
    ("reply", "smiles"),
    [
        ("the proposed molecule is: <box>CCO</box>.", "CCO"),
        ("<box>CCO</box>", "CCO"),
        ("<box> CCO </box>", "CCO"),
        ("<box>\nCCO\n</box>", "CCO"),
        ("<box>CCO.</box>", "CCO"),
        ("<box>CCO. </box>.", "CCO"),
        ("<BOX>CCO</Box>", "CCO"),
        ("<box>`CCO`</box>", "CCO"),
        ("<box>```CCO```</box>", "CCO"),
        ("<box>\n```smiles\nCCO\n```\n</box>", "CCO"),
        ("```\n<box>CCO</box>\n```", "CCO"),
        ("<box>CC</box> or rather <box>CCO</box>, not <b>CCC</b>", "CCO"),
        ("I answer with <box>, so: <box>CCO</box>", "CCO"),
        ("<think><box>CC</box></think><box>CCO</box>", "CCO"),
        ("<box>CCO</box><think>or <box>CC</box>?</think>", "CCO"),
        ("<box>CCO</box>\n<thinking>or <box>CC</box>?", "CCO"),
        ("<think><box>C</box></think><box>CCO</box><think><box>CC</box>", "CCO"),
        ("<think>I begin. <box>CCO</box>", "CCO"),
        ("In <box></box>: <think>I begin. <box>CCO</box>", "CCO"),
        ("<think>I begin. <box>CCO</box></think>That is all.", "CCO"),
        ("<box>CC(=O)[O\u2212]</box>", "CC(=O)[O-]"),
        ("<box>\ufeffCC\u200bO\u2060</box>", "CCO"),
        ("<box>\u2028CC\u00a0</box>", "CC"),
        *(
            (f"<box>{quoted}</box>", "CCO")
            for quoted in ('"CCO"', "'CCO'.", "\u201cCCO.\u201d", "\u2018CCO\u2019", "\u00abCCO\u00bb")
        ),
        ("<box>C[N+](C)(C)CC(=O)[O-].[Na+]</box>", "C[N+](C)(C)CC(=O)[O-].[Na+]"),
        ("<box>Molecule SMILES</box>", "Molecule SMILES"),
        ("<box>CCO</box> then <box></box>", EMPTY_BOX),
        ("<box> . </box>", EMPTY_BOX),
        ("<box></box>", EMPTY_BOX),
        ("<box>CCO", OPEN_BOX),
        ("CCO</box>", NO_BOX),
        ("CCO", NO_BOX),
        ("", NO_BOX),
        ("box CCO box 🧪", NO_BOX),
    ],
)
def test_the_last_box_is_the_answer(reply: str, smiles: str | Rejection) -> None:
    assert built().read(request(), reply) == smiles


@pytest.mark.parametrize("before", ["", "<box>", "<box>C"])
@pytest.mark.parametrize("unit", ["<box>", "C", "</box>", "<", "<box", "</", "\n", "```smiles", "<box>```</box>"])
def test_a_flood_is_read_in_linear_time_and_proposes_nothing(unit: str, before: str) -> None:
    def read(flood: str) -> None:
        assert built().read(request(), flood) in (NO_BOX, EMPTY_BOX, OPEN_BOX)

    assert is_read_in_time(read, lambda size: f"{before}{unit * (size // len(unit))}<box> . </box>")


@pytest.mark.parametrize("unit", ["`", "```", "```a", "```a ", "C.", " .", ". \n"])
def test_a_box_with_a_flood_is_read_in_linear_time(unit: str) -> None:
    assert is_read_in_time(
        lambda reply: built().read(request(), reply), lambda size: f"<box>{unit * (size // len(unit))}</box>"
    )
