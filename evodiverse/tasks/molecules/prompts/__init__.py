"""How a language model is asked for a molecule, and how its answer is read (paper, appendix "Prompts")."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

from evodiverse import templates
from evodiverse.tasks.molecules.settings import PromptSettings
from evodiverse.vocabulary import Candidate, Message, Prompt, Reason, Rejection, Request

SHIPPED = Path(__file__).parent
FIELDS = ("score?", "meaning?", "parents")
_OPENING = re.compile("<box>", re.IGNORECASE)
_CLOSING = re.compile("</box>", re.IGNORECASE)
_FENCE = re.compile(r"```(?:[a-z]+[ \t]*\n)?|`")


class MoleculePrompts:
    """The prompts of the cold and the hot rungs, filled from template files.

    Args:
        templates: Text by the name of the prompt; see `read_templates`.
        target: What the score is about, such as JNK3.
        meaning: One sentence on what the score measures.
        name_target: False hides both, to measure what a model knows by heart.
    """

    example = "CC(C)Nc1ncc2c(n1)-c1cc(F)ccc1C(=O)N2"

    def __init__(self, templates: Mapping[Prompt, str], target: str, meaning: str, *, name_target: bool) -> None:
        self._templates = {prompt: Template(text) for prompt, text in templates.items()}
        self._score = f"{target} score" if name_target else "target score"
        self._meaning = (
            meaning if name_target else "It measures how well a molecule acts on a target that is not named."
        )
        self.sha256 = hashlib.sha256("\0".join(templates[prompt] for prompt in sorted(templates)).encode()).hexdigest()

    def messages(self, request: Request) -> tuple[Message, ...]:
        """Return one message: the prompt of the request's rung with its parents and their scores."""
        parents = "\n".join(map(_line, request.parents))
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


def build(settings: PromptSettings) -> MoleculePrompts:
    """Return the prompts that the settings name.

    Raises:
        InputError: The user's own templates cannot be used.
    """
    folder = SHIPPED if settings.dir is None else Path(settings.dir).expanduser()
    return MoleculePrompts(read_templates(folder), settings.target, settings.meaning, name_target=settings.name_target)


def _line(parent: Candidate) -> str:
    return f"{parent.genotype}, {parent.score:.4f}"
