"""Which equations a user permits: the operations that they may use, and their largest size."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from evodiverse.kit.documented import join_or, nearest
from evodiverse.tasks.equations.front import measure_complexity
from evodiverse.tasks.equations.operators.trees import COMPARISONS, CONJUNCTIONS, Node, read_tree
from evodiverse.tasks.equations.skeleton import FUNCTIONS

_SAME: Final = {
    "subtract": "add",
    **dict.fromkeys(("true_divide", "reciprocal"), "divide"),
    **dict.fromkeys((*COMPARISONS, *CONJUNCTIONS), "where"),
    **dict.fromkeys(("abs", "fabs"), "absolute"),
    "square": "multiply",
    "float_power": "power",
}
"""The operations that count as another one."""

_ALIKE: Final = {one: {name for name in FUNCTIONS if _SAME.get(name, name) == _SAME.get(one, one)} for one in FUNCTIONS}
"""All operations that count as the same one."""

_FREE: Final = ("negative", "positive", "ones_like", "zeros_like")
"""Operations that are always permitted, since a constant may do the same."""

_NAMES: Final = [name for name in FUNCTIONS if name not in _FREE]


class Permitted(NamedTuple):
    """The limits on equations.

    Attributes:
        allow: The names of all operations that an equation may use; None for no limit.
        deny: The names of the operations that it may not use.
        max_size: The largest complexity, see `measure_complexity`; None for no limit.
    """

    allow: Sequence[str] | None = None
    deny: Sequence[str] = ()
    max_size: int | None = None

    def permits(self, operation: str) -> bool:
        """Return whether an equation may use an operation, given by its name in numpy."""
        is_allowed = self.allow is None or not _ALIKE[operation].isdisjoint(self.allow)
        return operation in _FREE or (is_allowed and _ALIKE[operation].isdisjoint(self.deny))

    def find_fault(self, source: str) -> str | None:
        """Return why an equation is not permitted, or None if it is.

        Args:
            source: The equation as a skeleton in canonical form.
        """
        if self == NO_LIMIT:
            return None
        try:
            used = [_list_operations(node) for _, node, _ in read_tree(source).places()]
        except RecursionError:
            return "it is too large to see whether its operations and its size are permitted"
        refused = dict.fromkeys(join_or(names) for names in used if names and not any(map(self.permits, names)))
        if refused:
            return f"it uses {', '.join(refused)}, which task.operators does not permit"
        if self.max_size is not None and (size := measure_complexity(source)) > self.max_size:
            return f"its size is {size}, but task.max_size={self.max_size}"
        return None

    def describe(self) -> str:
        """Return the limits as a part of a prompt; empty if there are none."""
        lines = [] if self.allow is None else [f"It may use only these operations: {', '.join(self.allow)}."]
        lines += [f"It must not use {join_or(self.deny)}."] if self.deny else []
        if self.max_size is not None:
            lines.append(f"It has at most {self.max_size} operations, variables, numbers and parameters in total.")
        return list_in_prompt("Limits of the formula", lines)

    def find_violations(self) -> list[str]:
        """Return a message for each name that is not an operation, or one if no operation is left."""
        named = [("allow", name) for name in self.allow or ()] + [("deny", name) for name in self.deny]
        unknown = [
            f"task.operators.{key}: {name} is not an operation; {nearest(name, _NAMES)}"
            for key, name in named
            if name not in _NAMES
        ]
        if unknown or any(map(self.permits, _NAMES)):
            return unknown
        return ["task.operators leaves no operation; allow more, or deny fewer"]


NO_LIMIT: Final = Permitted()


def list_in_prompt(heading: str, lines: Sequence[str]) -> str:
    """Return a part of a prompt with a heading and a list; empty if there are no lines."""
    return "\n".join([f"# {heading}", "", *(f"- {line}" for line in lines)]) if lines else ""


def _list_operations(node: Node) -> Sequence[str]:
    """Return the operations of which one must be permitted for an expression: a whole power is also a product."""
    if not node.arguments:
        return ()
    if node.operation == "power":
        exponent, sign = node.arguments[1], 1
        if exponent.operation == "negative":
            exponent, sign = exponent.arguments[0], -1
        if exponent.operation == "number" and float(exponent.value).is_integer():
            return ("power", "multiply" if sign * float(exponent.value) > 0 else "divide")
    return (node.operation,)
