"""The form in which an equation is shown: without parts that change nothing, and with no more digits than it needs.

A search does not mind a term of 1e-13, a factor ``tanh(a + 50)``, an exponent of 1.0000000001, or an absolute value of
something that is never negative in the data. Such parts are recognized by their effect on the predictions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import exp, inf, log
from typing import Final, NamedTuple

import numpy as np

from evodiverse.ports import Discovery
from evodiverse.tasks.equations.front import EXACT, SYMBOLS
from evodiverse.tasks.equations.operators.guided import LARGEST_FRACTION, nearest_fraction
from evodiverse.tasks.equations.operators.simplification import ABSOLUTE, factor_out, simplify
from evodiverse.tasks.equations.operators.trees import (
    SUMS,
    Kind,
    Node,
    build_product,
    build_total,
    call,
    number,
    parameter,
    read_tree,
    write_tree,
)
from evodiverse.tasks.equations.problems import FloatArray
from evodiverse.tasks.equations.report import read_params
from evodiverse.tasks.equations.skeleton import MAX_PARAMS
from evodiverse.vocabulary import Evaluation

N_ROWS: Final = 256
"""The number of rows on which edits are tried. Whether an edit stays depends on the errors on all training rows."""

MAX_SIZE: Final = 200
"""Equations with more nodes are not pruned, since the time grows faster than the square of this number."""

DIGITS: Final = range(4, 17)
"""The numbers of significant digits that are tried, the fewest first."""

# How far an edit may move the predictions (root mean square): by a share of the target's standard deviation plus a
# share of the equation's own error. The first shares are generous, to remove also what another constant makes up for
# once all are fitted again. If the error grows nevertheless, the edits are made with the next shares. The last one is
# that of errors that count as none.
_SHARES: Final = ((1e-4, 0.3), (1e-4, 0.01), (1e-7, 0.01), (EXACT**0.5, 0.01))
_DROP: Final = (0.0, 2.0)
"""The same for the removal of an addend or of a factor, before all constants are fitted again."""
N_REFITTED: Final = 3
"""The largest number of equations without an addend that are fitted again, and of those with a simpler one."""
_GROWTH: Final = 1.01
"""The factor by which the squared errors may always grow."""
_ROUNDINGS: Final = 8
"""The difference between two ways to compute the same predictions, in units of the rounding of the data."""

_CHOSEN_BY: Final = ("mse", "nmse_train", "nmse_held", "nmse_held_se", "description_length")
"""What an equation is chosen by. The last fit, also to the rows held back, does not change it."""

Columns = Mapping[str, FloatArray]
Rank = tuple[int, int]
"""The size of an equation, and the number of its parameters."""

Params = Sequence[float] | None
"""The values of an equation's parameters, or None if they are to be fitted."""

Assess = Callable[[str, Params], tuple[str, Evaluation]]
FitAll = Callable[[str, Sequence[float]], Sequence[float]] | None


class Formula(NamedTuple):
    """An expression and the values of its parameters, by their numbers."""

    tree: Node
    params: list[float]


