"""The parser of equations, the one place that decides whether two equations of a search are the same."""

import hashlib
from collections.abc import Sequence

from evodiverse.tasks.equations.permitted import NO_LIMIT, Permitted
from evodiverse.tasks.equations.skeleton import SkeletonError, read_skeleton
from evodiverse.vocabulary import Hypothesis, Reason, Rejection


def parse_equation(text: str, variables: Sequence[str], permitted: Permitted = NO_LIMIT) -> Hypothesis | Rejection:
    """Return the equation that a Python program defines, or the reason for its rejection.

    The equation is returned in canonical form, as the source of one function. The key is the SHA-256 of this source.
    """
    try:
        source = read_skeleton(text, variables).source
    except SkeletonError as error:
        return Rejection(Reason.UNPARSABLE, str(error))
    if (fault := permitted.find_fault(source)) is not None:
        return Rejection(Reason.UNPARSABLE, fault)
    return Hypothesis(source, hashlib.sha256(source.encode()).hexdigest())
