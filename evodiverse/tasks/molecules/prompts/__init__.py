"""Prompts that ask a language model for a molecule, and the parsing of its replies (paper, appendix "Prompts")."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

from evodiverse.errors import InputError
from evodiverse.kit import inputs
from evodiverse.tasks.molecules.filters.settings import read_filters
from evodiverse.tasks.molecules.objective.objective import describe_parts, read_objective
from evodiverse.tasks.molecules.oracle import PUBLISHED
from evodiverse.tasks.molecules.scaffold import read_scaffold
from evodiverse.tasks.molecules.settings import MoleculeSettings
from evodiverse.text import TYPOGRAPHY, find_answers
from evodiverse.vocabulary import Message, Prompt, Reason, Rejection, Request

SHIPPED = Path(__file__).parent
FIELDS = ("score?", "meaning?", "parents")
_CLOSING = re.compile("</box>", re.IGNORECASE)
_AROUND = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\"'"
_FENCE = re.compile(r"```(?:[a-z]+[ \t]*\n)?|`")


class MoleculePrompts:
    """The prompts that ask a language model for a molecule, filled in from template files.

    There are two prompts, cold and hot. The coldest pool (that with the lowest temperature) uses the cold one;
    ``method.hot_prompt`` sets which one all other pools use.

    Args:
        templates: The template of each prompt (see `read_templates`).
        target: The name of the target of the score, such as JNK3.
        meaning: One sentence on what the score measures.
        rules: The conditions that molecules must meet, placed below the parents; may be empty.
    """

    example = "CC(C)Nc1ncc2c(n1)-c1cc(F)ccc1C(=O)N2"

    def __init__(self, templates: Mapping[str, str], target: str, meaning: str, rules: str = "") -> None:
        self._templates = {prompt: Template(text) for prompt, text in templates.items()}
        self._score = f"{target} score"
        self._meaning = meaning
        self._rules = f"\n\n{rules}" if rules else ""
        self.sha256 = hashlib.sha256("\0".join(templates[prompt] for prompt in sorted(templates)).encode()).hexdigest()

    def messages(self, request: Request) -> tuple[Message, ...]:
        """Return the prompt that the request names, with its parents and their scores, as one message."""
        parents = "\n".join(f"{each.genotype}, {each.score:.4f}" for each in request.parents) + self._rules
        text = self._templates[request.prompt].substitute(score=self._score, meaning=self._meaning, parents=parents)
        return (Message("user", text.strip()),)

    def read(self, request: Request, reply: str) -> str | Rejection:  # noqa: ARG002 (other domains need the parents)
        """Return the content of the last closed ``<box>`` of a reply's answer, without code fences, quotes and periods.

        A box in the reasoning of a model counts only if the last other one is empty, or if there is no other. A reply
        without a closed box, or with an empty last box, is rejected.
        """
        box = None
        for answer in (*find_answers(reply), reply):
            opened = re.split("<box>", answer, flags=re.IGNORECASE)[1:]
            boxes = (_CLOSING.split(box, maxsplit=1)[0] for box in reversed(opened) if _CLOSING.search(box))
            box = next(boxes, box)
            if text := _FENCE.sub("", box or "").translate(TYPOGRAPHY).lstrip(_AROUND).rstrip(f"{_AROUND}."):
                return text
        instead = "an empty <box>" if box is not None else "a <box> that is not closed" if opened else "no <box>"
        return Rejection(Reason.NO_ANSWER, f"the reply proposes nothing: {instead}")


def read_templates(folder: str | Path | None) -> dict[str, str]:
    """Return the templates of a folder, ``cold.txt`` and ``hot.txt``; None is the folder of EvoDiverse's own.

    Raises:
        InputError: A template is missing, has no field for the parents, or names an unknown field. The message
            lists all faults.
    """
    return inputs.read_templates(SHIPPED if folder is None else inputs.expanded(folder), dict.fromkeys(Prompt, FIELDS))


def build(settings: MoleculeSettings) -> MoleculePrompts:
    """Return the prompts that the settings describe.

    Raises:
        InputError: The user's templates cannot be used. Or the prompts are to name the target of the user's own oracle,
            but the name of the target, or the sentence on what the oracle measures, is not set.
    """
    filters = read_filters(settings.filters)
    scaffold = read_scaffold(settings.scaffold, settings.max_heavy_atoms)
    rules = "\n".join(condition.describe() for condition in (scaffold, filters) if condition is not None)
    return MoleculePrompts(read_templates(settings.prompts.dir), *_describe_score(settings), rules)


def _describe_score(settings: MoleculeSettings) -> tuple[str, str]:
    """Return what prompts say about the score: the name of its target, and one sentence on what the score measures.

    Raises:
        InputError: Prompts are to name the target, but the user set no target or no meaning for their own oracle. There
            are no defaults for these, because the words of a published oracle would mislead the language model.
    """
    told = settings.prompts
    if not told.name_target:
        return "target", "It measures how well a molecule acts on a target that is not named."
    target, meaning = told.target, told.meaning
    published = None if settings.oracle.is_own else PUBLISHED.get(str(settings.oracle.published))
    if settings.objective:
        target, meaning = target or "objective", meaning or describe_parts(*read_objective(settings.objective))
    elif published:
        target, meaning = target or published.target, meaning or published.meaning
    if target is None or meaning is None:
        needed = (
            ("target", target, "the name of the target of your own oracle"),
            ("meaning", meaning, "one sentence on what your own oracle measures"),
        )
        absent = [f"task.prompts.{key} has no value; set it to {what}" for key, value, what in needed if value is None]
        raise InputError(*(f"{line}, or set task.prompts.name_target=false" for line in absent))
    return target, meaning