class Pruner:
    """Prunes equations, and rounds their constants.

    Args:
        columns: The ``(n,)`` values of each variable in all training rows, by name.
        variance: The variance of the target.
        rounding: The error that rounding alone may make, in units of this variance.
        assess: A function that fits an equation, given its source, or takes the given parameters, and returns the
            source in canonical form and the evaluation.
        fit_all: A function that fits the parameters of an equation, given its source and parameters, to all training
            rows, also those held back from the search. If it is None, constants are only rounded.
    """

    def __init__(self, columns: Columns, variance: float, rounding: float, assess: Assess, fit_all: FitAll) -> None:
        n = len(next(iter(columns.values())))
        some = np.linspace(0, n - 1, min(N_ROWS, n)).astype(int)
        self._columns = {name: column[some] for name, column in columns.items()}
        self._n = n
        self._deviation = variance**0.5
        self._least = max(_SHARES[-1][0], _ROUNDINGS * rounding**0.5)
        self._assess = assess
        self._fit_all = fit_all
        self._pruned: dict[int, Discovery] = {}

    def prune(self, found: Discovery) -> Discovery:
        """Return the equation in the form in which it is shown, with the errors of this form.

        An equation that cannot be evaluated again, or is too large, is returned as it is.
        """
        call_number = found.candidate.call
        if call_number not in self._pruned:
            try:
                self._pruned[call_number] = self._finish(self._shorten(found))
            except RecursionError:  # equations of a language model may be that large
                self._pruned[call_number] = found
        return self._pruned[call_number]

    def _shorten(self, found: Discovery) -> Discovery:
        """Remove parts, fit again, and repeat this until nothing can be removed."""
        first = found
        rank = _rank(read_tree(found.candidate.genotype))
        if self._fit_all is None or rank[0] > MAX_SIZE:
            return found
        while (shorter := self._step(first, found, rank)) is not None:
            found, rank = shorter  # the rank falls each time, so this ends
        tree, params = factor_out(read_tree(found.candidate.genotype)), read_params(found)
        if _rank(simple := simplify(tree)) < rank:
            for form, fixed in ((simple, None), (tree, _list_params(tree, params))):
                if pruned := self._try(found, write_tree(form, tuple(self._columns)), fixed, self._limits(found)):
                    return pruned
        return found

    def _step(self, first: Discovery, found: Discovery, rank: Rank) -> tuple[Discovery, Rank] | None:
        """Return an equation of lower rank with a description that is no longer, and its rank; None if none is found.

        The description is that of the data, as in `evodiverse.tasks.equations.front`. It must not get longer than with
        the first equation, from which all were made, nor than with the last one.

        Constants become numbers only when no part can be removed any more, since a free parameter absorbs others when
        the equation is simplified, and a number does not.
        """
        tried: set[tuple[Node, bool]] = set()
        for tree, params in self._list_shorter(found):
            if _rank(tree) < rank and tree.n_parameters() <= MAX_PARAMS and (tree, params is None) not in tried:
                tried.add((tree, params is None))
                limits = self._limits(first, _rank(tree))
                limits = {name: min(limits[name], most) for name, most in self._limits(found, _rank(tree)).items()}
                if pruned := self._try(found, write_tree(tree, tuple(self._columns)), params, limits):
                    return pruned, _rank(tree)
        return None

    def _list_shorter(self, found: Discovery) -> Iterator[tuple[Node, Params]]:
        """Yield edited equations, each with its parameters, or None if they are to be fitted."""
        formula = Formula(read_tree(found.candidate.genotype), read_params(found))
        edits = (
            *product((remove_parts,), _SHARES),
            (partial(snap_constants, is_scaled=True), _SHARES[0]),
            *product((snap_constants,), _SHARES[1:]),
        )
        for edit, share in edits:
            edited = edit(formula, self._columns, self._tolerance(found, share))
            # Fitted from scratch, the simplified equation may end in a worse optimum. Then the constants stay.
            yield simplify(edited.tree), None
            yield edited.tree, _list_params(*edited)
        yield from ((tree, None) for tree in self._list_refitted(formula, self._tolerance(found, _DROP)))

    def _list_refitted(self, formula: Formula, tolerance: float) -> Iterator[Node]:
        """Yield the equation without one addend, or with a simpler one, if other constants may make up for it.

        For either, at most `N_REFITTED` equations are yielded, the one with the nearest predictions first.
        """
        tree = formula.tree
        expected = tree.evaluate(self._columns, formula.params)
        sums = [(path, total) for path, total, _ in tree.places() if total.operation in SUMS]
        without = [(tree.put(path, addend), None) for path, total in sums for addend in total.arguments]
        for edits in (without, _list_adapted(tree)):
            changes: dict[Node, float] = {}
            for edited, base in edits:
                offset = 0.0 if base is None else base.evaluate(self._columns, formula.params)
                moved = edited.evaluate(self._columns, formula.params) - offset
                change = _size(_scaled(moved, expected - offset) - (expected - offset))
                if change <= tolerance and not edited.is_constant:
                    changes[simplify(edited)] = change
            yield from sorted(changes, key=changes.__getitem__)[:N_REFITTED]

    def _finish(self, found: Discovery) -> Discovery:
        """Fit the constants to all training rows and round them; the errors stay those that the search has seen."""
        shown = found
        if self._fit_all is not None:
            limits = {name: limit if name == "violations" else inf for name, limit in self._limits(found).items()}
            params = self._fit_all(found.candidate.genotype, read_params(found))
            shown = self._try(found, found.candidate.genotype, params, limits) or found
        shown = self._round(shown)
        known = {name: found.details[name] for name in _CHOSEN_BY if name in found.details}
        one = found.candidate
        candidate = replace(shown.candidate, score=one.score, energy=one.energy, details={**shown.details, **known})
        return replace(shown, candidate=candidate)

    def _round(self, found: Discovery) -> Discovery:
        """Round the constants to the fewest digits that keep the predictions and the errors."""
        tree, params, limits = read_tree(found.candidate.genotype), read_params(found), self._limits(found)
        expected = tree.evaluate(self._columns, params)
        for digits in DIGITS:
            rounded = [float(f"{value:.{digits}g}") for value in params]
            if rounded == params:
                break
            change = tree.evaluate(self._columns, rounded) - expected
            is_same = _size(change) <= self._tolerance(found, _SHARES[-1])
            if is_same and (shown := self._try(found, found.candidate.genotype, rounded, limits)):
                return shown
        return found

    def _try(self, found: Discovery, source: str, params: Params, limits: Mapping[str, float]) -> Discovery | None:
        """Return a discovery with another equation, or None if one of its errors is above its limit."""
        canonical, new = self._assess(source, params)
        errors = {name: new.details.get(name) for name in limits}
        if not limits or any(error is None or float(error) > limits[name] for name, error in errors.items()):
            return None
        details = {**found.details, **new.details}
        shown = replace(found.candidate, genotype=canonical, score=new.score, energy=new.energy, details=details)
        return replace(found, candidate=shown)

    def _limits(self, found: Discovery, rank: Rank | None = None) -> dict[str, float]:
        """Return the largest errors that an equation may have in another form; empty if its errors are not known.

        Each part and each parameter that a form of lower rank saves pays for a larger error, since it shortens the
        description of the data.
        """
        known = {name: found.details.get(name) for name in ("nmse_train", "nmse_held")}
        growth = _GROWTH
        if rank is not None:
            size, n_params = np.subtract(_rank(read_tree(found.candidate.genotype)), rank)
            saved = size * log(SYMBOLS) + min(n_params, size) * log(self._n) / 2  # a number must be written down too
            growth = max(growth, exp(2 * saved / self._n))
        limits = {name: max(growth * float(one), self._least**2) for name, one in known.items() if one is not None}
        violations = found.details.get("violations")
        return limits if violations is None else {**limits, "violations": float(violations)}

    def _tolerance(self, found: Discovery, share: tuple[float, float]) -> float:
        error = float(found.details.get("nmse_train") or 0.0) ** 0.5
        return float(self._deviation * (max(share[0], self._least) + share[1] * error))


