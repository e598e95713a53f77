"""How a language model is asked for an equation, and how its answer is read, in the manner of LLM-SR."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Final

from evodiverse.kit.inputs import expanded
from evodiverse.kit.templates import read_templates
from evodiverse.tasks.equations.initial import initial_skeletons
from evodiverse.tasks.equations.problems import Variable
from evodiverse.tasks.equations.prompts.replies import read_reply
from evodiverse.tasks.equations.skeleton import MAX_PARAMS, NAME, PARAMS
from evodiverse.vocabulary import Candidate, Message, Rejection, Request

SHIPPED: Final = Path(__file__).parent
# The templates, each with the fields that it must have; a ? marks those that it may leave out.
FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "system": ("target", "variables", "max_params?"),
        "task": ("earlier", "header", "name?"),
    }
)


class EquationPrompts:
    """The one prompt of all rungs, filled from template files.

    Args:
        templates: Text by name; see `FIELDS`.
        target: What is to be explained.
        variables: What it is explained by, in the order of an equation's arguments.
        unit: That of the errors shown, such as "in units of the target's variance".
    """

    def __init__(
        self, templates: Mapping[str, str], target: Variable, variables: Sequence[Variable], unit: str
    ) -> None:
        self._names = tuple(variable.name for variable in variables)
        self._unit = unit
        self._task = Template(templates["task"])
        self._system = (
            Template(templates["system"])
            .substitute(target=_describe(target), variables=_list(variables), max_params=MAX_PARAMS)
            .strip()
        )
        self.example = initial_skeletons(self._names)[0]
        texts = [self._system, unit, *(templates[name] for name in FIELDS)]
        self.sha256 = hashlib.sha256("\0".join(texts).encode()).hexdigest()

    def messages(self, request: Request) -> tuple[Message, ...]:
        """Return two messages: what is looked for, and the parents as versions of a function that goes on."""
        versions = _versions(request)
        earlier = [self._define(name, self._error(parent), _body(parent)) for name, parent in versions.items()]
        name = _next(versions)
        header = self._define(name, f"Improved version of `{list(versions)[-1]}`.")
        text = self._task.substitute(earlier="\n\n\n".join(earlier), header=header, name=name)
        return (Message("system", self._system), Message("user", text.strip()))

    def read(self, request: Request, reply: str) -> str | Rejection:
        """Return the equation that a reply proposes, with the functions that it calls; a parent by its name there."""
        versions = _versions(request)
        earlier = {name: parent.genotype for name, parent in versions.items()}
        return read_reply(reply, self._names, earlier, _next(versions))

    def _define(self, name: str, docstring: str, body: str = "") -> str:
        arguments = ", ".join([*self._names, PARAMS])
        return f'def {name}({arguments}):\n    """{docstring}"""\n{body}'.rstrip()

    def _error(self, parent: Candidate) -> str:
        error = 0.0 if parent.score is None else 0.0 - parent.score
        return f"Mean squared error {error:.6g} {self._unit}".strip() + "."


def build(
    folder: str | None, target: Variable, variables: Sequence[Variable], unit: str = "in units of the target's variance"
) -> EquationPrompts:
    """Return the prompts from the shipped templates or those that ``task.prompts.dir`` names; see `EquationPrompts`.

    Raises:
        InputError: The user's own templates cannot be used.
    """
    templates = read_templates(SHIPPED if folder is None else expanded(folder), FIELDS)
    return EquationPrompts(templates, target, variables, unit)


def _versions(request: Request) -> dict[str, Candidate]:
    """Return the parents by the names that they are shown with, worst first."""
    parents = sorted(request.parents, key=lambda parent: (0.0 if parent.score is None else parent.score, parent.call))
    return {f"{NAME}_v{number}": parent for number, parent in enumerate(parents)}


def _next(versions: Mapping[str, Candidate]) -> str:
    return f"{NAME}_v{len(versions)}"


def _body(parent: Candidate) -> str:
    return parent.genotype.partition("\n")[2]


def _list(variables: Sequence[Variable]) -> str:
    return "\n".join(f"- {_describe(variable)}" for variable in variables)


def _describe(variable: Variable) -> str:
    """Return a line about a variable, whatever its meaning holds."""
    name, meaning = (" ".join(text.split()) for text in variable)
    return f"{name}: {meaning}" if meaning else name
