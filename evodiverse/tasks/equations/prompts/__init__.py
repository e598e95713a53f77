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
        arguments = [*self._names, PARAMS]
        self._fields: dict[str, object] = {
            "target": _describe(target),
            "target_name": target.name,
            "variables": "\n".join(listed),
            "variable_names": ", and ".join(filter(None, (", ".join(self._names[:-1]), self._names[-1]))),
            "max_params": MAX_PARAMS,
            "arguments": ", ".join(arguments),
            "typed_arguments": ", ".join(f"{argument}: np.ndarray" for argument in arguments),
        }
        self._system = "\n\n".join(filter(None, [self._fill("system"), permitted.describe(), required]))
        self.example = initial_skeletons(self._names, permitted)[0]
        texts = [self._system, unit, *(templates[name] for name in FIELDS)]
        self.sha256 = hashlib.sha256("\0".join(texts).encode()).hexdigest()

    def messages(self, request: Request) -> tuple[Message, ...]:
        """Return the system message, unless it is empty, and the user message.

        The user message is the filled template ``task``. It shows the parents as earlier versions of the function.
        """
        parents = _rank(request)
        earlier = "\n\n\n".join(self._show(parent, number) for number, parent in enumerate(parents))
        header = self._fill("header", **_name(len(parents)))
        text = self._fill("task", earlier=earlier, header=header, name=f"{NAME}_v{len(parents)}")
        messages = (Message("system", self._system), Message("user", text))
        return messages if self._system else messages[1:]

    def read(self, request: Request, reply: str) -> str | Rejection:
        """Return the equation that a reply proposes, or the reason why it proposes none.

        The returned source also has the functions that the equation calls. The reply may call the parents by the
        names that they have in the prompt.
        """
        parents = _rank(request)
        earlier = {f"{NAME}_v{number}": parent.genotype for number, parent in enumerate(parents)}
        return read_reply(reply, self._names, earlier, f"{NAME}_v{len(parents)}")

    def _show(self, parent: Candidate, number: int) -> str:
        error = 0.0 if parent.score is None else 0.0 - parent.score
        return self._fill(
            "version" if number else "first",
            **_name(number),
            number=number,
            error=f"Mean squared error {error:.6g} {self._unit}".strip() + ".",
            score=f"{0.0 - error:.6g}",
            body=parent.genotype.partition("\n")[2],
        )

    def _fill(self, template: str, **fields: object) -> str:
        return self._templates[template].substitute(self._fields, **fields).strip()


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
    pairs = (("target", "target_name"), ("variables", "variable_names"))
    if untold := [" or $".join(pair) for pair in pairs if not used & set(pair)]:
        where = "in system.txt or task.txt"
        raise InputError(*(f"task.prompts.dir: {chosen} must use ${names} {where}" for names in untold))
    return templates


def _rank(request: Request) -> list[Candidate]:
    """Return the parents in the order in which they are shown, the worst first."""
    return sorted(request.parents, key=lambda parent: (0.0 if parent.score is None else parent.score, parent.call))


def _name(number: int) -> dict[str, str]:
    """Return the fields of a template with the name of a version of the function and of the version before it."""
    return {"name": f"{NAME}_v{number}", "previous": f"{NAME}_v{number - 1}" if number else ""}


def _flatten(variable: Variable) -> Variable:
    """Return a variable with its name, meaning and label each on a single line."""
    name, meaning, label = (" ".join(text.split()) for text in variable[:3])
    return Variable(name, meaning, label)


def _describe(variable: Variable) -> str:
    name, meaning, label, _ = _flatten(variable)
    told = meaning or ("" if label == name else label)
    return f"{name}: {told}" if told else name