def _list_adapted(tree: Node) -> Iterator[tuple[Node, Node]]:
    """Yield an expression with a factor of one addend replaced by one of another, and that without the first addend.

    For instance, ``p * a * exp(b) + q * c / d`` becomes ``p * a / d + q * c / d``, which shares a factor.
    """
    for path, total, _ in tree.places():
        terms = total.terms() if total.operation == "add" else []
        for at, term in enumerate(terms):
            others = terms[:at] + terms[at + 1 :]
            parts = [(place, one) for place, one in enumerate(term.factors()) if not one[1].is_constant]
            theirs = dict.fromkeys(one for other in others for one in other.factors() if not one[1].is_constant)
            for (place, (_, own)), new in product(parts, theirs):
                if new[1].size < own.size:
                    factors = term.factors()
                    factors[place] = new
                    adapted = build_total([*terms[:at], build_product(factors), *terms[at + 1 :]])
                    yield tree.put(path, adapted), tree.put(path, build_total(others))


def _list_params(tree: Node, params: Sequence[float]) -> list[float]:
    """Return the values of those parameters that an expression has, in order of appearance."""
    return [params[at] for at in dict.fromkeys(int(leaf.value) for leaf in tree.leaves("parameter"))]


def _rank(tree: Node) -> Rank:
    return tree.size, tree.n_parameters()


