"""From text to an equation: the one place where identity is decided."""

import hashlib
from collections.abc import Sequence

from evodiverse.tasks.equations.skeleton import SkeletonError, read_skeleton
from evodiverse.vocabulary import Hypothesis, Reason, Rejection


def parse_equation(text: str, variables: Sequence[str]) -> Hypothesis | Rejection:
    """Return the skeleton that a text stands for, whose key is the SHA-256 of its source, or why it is none."""
    try:
        source = read_skeleton(text, variables).source
    except SkeletonError as error:
        return Rejection(Reason.UNPARSABLE, str(error))
    return Hypothesis(source, hashlib.sha256(source.encode()).hexdigest())
