"""The skeletons (formulas of the variables and of parameters to fit) that a search starts from."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from evodiverse.errors import InputError
from evodiverse.kit.inputs import expanded
from evodiverse.kit.tables import TextFile
from evodiverse.tasks.equations.permitted import NO_LIMIT, Permitted
from evodiverse.tasks.equations.skeleton import MAX_PARAMS, PARAMS, SkeletonError, read_skeleton, write_function

MAX_SHOWN: Final = 5


def read_equations(path: str, variables: Sequence[str], permitted: Permitted = NO_LIMIT) -> list[str]:
    """Return the equations in a user's text file as skeletons, in the canonical form that `read_skeleton` writes.

    A skeleton is an equation with free parameters, given as the source code of a Python function. Its canonical form
    has no loops or unused assignments, and its parameters are numbered in order of appearance.

    Each line of the file holds the right-hand side of an equation; comments begin with ``#``.

    Raises:
        InputError: The file cannot be read, holds no equation, or has lines that are invalid or not permitted. The
            messages name the first `MAX_SHOWN` such lines.
    """
    text = "".join(text for _, text in TextFile(expanded(path), "task.initial.path").texts())
    sources, malformed = [], []
    for number, line in enumerate(text.splitlines(), start=1):
        right = line.partition("#")[0].strip()
        if right:
            try:
                sources.append(read_skeleton(write_function(variables, right), variables).source)
                fault = permitted.find_fault(sources[-1])
                why = "" if fault is None else f"is not permitted: {fault}"
            except SkeletonError as error:
                own = re.sub(r"^line 2: | \(detected at line 2\)$", "", str(error))  # the line in the function
                why = f"is not an equation ({own})"
            malformed += [f"task.initial.path: {path} line {number} {why}"] if why else []
    if malformed:
        raise InputError(*malformed[:MAX_SHOWN])
    if not sources:
        raise InputError(f"task.initial.path: {path} holds no equation; write one on each line")
    return sources


def initial_skeletons(variables: Sequence[str], permitted: Permitted = NO_LIMIT) -> list[str]:
    """Return a linear and a quadratic skeleton of the variables, or of the first nine if there are more.

    The quadratic skeleton includes the linear terms, unless it would then have more than `MAX_PARAMS` parameters. Each
    of the two is shortened until it is permitted: terms are left out, then its last constant and its factors.
    """
    some = variables[: MAX_PARAMS - 1]
    squares = [f"{name}**2" for name in some]
    quadratic = [*some, *squares] if 2 * len(some) < MAX_PARAMS else squares
    return [
        next(source for source in _shorten(variables, terms) if permitted.find_fault(source) is None)
        for terms in (some, quadratic)
    ]


def _shorten(variables: Sequence[str], terms: Sequence[str]) -> Iterator[str]:
    """Yield the sum of terms with free factors and a constant, then shorter ones; the last one is a variable."""
    scaled = [f"{PARAMS}[{at}] * {term}" for at, term in enumerate(terms)]
    sums = [[*scaled[:n], f"{PARAMS}[{n}]"] for n in range(len(terms), 0, -1)]
    for parts in (*sums, scaled[:1], terms[-1:], terms[:1]):
        yield write_function(variables, " + ".join(parts))