def remove_parts(formula: Formula, columns: Columns, tolerance: float) -> Formula:
    """Replace parts of an expression by their own parts, or by constants, as long as the predictions stay the same.

    For example, ``X + 1e-13 * Y`` and ``tanh(a + 50) * X`` become ``X``, and ``log(1e-9 * a + 1)`` becomes
    ``1e-9 * a``. An absolute value may also become its argument with the opposite sign.

    Args:
        formula: The expression.
        columns: The ``(n,)`` values of each variable, by name.
        tolerance: How far all edits together may move the predictions (root mean square).
    """
    expected = formula.tree.evaluate(columns, formula.params)
    while (shorter := _remove_part(formula, columns, expected, tolerance)) is not None:
        formula = shorter
    return formula


@np.errstate(all="ignore")
def _remove_part(formula: Formula, columns: Columns, expected: FloatArray, tolerance: float) -> Formula | None:
    tree, params = formula
    known: dict[Node, FloatArray] = {}
    for _, part, _ in reversed(list(tree.places())):  # arguments before the operations that take them
        known[part] = _value(part, known) if part.arguments else part.evaluate(columns, params)
    constant = parameter(len(params))
    for path, part, kind in tree.places():  # large parts before the parts that they consist of
        has_parameter = next(part.leaves("parameter"), None) is not None
        if part.arguments and kind is not Kind.CONDITION and (has_parameter or not part.is_constant):
            known[constant] = np.asarray(np.mean(known[part]))
            for simpler in (*_list_inner(part, kind), constant):
                edited = tree.put(path, simpler)
                if _size(_value(edited, known) - expected) <= tolerance:
                    return Formula(edited, [*params, float(known[constant])])
    return None


def _list_inner(part: Node, kind: Kind) -> Iterator[Node]:
    """Yield the parts of an expression that may take its place, the smallest first."""
    inner = [node for _, node, its in part.places(kind) if its is not Kind.CONDITION and node is not part]
    yield from sorted(inner, key=lambda node: node.size)
    if part.operation in ABSOLUTE and part.arguments[0].operation != "negative":
        yield call("negative", part.arguments[0])


def _value(node: Node, known: Mapping[Node, FloatArray]) -> FloatArray:
    """Return the values of an expression, given those of the parts that it has in common with another one."""
    if node in known:
        return known[node]
    values = getattr(np, node.operation)(*(_value(argument, known) for argument in node.arguments))
    return np.asarray(values, dtype=np.float64)


def snap_constants(formula: Formula, columns: Columns, tolerance: float, *, is_scaled: bool = False) -> Formula:
    """Replace parameters by simple numbers, or by each other, as long as the predictions stay the same.

    A simple number is the nearest multiple of a half or a third. It must not make the simplified expression longer.
    Another parameter must make it shorter, as in ``(a + params[0]) / (a + params[1])`` if both are equal. If scaled,
    the predictions need to stay the same only up to a factor, which other constants may make up for, but a number must
    make it shorter, too. The other arguments are those of `remove_parts`.
    """
    tree, params = formula
    expected = tree.evaluate(columns, params)
    forms = {leaf: leaf for leaf in tree.leaves("parameter")}
    for leaf in forms:
        value = params[int(leaf.value)]
        others = [other for other in forms.values() if other.operation == "parameter" and other != leaf]
        others.sort(key=lambda other: abs(params[int(other.value)] - value))
        for form, gain in ((number(nearest_fraction(value)), int(is_scaled)), *((other, 1) for other in others[:1])):
            tried = {**forms, leaf: form}
            snapped = formula.tree.replace_parameters(tried.__getitem__)
            values = snapped.evaluate(columns, params)
            is_same = _size((_scaled(values, expected) if is_scaled else values) - expected) <= tolerance
            is_simple = form.operation == "parameter" or not is_scaled or abs(value) <= LARGEST_FRACTION
            if is_same and is_simple and simplify(snapped).size <= simplify(tree).size - gain:
                tree, forms = snapped, tried
                break
    return Formula(tree, params)


@np.errstate(all="ignore")
def _scaled(values: FloatArray, expected: FloatArray) -> FloatArray:
    """Return values times the factor that brings them nearest to those expected."""
    return np.asarray(values * (np.sum(values * expected) / np.sum(values * values)))


@np.errstate(all="ignore")
def _size(change: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(change))))
