"""The prompts that ask a language model for a program, and the reading of its replies (paper, appendix "Prompts")."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template
from types import MappingProxyType

from evodiverse.kit import templates
from evodiverse.kit.inputs import expanded
from evodiverse.kit.python import read_code
from evodiverse.tasks.programs.prompts.diffs import apply_blocks, describe_other, extract_program, find_blocks
from evodiverse.vocabulary import Candidate, Message, Prompt, Reason, Rejection, Request

SHIPPED = Path(__file__).parent
# The templates and their fields. A field with ? is optional; of fields joined by | at least one is required.
FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "system": ("description?", "entry_point?", "max_characters?"),
        "diff": ("current|program", "score?", "failure?", "goal?", "others?", "entry_point?", "max_characters?"),
        "rewrite": ("current|program", "score?", "failure?", "goal?", "others?", "entry_point?", "max_characters?"),
        "improve": ("entry_point?", "max_characters?"),
        "explore": ("entry_point?", "max_characters?"),
    }
)
OPTIONAL: Mapping[str, Path] = MappingProxyType({name: SHIPPED / f"{name}.txt" for name in ("improve", "explore")})
"""The shipped templates that replace those missing from a folder: the texts of ``$goal``."""
_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        Reason.TIMED_OUT: "Make it faster first, by a cheaper method, fewer iterations or arrays in place of loops.",
        Reason.OUT_OF_MEMORY: "Make it use less memory first.",
    }
)
_OTHERS = "# Other programs\n\nThey are here for inspiration. What you change is the program to edit, below them."
_MAX_ERROR = 500


class ProgramPrompts:
    """The prompts that ask a language model for a program, filled from template files.

    Args:
        templates: The template texts by name; see `read_templates`.
        description: A description of the problem, the scoring and what a program may use.
        entry_point: The function that a program must define.
        max_characters: The length above which a program is rejected.
        example: A program of typical length, from which costs are estimated.
        mode: How a model is to answer: ``diff``, ``rewrite``, or ``mixed`` for either with equal probability.
        hot: What a request with `Prompt.HOT` asks for: ``same`` (the same as with `Prompt.COLD`), or ``explore``
            (another construction).
    """

    def __init__(
        self,
        templates: Mapping[str, str],
        description: str,
        entry_point: str,
        max_characters: int,
        example: str,
        *,
        mode: str,
        hot: str,
    ) -> None:
        self._templates = {name: Template(text) for name, text in templates.items()}
        self._entry_point = entry_point
        self._max_characters = max_characters
        self._mode = mode
        self._hot = hot
        self._system = self._fill("system", description=description.strip())
        self.example = example
        texts = [description, *(templates[name] for name in sorted(templates))]
        self.sha256 = hashlib.sha256("\0".join(texts).encode()).hexdigest()

    def messages(self, request: Request) -> tuple[Message, ...]:
        """Return two messages: the task, then the other programs and the program to edit, each with its score."""
        explores = self._hot == "explore" and request.prompt is Prompt.HOT
        goal = self._fill("explore" if explores else "improve")
        parent = request.parents[0]
        text = self._fill(
            self._format(request),
            current=_current(request),
            program=parent.genotype.rstrip(),
            score=_show_score(parent),
            failure=_describe_failure(parent),
            others=_others(request),
            goal=goal,
        )
        return (Message("system", self._system), Message("user", text))

    def read(self, request: Request, reply: str) -> str | Rejection:
        """Return the program that a reply proposes, or the reason why it proposes none.

        Any SEARCH/REPLACE blocks of the reply are applied to the first parent, even if the model was asked for a whole
        program. A reply without blocks must hold a whole program. A model's reasoning is ignored.
        """
        return read_code(reply, lambda answer: self._read_answer(request, answer))

    def _read_answer(self, request: Request, answer: str) -> str | Rejection:
        blocks = find_blocks(answer)
        if isinstance(blocks, Rejection):
            return blocks
        if blocks:
            return apply_blocks(request.parents[0].genotype, blocks)
        program = extract_program(answer, self._entry_point)
        if program is not None:
            return program
        instead = describe_other(answer, self._entry_point)
        return Rejection(Reason.NO_ANSWER, f"the reply proposes nothing: {instead}")

    def _format(self, request: Request) -> str:
        if self._mode == "mixed":
            return "diff" if request.stream.rng().random() < 0.5 else "rewrite"
        return self._mode

    def _fill(self, name: str, **fields: str) -> str:
        text = self._templates[name].substitute(
            fields, entry_point=self._entry_point, max_characters=self._max_characters
        )
        return text.strip()


def read_templates(folder: Path) -> dict[str, str]:
    """Return the templates of a folder by name, each a ``.txt`` file: system, diff, rewrite, improve and explore.

    The last two may be missing; see `OPTIONAL`.

    Raises:
        InputError: A template is missing, does not use a required field, or uses an unknown one. The message lists all
            violations.
    """
    return templates.read_templates(folder, FIELDS, OPTIONAL)


def build(
    folder: str | None, description: str, entry_point: str, max_characters: int, example: str, *, mode: str, hot: str
) -> ProgramPrompts:
    """Return the prompts with the templates of a folder.

    Args:
        folder: The folder with the user's own templates; None for the shipped ones.
        description: A description of the problem, the scoring and what a program may use.
        entry_point: The function that a program must define.
        max_characters: The length above which a program is rejected.
        example: A program of typical length, from which costs are estimated.
        mode: How a model is to answer; see `ProgramPrompts`.
        hot: What a request with `Prompt.HOT` asks for; see `ProgramPrompts`.

    Raises:
        InputError: The user's own templates cannot be used.
    """
    templates = read_templates(SHIPPED if folder is None else expanded(folder))
    return ProgramPrompts(templates, description, entry_point, max_characters, example, mode=mode, hot=hot)


def fill_description(task: str, **fields: object) -> str:
    """Return the text ``description.txt`` of a task that comes with EvoDiverse, with its fields filled in."""
    template = Template((SHIPPED.parent / task / "description.txt").read_text(encoding="utf-8"))
    return template.substitute(fields).strip()


def _current(request: Request) -> str:
    parent = request.parents[0]
    remedy = _REMEDIES.get(parent.error.partition(":")[0], "Fix this first.") if parent.error else ""
    return _section("# The program to edit" + _mark(parent, request), parent, remedy)


def _others(request: Request) -> str:
    """Return the prompt's section with the programs other than the one to edit; empty if there are none.

    These are all parents but the first, which the prompt calls inspirations, and the best program of the pool unless it
    failed or is a parent.
    """
    best, inspirations = request.best, request.parents[1:]
    sections = [
        _section(f"## Inspiration {number}{_mark(parent, request)}", parent)
        for number, parent in enumerate(inspirations, 1)
    ]
    if best is not None and not best.error and best.key not in {parent.key for parent in request.parents}:
        sections.append(_section("## The best so far", best))
    return "\n\n".join([_OTHERS, *sections]) if sections else ""


def _mark(parent: Candidate, request: Request) -> str:
    is_best = request.best is not None and request.best.key == parent.key and not parent.error
    return " (the best so far)" if is_best else ""


def _section(heading: str, candidate: Candidate, remedy: str = "") -> str:
    """Return a program under a heading, with its score (six decimals) and the reason why it failed."""
    failure = _describe_failure(candidate)
    told = f"\n{failure} {remedy}".rstrip() if failure else ""
    return f"{heading}\n\nScore: {_show_score(candidate)}{told}\n\n{_fence(candidate.genotype)}"


def _show_score(candidate: Candidate) -> str:
    return f"{0.0 if candidate.score is None else candidate.score:.6f}"


def _describe_failure(candidate: Candidate) -> str:
    """Return the reason why a program failed; empty if it did not fail."""
    kind, colon, detail = " ".join(candidate.error.split())[:_MAX_ERROR].partition(": ")
    return f"It failed ({kind.replace('_', ' ')}){colon}{detail}." if kind else ""


def _fence(source: str) -> str:
    """Return the source in a code fence that is longer than any fence in it."""
    marks = "`" * (1 + max([2, *map(len, re.findall("`+", source))]))
    return f"{marks}python\n{source.rstrip()}\n{marks}"
