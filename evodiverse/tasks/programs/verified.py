"""What a result is worth once it was verified apart from the score, in exact arithmetic."""

import json
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

FILE: Final = "verified.json"


class BestKnown(NamedTuple):
    """The best value that anybody has published: with all the digits that were given, and where."""

    value: str
    source: str

    @property
    def unit(self) -> Fraction:
        """One unit of the last digit, which a value must be better by to be a record and no rounding."""
        return Fraction(10) ** int(Decimal(self.value).as_tuple().exponent)


class Verified(NamedTuple):
    """The exact value of what a program made.

    Attributes:
        quantity: What is measured, with its unit.
        value: What an independent verifier found, exactly.
        how: What the verifier did.
        best_known: None where nobody has published a value.
        is_larger_better: Whether large values are the good ones.
    """

    quantity: str
    value: Fraction
    how: str
    best_known: BestKnown | None
    is_larger_better: bool = True

    @property
    def behind(self) -> Fraction | None:
        """How far it is from the best known value, negative for a better one; None where there is none."""
        if self.best_known is None:
            return None
        gap = Fraction(self.best_known.value) - self.value
        return gap if self.is_larger_better else -gap

    @property
    def is_record(self) -> bool:
        """Whether it is better than the best known value, by more than a unit of that one's last digit."""
        behind = self.behind
        return self.best_known is not None and behind is not None and -behind > self.best_known.unit


def lay_out(verified: Verified) -> bytes:
    """Return a verified value as JSON, for a person."""
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
