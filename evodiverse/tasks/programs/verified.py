"""Results verified independently of their score, in exact arithmetic, and their distance from the best known value."""

import json
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

FILE: Final = "verified.json"


class BestKnown(NamedTuple):
    """The best published value.

    Attributes:
        value: The value in decimal, with all digits that were published.
        source: The publication of the value.
    """

    value: str
    source: str

    @property
    def unit(self) -> Fraction:
        """One unit of the last published digit.

        A record must be better by more than this, so that rounding alone cannot make a record.
        """
        return Fraction(10) ** int(Decimal(self.value).as_tuple().exponent)


class Verified(NamedTuple):
    """The exact value of a program's result.

    Attributes:
        quantity: The name of the measured quantity, with its unit if it has one.
        value: The value as an exact fraction, found or checked with code that shares nothing with the scoring.
        how: A description of the verifier's method.
        best_known: The best published value, or None if none is published.
        is_larger_better: Whether larger values are better.
    """

    quantity: str
    value: Fraction
    how: str
    best_known: BestKnown | None
    is_larger_better: bool = True

    @property
    def behind(self) -> Fraction | None:
        """The difference from the best known value: positive if this value is worse, negative if this value is better.

        The difference is None if no best known value is published.
        """
        if self.best_known is None:
            return None
        gap = Fraction(self.best_known.value) - self.value
        return gap if self.is_larger_better else -gap

    @property
    def is_record(self) -> bool:
        """Whether the value is better than the best known value by more than one unit of the last published digit."""
        behind = self.behind
        return self.best_known is not None and behind is not None and -behind > self.best_known.unit


def lay_out(verified: Verified) -> bytes:
    """Return the content of ``verified.json``: the value and its distance from the best known one, as JSON."""
    best_known, behind = verified.best_known, verified.behind
    content = {
        "quantity": verified.quantity,
        "value": float(verified.value),
        "verified_by": verified.how,
        "best_known": None if best_known is None else float(best_known.value),
        "source": None if best_known is None else best_known.source,
        "behind_by": None if behind is None else float(behind),
        "is_record": verified.is_record,
    }
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()
