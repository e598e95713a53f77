"""The prompts that ask a language model for an equation, in the manner of LLM-SR, and the reading of replies."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Final

from evodiverse.errors import InputError
from evodiverse.kit.inputs import expanded, read_templates
from evodiverse.tasks.equations.initial import initial_skeletons
from evodiverse.tasks.equations.permitted import NO_LIMIT, Permitted
from evodiverse.tasks.equations.problems import Variable
from evodiverse.tasks.equations.prompts.replies import read_reply
from evodiverse.tasks.equations.skeleton import MAX_PARAMS, NAME, PARAMS
from evodiverse.vocabulary import Candidate, Message, Rejection, Request

SHIPPED: Final = Path(__file__).parent
_PROBLEM: Final = ("target?", "target_name?", "variables?", "variable_names?", "max_params?")
_FUNCTION: Final = ("name?", "previous?", "arguments|typed_arguments", *_PROBLEM)
_PARENT: Final = (*_FUNCTION, "body", "error?", "score?", "number?")
# The fields of each template. A ? marks an optional field. Of two fields joined by |, at least one is required.
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "system": _PROBLEM,  # not sent if empty
    "task": ("earlier", "header", "name?", *_PROBLEM),
    "variable": ("variable|described", "meaning?"),  # a line of $variables
    "first": _PARENT,  # the first function shown
    "version": _PARENT,  # the functions after it
    "header": _FUNCTION,  # the function to be written
}
# The fields that the system message or the task must use: one of each pair.
_TOLD: Final = (("target", "target_name"), ("variables", "variable_names"))


class EquationPrompts:
    """Prompts for equations, filled from templates.

    All pools of a search get the same templates, whatever their temperature.

    Args:
        templates: The text of each template, by name; see `FIELDS`.
        target: The column to be explained.
        variables: The columns that explain it, in the order of an equation's arguments.
        unit: The unit of the errors shown, such as "in units of the target's variance".
        permitted: The limits on equations, which are added to the system message.
        required: What else is required of them, likewise.
    """

    def __init__(
        self,
        templates: Mapping[str, str],
        target: Variable,
        variables: Sequence[Variable],
        unit: str,
        permitted: Permitted = NO_LIMIT,
        required: str = "",
    ) -> None:
        self._names = tuple(variable.name for variable in variables)
        self._unit = unit
        self._templates = {name: Template(text) for name, text in templates.items()}
        line = Template(templates["variable"].rstrip("\n"))
        flat = [_flatten(variable) for variable in variables]
        listed = [line.substitute(variable=one.name, meaning=one.meaning, described=_describe(one)) for one in flat]
        self._problem: dict[str, object] = {
            "target": _describe(target),
            "target_name": target.name,
            "variables": "\n".join(listed),
            "variable_names": ", and ".join(filter(None, (", ".join(self._names[:-1]), self._names[-1]))),
            "max_params": MAX_PARAMS,
        }
        self._system = "\n\n".join(filter(None, [self._fill("system"), permitted.describe(), required]))
        self.example = initial_skeletons(self._names, permitted)[0]
        texts = [self._system, unit, *(templates[name] for name in FIELDS)]
        self.sha256 = hashlib.sha256("\0".join(texts).encode()).hexdigest()

    def messages(self, request: Request) -> tuple[Message, ...]:
        """Return the system message, unless it is empty, and the user message.

        The user message is the filled template ``task``. It shows the parents as earlier versions of the function.
        """
        versions, asked = _versions(request)
        names = [*versions, asked]
        earlier = [
            self._show("version" if at else "first", at, names, self._measure(parent, at))
            for at, parent in enumerate(versions.values())
        ]
        header = self._show("header", len(versions), names, {})
        text = self._fill("task", earlier="\n\n\n".join(earlier), header=header, name=names[-1])
        messages = (Message("system", self._system), Message("user", text))
        return messages if self._system else messages[1:]

    def read(self, request: Request, reply: str) -> str | Rejection:
        """Return the equation that a reply proposes, or the reason why it proposes none.

        The returned source also has the functions that the equation calls. The reply may call the parents by the
        names that they have in the prompt.
        """
        versions, asked = _versions(request)
        return read_reply(reply, self._names, {name: one.genotype for name, one in versions.items()}, asked)

    def _show(self, template: str, at: int, names: Sequence[str], more: Mapping[str, object]) -> str:
        """Fill the template of one function: an earlier version, or the header of the next one.

        ``names`` are the names of all versions, and ``at`` is the index of this function among them. ``more`` has
        further fields of the template.
        """
        arguments = [*self._names, PARAMS]
        return self._fill(
            template,
            **more,
            name=names[at],
            previous=names[at - 1] if at else "",
            arguments=", ".join(arguments),
            typed_arguments=", ".join(f"{argument}: np.ndarray" for argument in arguments),
        )

    def _measure(self, parent: Candidate, number: int) -> dict[str, object]:
        error = 0.0 if parent.score is None else 0.0 - parent.score
        text = f"Mean squared error {error:.6g} {self._unit}".strip() + "."
        body = parent.genotype.partition("\n")[2]
        return {"number": number, "error": text, "score": f"{0.0 - error:.6g}", "body": body}

    def _fill(self, template: str, **fields: object) -> str:
        return self._templates[template].substitute(self._problem, **fields).strip()


def read_chosen(folder: str | None) -> dict[str, str]:
    """Return the templates in a folder (``task.prompts.dir``) or, if it is None, the shipped ones, by name.

    Raises:
        InputError: A template cannot be used, or neither of the templates ``system`` and ``task`` has a placeholder for
            the target, or neither has one for the variables.
    """
    chosen = SHIPPED if folder is None else expanded(folder)
    optional = {name: SHIPPED / f"{name}.txt" for name in ("variable", "version", "header")}
    own = chosen / "version.txt"
    templates = read_templates(chosen, FIELDS, optional | {"first": own if own.exists() else optional["version"]})
    used = {field for name in ("system", "task") for field in Template(templates[name]).get_identifiers()}
    untold = [" or $".join(names) for names in _TOLD if not used & set(names)]
    if untold:
        where = "in system.txt or task.txt"
        raise InputError(*(f"task.prompts.dir: {chosen} must use ${names} {where}" for names in untold))
    return templates


def _versions(request: Request) -> tuple[dict[str, Candidate], str]:
    """Return the parents by the names under which they are shown, the worst first, and the name of the next version."""
    parents = sorted(request.parents, key=lambda parent: (0.0 if parent.score is None else parent.score, parent.call))
    return {f"{NAME}_v{number}": parent for number, parent in enumerate(parents)}, f"{NAME}_v{len(parents)}"


def _flatten(variable: Variable) -> Variable:
    """Return a variable with its name, meaning and label each on a single line."""
    name, meaning, label = (" ".join(text.split()) for text in variable[:3])
    return Variable(name, meaning, label)


def _describe(variable: Variable) -> str:
    name, meaning, label, _ = _flatten(variable)
    told = meaning or ("" if label == name else label)
    return f"{name}: {told}" if told else name
