"""Sums and differences: a program constructs a set of integers that has many differences and few sums."""

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate
from math import comb
from typing import Any, Final, TypeAlias

from evodiverse.tasks.programs.exact import Construction

Form: TypeAlias = tuple[Sequence[int], int, int]
"""A set: the sums of weights that take each weight from 0 to ``cap`` times, and at most ``total`` weights in all."""

MOST_WEIGHTS: Final = 100
MOST_IN_TOTAL: Final = 1_000
MOST_ELEMENTS: Final = 10_000
MOST_STEPS: Final = 1_000_000


def find_exponent(form: Form) -> Fraction:
    """Return the bound 1 + log(\\|U-U\\| / \\|U+U\\|) / log(2 max(U) + 1) of a set U, rounded down after 40 digits.

    Raises:
        ValueError: The set is larger than can be measured.
    """
    n_sums, n_differences, largest = measure_set(form)
    with localcontext(prec=50):
        gain = Decimal(n_differences).ln() - Decimal(n_sums).ln()
        # The error of the quotient is far below the unit that is subtracted.
        return max(1 + Fraction(gain / Decimal(2 * largest + 1).ln()) - Fraction(1, 10**40), Fraction(0))


def measure_set(form: Form) -> tuple[int, int, int]:
    """Return the number of sums and of differences of two elements of a set, and the largest element.

    Raises:
        ValueError: The set is larger than can be measured.
    """
    weights, cap, total = form
    ascending = sorted(weights)
    below = accumulate(ascending, initial=0)
    if all(weight > 2 * cap * smaller for weight, smaller in zip(ascending, below, strict=False)):
        return _count_digits(ascending, cap, total)
    elements = list_elements(form)
    largest = max(elements)
    if len(elements) * largest > 10**10:
        raise ValueError("the set is too large to list its sums and differences")
    bits = sum(1 << element for element in elements)
    sums = differences = 0
    for element in elements:
        sums |= bits << element
        differences |= bits << (largest - element)
    return sums.bit_count(), differences.bit_count(), largest


def list_elements(form: Form) -> set[int]:
    """Return the elements of a set.

    Raises:
        ValueError: There are too many.
    """
    weights, cap, total = form
    if total == 1:
        return {0, *weights}
    fewest = {0: 0}  # the smallest number of weights that an element takes
    n_steps = 0
    for weight in weights:
        for element, taken in [(element, taken) for element, taken in fewest.items() if taken < total]:
            for times in range(1, min(cap, total - taken) + 1):
                new = element + times * weight
                fewest[new] = min(fewest.get(new, total), taken + times)
                n_steps += 1
                if len(fewest) > MOST_ELEMENTS or n_steps > MOST_STEPS:
                    raise ValueError("the set is too large to list its elements")
        n_steps += len(fewest)
    return set(fewest)


def _count_digits(ascending: Sequence[int], cap: int, total: int) -> tuple[int, int, int]:
    """Count sums and differences of a set whose weights are like places of digits, so that no two of them are equal.

    A sum has digits from 0 to ``2 * cap`` that add up to at most ``2 * total``. A difference has digits from ``-cap``
    to ``cap``; its positive digits add up to at most ``total``, and so do its negative ones.
    """
    n = len(ascending)
    if n > MOST_WEIGHTS or total > MOST_IN_TOTAL:
        raise ValueError(f"expected up to {MOST_WEIGHTS} weights and a total of up to {MOST_IN_TOTAL:,}")
    n_sums = count_vectors(0, 2 * cap, 2 * total, n)[n]
    one_sign = count_vectors(1, cap, total, n)
    n_differences = sum(
        comb(n, positive) * comb(n - positive, negative) * one_sign[positive] * one_sign[negative]
        for positive in range(n + 1)
        for negative in range(n - positive + 1)
    )
    # The largest element takes each of the largest weights as often as it may.
    largest = sum(max(min(cap, total - cap * place), 0) * one for place, one in enumerate(reversed(ascending)))
    return n_sums, n_differences, largest


def count_vectors(low: int, high: int, total: int, n: int) -> list[int]:
    """Return for 0 to ``n`` entries how many vectors of integers from ``low`` to ``high`` add up to at most ``total``.

    Args:
        low: The smallest entry, at least 0.
        high: The largest entry, at least ``low``.
        total: The largest sum, at least 0.
        n: The largest number of entries.
    """
    ways = [1] + [0] * total  # of each sum
    counts = [1]
    for _ in range(n):
        upto = list(accumulate(ways, initial=0))
        ways = [upto[max(place - low + 1, 0)] - upto[max(place - high, 0)] for place in range(total + 1)]
        counts.append(sum(ways))
    return counts


class SumsDifferences(Construction):
    """The evaluator of this task."""

    entry_point = "construct_set"
    quantity = "exponent"
    reference = 1.1584172816
    is_larger_better = True
    measure = staticmethod(find_exponent)

    def read(self, value: Any) -> Form:
        """Return the weights, the cap and the total."""
        match value:
            case [[_, *_] as weights, cap, total] if all(type(x) is int and x > 0 for x in [*weights, cap, total]):
                if len(weights) <= MOST_ELEMENTS and sum(x.bit_length() for x in [*weights, cap]) <= 10**6:
                    return weights, cap, total
                raise ValueError("the weights are too large")
        raise ValueError("the result is not a list of positive integers and two positive integers")
