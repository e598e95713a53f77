"""The fit of the parameters of a skeleton (an equation with free parameters) to data.

The sandbox loads this module before any program.

A skeleton works element by element, so parameters of shape ``(starts, 1, 1)`` give the predictions for all starts at
once.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import ndtri

FloatArray = NDArray[np.float64]
Factor: TypeAlias = float | FloatArray
Data: TypeAlias = tuple[Callable[..., Any], FloatArray, FloatArray]
"""A skeleton as a Python function, the ``(n, variables)`` inputs, and the ``(n,)`` target."""

# The largest number of starts in total, and the number for each parameter in which the skeleton is not linear. All
# values of the first start are 1. The values of the other starts are spread over magnitudes.
N_STARTS, N_STARTS_EACH = 500, 160
SPREAD = 1.2
# If a variable's range is far from 0, half of the starts of what is subtracted from it are spread around the range
# with this standard deviation, in halves of the range.
_BEYOND = 4.0
# Starts are compared on a few rows. The best ones descend on these rows. The best result then descends on some more
# rows, and finally on all rows.
N_FEW, N_SOME = 80, 800
N_BEST = 12
N_STEPS, N_LAST_STEPS = 30, 6
# Relative gain in the squared error, for few, some and all rows, and from given parameters; a descent ends with a step
# that gains less.
GAIN_FEW, GAIN_SOME, GAIN_ALL, GAIN_LAST = 1e-3, 1e-4, 1e-4, 1e-8
# Size of a step for finite differences, as a share of the parameter. A step that changes the predictions by more than
# the second share of the target's standard deviation, such as a date moved by hours, is multiplied by the third number.
_DIFFERENCE, _LEAP, _SHORTER = 1e-7, 1e-3, 1e-4
# Of a robust fit: the largest number of fits with other weights, and the share of the rows with squared errors.
N_REWEIGHTED, BEND = 20, 0.8
# Added to the squared length of each column, so that linearly dependent columns have a solution too.
_RIDGE = 1e-13
# Distance of a column of norm 1 from the span of others below which the ridge would bias the column's parameter, and a
# smaller one below which it would even spoil the ranking of the starts.
_ALIKE, _ROUGH = 1e-3, 1e-5


def drive(
    functions: Callable[[], Sequence[Callable[..., Any]]],
    method: str,
    parameters: Sequence[Sequence[Any]],
    target: FloatArray,
    roots: FloatArray | None,
    is_robust: bool,
    *splits: FloatArray,
) -> list[FloatArray]:
    """Fit several skeletons, and return the results of `fit` for all of them in one list, skeleton after skeleton.

    `Fitter` has the sandbox call this function as the driver of a job.

    Args:
        functions: The function that the program of the job defines (see `define_all`). It takes no arguments and
            returns the skeletons as Python functions.
        method: The method of the fit, bfgs or lm; or given, if the parameters are not to be fitted, such as those of a
            baseline, whose own engine has fitted them; or descend_bfgs or descend_lm, to start from given parameters.
        parameters: For each skeleton, in the same order, the argument ``own`` of `fit`.
        target: ``(n,)`` target of the first split.
        roots: As in `fit`.
        is_robust: As in `fit`.
        splits: ``(n, variables)`` inputs of each split. The first one is fitted.
    """
    return [
        array
        for function, own in zip(functions(), parameters, strict=True)
        for array in fit(function, method, own, target, *splits, roots=roots, is_robust=is_robust)
    ]


def fit(
    function: Callable[..., Any],
    method: str,
    own: Sequence[Any],
    target: FloatArray,
    *splits: FloatArray,
    roots: FloatArray | None = None,
    is_robust: bool = False,
) -> tuple[FloatArray, ...]:
    """Fit the parameters of a skeleton to the first split, and predict all splits.

    Args:
        function: The skeleton, a function of the columns and ``params``.
        method: The method of the fit, as `drive` takes it.
        own: What the method needs to know about the skeleton: the arguments ``n_params``, ``linear`` and ``units`` of
            `fit_lm`; or the given parameters, and ``linear``.
        target: ``(n,)`` target of the first split.
        splits: ``(n, variables)`` inputs of each split. The first one is fitted.
        roots: ``(n,)`` square roots of the weights of the squared errors of the first split; None if all are 1.
        is_robust: Whether to minimize the loss of `measure_losses` in place of the squared error; not for bfgs.

    Returns:
        A tuple of ``(n_params,)`` parameters, ``(splits,)`` flags, and ``(n,)`` predictions for each split. A flag is 1
        if all predictions for its split are finite, and 0 if not. Values that are not finite are replaced by 0, since
        the sandbox would take them for a failure.
    """
    data = (function, splits[0], target)
    with np.errstate(all="ignore"):
        if method == "bfgs":
            params = fit_bfgs(_scale(data, roots), np.ones(own[0]))
        elif method == "lm":
            params = fit_lm(_scale(data, roots), *own)
        else:
            params = np.array(own[0], dtype=np.float64)
        if method == "descend_bfgs":
            params = fit_bfgs(_scale(data, roots), params)
        elif method == "descend_lm" and not is_robust:
            model = _Projected(_scale(data, roots), len(params), own[1])
            params = _descend(model, params[None, model.others], N_STEPS, GAIN_LAST)[0][:, 0]
        elif method in ("lm", "descend_lm") and is_robust:
            params = _fit_robustly(data, roots, params, own[1])
        predictions = [np.broadcast_to(_predict(function, inputs, params), len(inputs)) for inputs in splits]
    finite = np.array([float(np.isfinite(prediction).all()) for prediction in predictions])
    params, *predictions = (np.nan_to_num(values, posinf=0, neginf=0) for values in (params, *predictions))
    return (params, finite, *predictions)


def _scale(data: Data, roots: FloatArray | None) -> Data:
    """Return data whose squared errors are the weighted ones of the data given."""
    if roots is None:
        return data
    function, inputs, target = data

    def scaled(*arguments: Any) -> Any:
        *columns, factors, params = arguments
        return function(*columns, params) * factors

    return scaled, np.column_stack([inputs, roots]), target * roots


def _fit_robustly(data: Data, roots: FloatArray | None, params: FloatArray, linear: Sequence[int]) -> FloatArray:
    """Return the parameters with the least loss near those of least squared error, by reweighted squared errors."""
    function, inputs, target = data
    own = np.ones(len(target)) if roots is None else roots
    for _ in range(N_REWEIGHTED):
        sizes = np.abs(_predict(function, inputs, params) - target) * own
        bend = np.quantile(sizes, BEND)
        if not 0 < bend < np.inf:
            break
        factors = own * np.sqrt(np.minimum(1.0, bend / np.maximum(sizes, bend)))
        model = _Projected(_scale(data, factors), len(params), linear)
        last, params = params, _descend(model, params[model.others][None], N_LAST_STEPS, GAIN_ALL)[0][:, 0]
        if np.allclose(params, last, rtol=1e-6, atol=0):
            break
    return params


def measure_losses(errors: FloatArray, weights: FloatArray | None, *, is_robust: bool) -> FloatArray:
    """Return ``(n,)`` losses of errors: weighted squares or, if robust, Huber's loss.

    Huber's loss grows only linearly beyond a limit (Huber 1964): here, beyond the error that four fifths of the rows do
    not exceed, which is 1.28 standard deviations of normal errors.

    Args:
        errors: ``(n,)`` differences between predictions and measurements.
        weights: ``(n,)`` weights of their squares; None if all are 1.
        is_robust: Whether the loss is Huber's.
    """
    squares = errors**2 if weights is None else weights * errors**2
    if not is_robust or not len(errors):
        return squares
    sizes = np.sqrt(squares)
    bend = np.quantile(sizes, BEND)
    return np.where(sizes <= bend, squares, bend * (2 * sizes - bend))


def _predict(function: Callable[..., Any], inputs: FloatArray, params: FloatArray) -> FloatArray:
    return np.asarray(function(*inputs.T, params), dtype=np.float64)


def fit_bfgs(data: Data, start: FloatArray) -> FloatArray:
    """Return the parameters that scipy's BFGS finds; in the paper's released code, all start at 1.

    The paper itself only says "e.g., BFGS". The data and the result are those of `fit_lm`.
    """
    if not len(start):
        return start

    function, inputs, target = data

    def loss(params: FloatArray) -> float:
        return float(np.mean((_predict(function, inputs, params) - target) ** 2))

    return np.asarray(minimize(loss, start, method="BFGS").x)


def fit_lm(data: Data, n_params: int, linear: Sequence[int], units: Sequence[Sequence[float]]) -> FloatArray:
    """Return the parameters of least squared error: linear ones exactly, the others by Levenberg-Marquardt steps.

    The linear parameters follow from the values of the others (variable projection, Golub and Pereyra 1973, with
    Kaufman's Jacobian), so only the others need starting values.

    Args:
        data: The skeleton, a function of the columns and ``params``, and the rows that it is fitted to.
        n_params: The number of parameters.
        linear: The numbers of the parameters in which the skeleton is jointly linear.
        units: For each parameter, its expected magnitude. If the skeleton contains a sum or difference of just this
            parameter and a variable, two values of the parameter follow. The first makes the sum or difference 0 at the
            variable's lowest value, and the second makes it 0 at the variable's highest value.

    Returns:
        ``(n_params,)`` parameters.
    """
    function, inputs, target = data

    def model(n_rows: int) -> _Projected:
        some = np.linspace(0, len(target) - 1, n_rows).astype(int) if n_rows < len(target) else slice(None)
        return _Projected((function, inputs[some], target[some]), n_params, linear)

    few = model(N_FEW)
    starts = np.ones((1, len(few.others)))
    if few.others:
        n_starts = min(N_STARTS, N_STARTS_EACH * len(few.others))
        starts = _spread(n_starts, [units[at] for at in few.others])
        ranking = np.argsort(few.weigh(starts), kind="stable")
        tried, errors = _descend(few, starts[ranking[:N_BEST]], N_STEPS, GAIN_FEW)
        starts = tried[few.others, int(np.argmin(errors))][None]
        if len(target) > N_SOME:
            starts = _descend(model(N_SOME), starts, N_STEPS, GAIN_SOME)[0][few.others].T
    return _descend(model(len(target)), starts, N_LAST_STEPS, GAIN_ALL)[0][:, 0]


def _spread(n: int, units: Sequence[Sequence[float]]) -> FloatArray:
    """Return ``(n, parameters)`` starting values for a fit: a row of 1s, then evenly spread numbers.

    The numbers have either sign and lognormal size. The second row, the fourth, and so on are multiplied by the
    expected magnitude of each parameter, which is the first value of its entry in ``units``. The entry has two more
    values if the parameter is added to or subtracted from a variable (see `fit_lm`). In half of the multiplied rows,
    such a parameter gets a value between these two instead. Its sum or difference with the variable is then 0 at some
    point in the variable's range. If the range is narrow and far from 0, the others are around the range.
    """
    shares = _even(n - 1, len(units))
    starts = np.where(shares < 0.5, -1.0, 1.0) * np.exp(SPREAD * ndtri(2 * shares % 1))
    starts[::2] *= [unit[0] for unit in units]
    for at, (size, *ends) in enumerate(units):
        if ends:
            first, last = ends
            if size < abs(first + last) / 20:
                starts[::2, at] = (first + last) / 2 + _BEYOND * size * ndtri(2 * shares[::2, at] % 1)
            placed = 2 * np.flatnonzero(shares[::2, at] < 0.5)
            starts[placed, at] = first + (last - first) * 2 * shares[placed, at]
    return np.concatenate([np.ones((1, len(units))), starts])


@cache
def _even(n: int, dimensions: int) -> FloatArray:
    """Return ``(n, dimensions)`` numbers from 0 to 1, evenly spread.

    They are a Kronecker sequence of powers of the generalized golden ratio (Roberts 2018).
    """
    ratio = 2.0
    for _ in range(60):
        ratio = (1 + ratio) ** (1 / (dimensions + 1))
    return np.asarray((0.5 + np.arange(1, n + 1)[:, None] * ratio ** -np.arange(1.0, dimensions + 1)) % 1)


class _Projected:
    """The model as a function of only its nonlinear parameters, with the linear ones solved for."""

    def __init__(self, data: Data, n_params: int, linear: Sequence[int]) -> None:
        self._function, inputs, target = data
        self._columns = list(inputs.T)
        self._target = target
        self._n_params = n_params
        self._linear = list(linear)
        self.others = [at for at in range(n_params) if at not in linear]
        self.floor = 1e-24 * float(target @ target)
        self._leap = _LEAP**2 * len(target) * float(np.var(target))

    def _at(self, linear: FloatArray, others: FloatArray) -> FloatArray:
        """Return the ``(starts, variants, n)`` predictions for several variants of the parameter values of each start.

        A start is one of the sets of parameter values that are optimized side by side. Its variants are the values
        themselves and values that differ by a small step, as needed for finite differences. An expression that is the
        same for all variants, or for all starts, is computed once for all of them.

        Args:
            linear: ``(linear, starts, variants)`` values of the linear parameters; starts or variants may be 1.
            others: ``(others, starts, variants)`` values of the other parameters, likewise.
        """
        params = dict(zip([*self._linear, *self.others], [*linear[..., None], *others[..., None]], strict=True))
        shape = np.broadcast_shapes(linear.shape[1:], others.shape[1:])
        return np.broadcast_to(self._function(*self._columns, params), (*shape, len(self._target)))

    def solve(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Solve for the linear parameters, given ``(starts, others)`` values of the other parameters.

        Returns:
            ``(n_params, starts)`` values of all parameters, ``(starts, n)`` residuals, and for each start an
            orthonormal basis ``(starts, linear, n)`` of the columns that the linear parameters multiply.
        """
        params = np.zeros((self._n_params, len(theta)))
        params[self.others] = theta.T
        columns, left, scale = self._parts(theta)
        if not self._linear:
            return params, -left, columns
        basis, inverse = _orthogonalize(columns)
        solved = np.zeros(scale.shape)
        for _ in range(2):  # the second step corrects what the ridge and rounding left
            step = ((basis @ left[:, :, None]).transpose(0, 2, 1) @ inverse)[:, 0]
            left = left - (step[:, None] @ columns)[:, 0]
            solved = solved + step
        params[self._linear] = (solved / scale).T
        return params, -left, basis

    def weigh(self, theta: FloatArray) -> FloatArray:
        """Return approximate squared errors ``(starts,)``, which are only used to rank the starts.

        This is faster than squaring the residuals of `solve`, which is done only where it would be too inaccurate.
        """
        columns, left, _ = self._parts(theta)
        errors = squares = _squared(left)
        if self._linear:
            along = columns @ left[:, :, None]
            normal = _square(columns)
            errors = errors - (along * np.linalg.solve(normal, along)).sum(axis=(1, 2))
            is_alike = _find_alike(np.linalg.cholesky(normal), _ROUGH)
            # A small difference of two sums of squares has lost too many digits to rank starts by.
            is_rough = np.isfinite(errors) & ((errors < 1e-8 * squares) | is_alike)
            if is_rough.any():
                errors[is_rough] = _squared(self.solve(theta[is_rough])[1])
        return np.where(np.isfinite(errors), errors, np.inf)

    def _parts(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the columns and the target of each start's linear least-squares problem, and the columns' norms.

        The ``(starts, linear, n)`` columns are scaled to norm 1, unless they are 0. The ``(starts, linear)`` norms are
        those before scaling, or 1 for a column of zeros. The targets have the shape ``(starts, n)``. If a column or the
        target of a start has a norm that is not finite, all columns of this start are 0, and all values of its target
        are infinite.
        """
        params: dict[int, Any] = {place: LinearValue(0.0, {place: 1.0}) for place in self._linear}
        params |= zip(self.others, theta.T[:, :, None], strict=True)
        shape = (len(theta), len(self._target))
        value = self._function(*self._columns, params)
        offset, factors = (value.offset, value.factors) if isinstance(value, LinearValue) else (value, {})
        left = np.broadcast_to(self._target - offset, shape)
        columns = np.empty((shape[0], len(self._linear), shape[1]))
        for at, place in enumerate(self._linear):
            columns[:, at] = factors.get(place, 0.0)
        squares = np.einsum("sln,sln->sl", columns, columns)
        usable = np.isfinite(squares).all(axis=1) & np.isfinite(_squared(left))
        if not usable.all():
            columns, squares = np.where(usable[:, None, None], columns, 0.0), np.where(usable[:, None], squares, 0.0)
            left = np.where(usable[:, None], left, np.inf)
        scale = np.sqrt(np.where(squares > 0, squares, 1.0))
        columns /= scale[:, :, None]
        return columns, left, scale

    def slopes(self, params: FloatArray, basis: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ``(starts, others, n)`` Jacobian of the residuals, minus its projection onto the basis of `solve`.

        The ``(starts, others, others)`` products of the Jacobian's rows are returned as well.

        For each of the starts, it holds the derivatives of the ``n`` residuals with respect to the "other" parameters,
        those that `solve` does not solve for. The projection is the part of a change in the residuals that the linear
        parameters can cancel.
        """
        others = params[self.others]
        steps = _DIFFERENCE * np.maximum(np.abs(others), 1e-3)
        moves = np.concatenate([np.zeros((len(others), 1)), np.eye(len(others))], axis=1)
        for _ in range(2):
            moved = self._at(params[self._linear][:, :, None], others[:, :, None] + steps[:, :, None] * moves[:, None])
            jacobian = (moved[:, 1:] - moved[:, :1]) / steps.T[:, :, None]
            if not np.isfinite(jacobian).all():
                jacobian = np.where(np.isfinite(jacobian), jacobian, 0.0)
            jacobian = jacobian - (jacobian @ basis.transpose(0, 2, 1)) @ basis
            normal = jacobian @ jacobian.transpose(0, 2, 1)
            is_leap = np.einsum("skk->ks", normal) * steps**2 > self._leap
            if not is_leap.any():
                break
            steps = np.where(is_leap, _SHORTER * steps, steps)
        return jacobian, normal


def _orthogonalize(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return an orthonormal basis of each start's columns, and the ``(starts, k, k)`` matrices that make it of them.

    The ``(starts, k, n)`` columns must have norm 1 or 0. If some nearly are sums of others, one step of Cholesky's
    method loses digits, and a second one restores them (shifted CholeskyQR; Fukaya et al. 2020). A direction whose
    size is far below `_RIDGE` counts as rounding and is left out.
    """
    factor = np.linalg.cholesky(_square(columns))
    inverse = np.linalg.inv(factor)
    basis = inverse @ columns
    if (alike := _find_alike(factor, _ALIKE)).any():
        again = np.linalg.inv(np.linalg.cholesky(_square(basis[alike])))
        basis[alike], inverse[alike] = again @ basis[alike], again @ inverse[alike]
    return basis, inverse


def _square(columns: FloatArray) -> FloatArray:
    return columns @ columns.transpose(0, 2, 1) + _RIDGE * np.eye(columns.shape[1])


def _find_alike(factor: NDArray[np.floating[Any]], distance: float) -> NDArray[np.bool_]:
    """Return for each start, given the Cholesky factors, whether a column is that close to the span of earlier ones."""
    return np.asarray(np.einsum("skk->sk", factor).min(axis=1) < distance)


def _descend(model: _Projected, theta: FloatArray, n_steps: int, least_gain: float) -> tuple[FloatArray, FloatArray]:
    """Descend from several starts by Levenberg-Marquardt steps; all descents end once the error of one is nearly zero.

    Args:
        model: The model and its data.
        theta: ``(starts, others)`` nonlinear parameters, which are overwritten.
        n_steps: The largest number of steps.
        least_gain: The relative gain in the squared error below which a descent ends.

    Returns:
        ``(n_params, starts)`` values of all parameters, and ``(starts,)`` squared errors.
    """
    params, residuals, basis = model.solve(theta)
    errors = _squared(residuals)
    damping = np.full(len(theta), 1e-3)
    is_under_way = np.isfinite(errors) & (theta.shape[1] > 0)
    for _ in range(n_steps):
        if not is_under_way.any() or errors.min() < model.floor:
            break
        at = np.flatnonzero(is_under_way)
        jacobian, normal = model.slopes(params[:, at], basis[at])
        diagonal = np.einsum("skk->sk", normal)
        floor = 1e-12 * diagonal.max(axis=1, keepdims=True) + 1e-300
        ridge = damping[at, None] * np.maximum(diagonal, floor)
        gradient = (jacobian @ residuals[at][:, :, None])[:, :, 0]
        step = np.linalg.solve(normal + ridge[:, :, None] * np.eye(theta.shape[1]), -gradient[:, :, None])[:, :, 0]
        is_worth_it = -np.einsum("sk,sk->s", gradient, step) > least_gain * errors[at]  # as predicted by the slopes
        is_under_way[at[~is_worth_it]] = False
        at, step = at[is_worth_it], step[is_worth_it]
        if not len(at):  # without this, the model would be evaluated for nothing
            break
        moved = theta[at] + step
        moved_params, moved_residuals, moved_basis = model.solve(moved)
        moved_errors = _squared(moved_residuals)
        is_better = moved_errors < errors[at]
        won = at[is_better]
        gain = (errors[won] - moved_errors[is_better]) / np.maximum(errors[won], 1e-300)
        theta[won], errors[won] = moved[is_better], moved_errors[is_better]
        params[:, won] = moved_params[:, is_better]
        residuals[won], basis[won] = moved_residuals[is_better], moved_basis[is_better]
        damping[won] = np.maximum(damping[won] / 5, 1e-12)
        lost = at[~is_better]
        damping[lost] *= 10
        is_under_way[won[gain < least_gain]] = False
        is_under_way[lost[damping[lost] > 1e4]] = False
    return params, errors


def _squared(residuals: FloatArray) -> FloatArray:
    errors = np.einsum("sn,sn->s", residuals, residuals)
    return np.where(np.isfinite(errors), errors, np.inf)


class LinearValue:
    """A value that is linear in some parameters.

    If a skeleton (a candidate equation as a function) is called with such values in place of its linear parameters, the
    result says what each of these parameters is multiplied by.

    It supports what a skeleton does with its linear parameters: addition and subtraction, multiplication and division
    by values that do not depend on these parameters, and the choice between two values by `numpy.where`.

    Args:
        offset: The value if all these parameters are 0.
        factors: The factor by which each parameter is multiplied. The keys are the numbers of the parameters.
    """

    __slots__ = ("factors", "offset")
    __array_ufunc__ = None  # an array on the left then leaves the operation to this class

    def __init__(self, offset: Factor, factors: Mapping[int, Factor]) -> None:
        self.offset = offset
        self.factors = factors

    def __add__(self, other: Any) -> "LinearValue":
        if not isinstance(other, LinearValue):
            return LinearValue(_sum(self.offset, other), self.factors)
        factors = dict(self.factors)
        for place, factor in other.factors.items():
            factors[place] = _sum(factors[place], factor) if place in factors else factor
        return LinearValue(_sum(self.offset, other.offset), factors)

    def __mul__(self, other: Factor) -> "LinearValue":
        return self._map(lambda value: _product(value, other))

    def __truediv__(self, other: Factor) -> "LinearValue":
        return self._map(lambda value: value if _is(value, 0.0) else value / other)

    def __neg__(self) -> "LinearValue":
        return self._map(lambda value: -value)

    def __pos__(self) -> "LinearValue":
        return self

    def __sub__(self, other: Any) -> "LinearValue":
        return self.__add__(-other)

    def __rsub__(self, other: Factor) -> "LinearValue":
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __array_function__(self, function: object, types: object, args: Sequence[Any], kwargs: object) -> Any:
        """Carry out `numpy.where`, the choice between two values; see NumPy Enhancement Proposal 18."""
        if function is not np.where or kwargs:
            return NotImplemented
        condition, *pair = args
        first, second = (value if isinstance(value, LinearValue) else LinearValue(value, {}) for value in pair)
        factors = {
            place: np.where(condition, first.factors.get(place, 0.0), second.factors.get(place, 0.0))
            for place in {**first.factors, **second.factors}
        }
        return LinearValue(np.where(condition, first.offset, second.offset), factors)

    def _map(self, change: Callable[[Factor], Factor]) -> "LinearValue":
        return LinearValue(change(self.offset), {place: change(factor) for place, factor in self.factors.items()})


def _sum(first: Factor, second: Factor) -> Factor:
    return second if _is(first, 0.0) else first if _is(second, 0.0) else first + second


def _product(first: Factor, second: Factor) -> Factor:
    return first if _is(first, 0.0) else second if _is(first, 1.0) else first * second


def _is(value: Factor, number: float) -> bool:
    return isinstance(value, float) and value == number
