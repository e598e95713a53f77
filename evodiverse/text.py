"""Text: parts of messages, bars, text from elsewhere that is made safe to print, and the answer in a model's reply."""

import re
from collections.abc import Sequence
from typing import Final

_PLAIN: Final = {
    "-": "\u2010\u2011\u2012\u2013\u2212",
    '"': "\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02",
    "'": "\u2018\u2019\u201a\u201b\uff07",
    " ": "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
    "": "\u00ad\u200b\u200c\u200d\u2060\ufeff",  # invisible
}
TYPOGRAPHY: Final = str.maketrans({other: plain for plain, others in _PLAIN.items() for other in others})
"""A table for `str.translate`: the minus sign, dashes, quotation marks and spaces of print, as a keyboard has them."""

_THOUGHT = re.compile(r"(?<![\"'`])<think(?:ing)?>", re.IGNORECASE)
_END_OF_THOUGHT = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_BARS = "▁▂▃▄▅▆▇█"


def find_answers(reply: str) -> tuple[str, str, str]:
    """Return the parts of a model's reply that may be its answer, the likeliest first; some may be the same.

    Reasoning stands between ``<think>`` and ``</think>``. It may lack the first at the start of a reply, and the second
    at the end. The answer is what follows the reasoning, or else what surrounds it, or else reasoning without an end.
    """
    *pieces, last = _END_OF_THOUGHT.split(reply)
    before = [_THOUGHT.split(piece, maxsplit=1) for piece in pieces]
    after = _THOUGHT.split(last, maxsplit=1)[0]
    around = "".join([*(parts[0] for parts in before if len(parts) > 1), after])
    return after, around, last


def split_reasoning(reply: str) -> tuple[str, str]:
    """Return the reasoning with which a model's reply begins, and the rest; the reasoning is empty if it has no end.

    The rest has the same answers as the reply (`find_answers`).
    """
    first, *others = _END_OF_THOUGHT.split(reply, maxsplit=1)
    before, *thought = _THOUGHT.split(first, maxsplit=1)
    if not others or (thought and before.strip()):
        return "", reply
    return (thought or [before])[0].strip(), others[0]


def printable(text: str) -> str:
    """Return text in which characters that could control a terminal or hide other text are replaced by ``�``."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def count_of(n: int, what: str, plural: str = "") -> str:
    """Return a number with a noun, in the singular or plural; ``plural`` is needed if it is not formed with an s."""
    return f"{n:,} {what if n == 1 else plural or f'{what}s'}"


def one_line(text: str, most: int = 200) -> str:
    """Return the start of a text, at most ``most`` characters, as one line."""
    return " ".join(text.split())[:most]


def sparkline(values: Sequence[float], low: float | None = None, high: float | None = None) -> str:
    """Return a row of bars, one per value.

    Args:
        values: The values, at least one.
        low: The value of the lowest bar; by default the smallest of the values.
        high: The value of the highest bar; by default the largest of the values.
    """
    low = min(values) if low is None else low
    high = max(values) if high is None else high
    half = (high / 2 - low / 2) or 0.5  # halved, since the difference of two large numbers could overflow
    return "".join(_BARS[min(int((value / 2 - low / 2) / half * len(_BARS)), len(_BARS) - 1)] for value in values)
