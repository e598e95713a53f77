"""How a language model is asked for a molecule, and how its answer is read (paper, appendix "Prompts")."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

from evodiverse.errors import InputError
from evodiverse.kit import templates
from evodiverse.kit.inputs import expanded
from evodiverse.tasks.molecules.filters.settings import read_filters
from evodiverse.tasks.molecules.objective.objective import describe_parts
from evodiverse.tasks.molecules.objective.settings import read_objective
from evodiverse.tasks.molecules.oracle import PUBLISHED
from evodiverse.tasks.molecules.settings import MoleculeSettings, PromptSettings
from evodiverse.vocabulary import Candidate, Message, Prompt, Reason, Rejection, Request

SHIPPED = Path(__file__).parent
FIELDS = ("score?", "meaning?", "parents")
UNNAMED = ("target", "It measures how well a molecule acts on a target that is not named.")
"""The target and what its score measures, where a model is not to know them."""
_OPENING = re.compile("<box>", re.IGNORECASE)
_CLOSING = re.compile("</box>", re.IGNORECASE)
_FENCE = re.compile(r"```(?:[a-z]+[ \t]*\n)?|`")


class MoleculePrompts:
    """The prompts of the cold and the hot rungs, filled from template files.

    Args:
        templates: Text by the name of the prompt; see `read_templates`.
        target: What the score is about, such as JNK3.
        meaning: One sentence on what the score measures.
        rules: One sentence on what molecules must be like, told below the parents; empty for none.
    """

    example = "CC(C)Nc1ncc2c(n1)-c1cc(F)ccc1C(=O)N2"

    def __init__(self, templates: Mapping[Prompt, str], target: str, meaning: str, rules: str = "") -> None:
        self._templates = {prompt: Template(text) for prompt, text in templates.items()}
        self._score = f"{target} score"
        self._meaning = meaning
        self._rules = f"\n\n{rules}" if rules else ""
        self.sha256 = hashlib.sha256("\0".join(templates[prompt] for prompt in sorted(templates)).encode()).hexdigest()

    def messages(self, request: Request) -> tuple[Message, ...]:
        """Return one message: the prompt of the request's rung with its parents and their scores."""
        parents = "\n".join(map(_line, request.parents)) + self._rules
        template = self._templates[request.prompt]
        text = template.substitute(score=self._score, meaning=self._meaning, parents=parents)
        return (Message("user", text.strip()),)

    def read(self, request: Request, reply: str) -> str | Rejection:  # noqa: ARG002 (other domains need the parents)
        """Return what stands in the last box of a reply, without code fences, spaces and a period at its end."""
        opened = reversed(_OPENING.split(reply)[1:])
        boxes = (_CLOSING.split(box, maxsplit=1)[0] for box in opened if _CLOSING.search(box))
        text = _FENCE.sub("", next(boxes, "")).strip().rstrip(".").strip()
        return text or Rejection(Reason.NO_ANSWER, "the reply proposes nothing")


def read_templates(folder: Path) -> dict[Prompt, str]:
    """Return the templates of a folder, ``cold.txt`` and ``hot.txt``.

    Raises:
        InputError: One is missing, has no place for the parents, or names a field that there is not; names all.
    """
    texts = templates.read_templates(folder, dict.fromkeys(Prompt, FIELDS))
    return {prompt: texts[prompt] for prompt in Prompt}


def read_chosen(settings: PromptSettings) -> dict[Prompt, str]:
    """Return the templates that the settings name: the user's own, or ours.

    Raises:
        InputError: The user's own cannot be used.
    """
    return read_templates(SHIPPED if settings.dir is None else expanded(settings.dir))


def build(settings: MoleculeSettings) -> MoleculePrompts:
    """Return the prompts that the settings name.

    Raises:
        InputError: The user's own templates cannot be used, or the user's own oracle has no target and meaning.
    """
    filters = read_filters(settings.filters)
    rules = "" if filters is None else filters.describe()
    return MoleculePrompts(read_chosen(settings.prompts), *_describe_score(settings), rules)


def _describe_score(settings: MoleculeSettings) -> tuple[str, str]:
    """Return the target, and what its score measures, in the words that a model is told.

    Raises:
        InputError: They are needed for the user's own oracle, and absent: those of a published one would mislead.
    """
    told = settings.prompts
    if not told.name_target:
        return UNNAMED
    known_target, known_meaning = _find_known_words(settings)
    target, meaning = told.target or known_target, told.meaning or known_meaning
    if target is None or meaning is None:
        raise InputError(
            *(
                f"task.prompts.{key} has no value; tell the model {what}, or hide it with "
                "task.prompts.name_target=false"
                for key, value, what in (
                    ("target", target, "what your own oracle scores molecules for"),
                    ("meaning", meaning, "in one sentence what your own oracle measures"),
                )
                if value is None
            )
        )
    return target, meaning


def _find_known_words(settings: MoleculeSettings) -> tuple[str | None, str | None]:
    """Return target and meaning where EvoDiverse knows them: of an objective, and of a published oracle."""
    if settings.objective:
        return "objective", describe_parts(*read_objective(settings.objective))
    published = None if settings.oracle.is_own else PUBLISHED.get(str(settings.oracle.published))
    return (published.target, published.meaning) if published else (None, None)


def _line(parent: Candidate) -> str:
    return f"{parent.genotype}, {parent.score:.4f}"
