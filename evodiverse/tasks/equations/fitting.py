"""Fits the parameters of a skeleton to data, in the sandbox beside the program: numpy and scipy are all it knows.

A skeleton works element by element, so that parameters of shape ``(starts, 1)`` give the predictions of all starts at
once.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

FloatArray = NDArray[np.float64]
Predict = Callable[[FloatArray], FloatArray]

# Starting points of the parameters that the skeleton is not linear in: ones, and others drawn over magnitudes.
N_STARTS = 150
SPREAD = 1.5
SEED = 0
# Starts are compared on some of the rows, the best of them descend there, and what is best then on all rows.
N_ROWS = 100
N_BEST = 6
N_TRIED, N_REFINED = 20, 20
_DIFFERENCE = 1e-7
_GAIN = 1e-4
_FLOOR = 1e-24
# Squares of larger predictions overflow.
_LARGEST = 1e150
# Of a direction's share in the square, below which it is none of its own.
_RANK = 1e-13


def drive(
    function: Callable[..., Any],
    method: str,
    n_params: int,
    linear: Sequence[int],
    target: FloatArray,
    *splits: FloatArray,
) -> tuple[FloatArray, ...]:
    """Return the fitted parameters, the predictions for each split, and which of them are all finite.

    Args:
        function: The skeleton, of columns and ``params``.
        method: bfgs or lm.
        n_params: Length of ``params``.
        linear: Which of them the skeleton is linear in, jointly.
        target: ``(n,)``, of the first split.
        splits: Inputs ``(n, variables)``: what is fitted, then what is held out.
    """

    def predictor(inputs: FloatArray) -> Predict:
        columns = list(inputs.T)

        def predict(params: FloatArray) -> FloatArray:
            shape = np.broadcast_shapes(params.shape[1:], (len(inputs),))
            return np.broadcast_to(np.asarray(function(*columns, params), dtype=np.float64), shape)

        return predict

    predictors = [predictor(inputs) for inputs in splits]
    with np.errstate(all="ignore"):
        if method == "bfgs":
            params = fit_bfgs(predictors[0], target, n_params)
        else:
            some = np.linspace(0, len(target) - 1, min(N_ROWS, len(target))).astype(int)
            params = fit_lm(predictors[0], target, predictor(splits[0][some]), target[some], n_params, linear)
        predictions = [predict(params) for predict in predictors]
    finite = np.array([float(np.isfinite(prediction).all()) for prediction in predictions])
    return (params, finite, *(np.nan_to_num(prediction, posinf=0, neginf=0) for prediction in predictions))


def fit_bfgs(predict: Predict, target: FloatArray, n_params: int) -> FloatArray:
    """Return the parameters that scipy's BFGS finds from ones (paper, appendix on equation discovery)."""
    if not n_params:
        return np.ones(0)

    def loss(params: FloatArray) -> float:
        return float(np.mean((predict(params) - target) ** 2))

    return np.asarray(minimize(loss, np.ones(n_params), method="BFGS").x)


def fit_lm(
    predict: Predict,
    target: FloatArray,
    predict_some: Predict,
    target_of_some: FloatArray,
    n_params: int,
    linear: Sequence[int],
) -> FloatArray:
    """Return the parameters of least squared error: linear ones exactly, the others by Levenberg and Marquardt's steps.

    For given values of the others the linear ones follow (variable projection, Golub and Pereyra 1973, with Kaufman's
    Jacobian), so that only the others need a start.
    """
    some = _Projected(predict_some, target_of_some, n_params, linear)
    others = some.others
    starts = np.ones((1, len(others)))
    if others:
        drawn = np.random.default_rng(SEED).normal(0, SPREAD, (2, N_STARTS - 1, len(others)))
        starts = np.concatenate([starts, np.exp(drawn[0]) * np.sign(drawn[1])])
        ranking = np.argsort(_squared(some.solve(starts)[1]), kind="stable")
        tried, errors = _descend(some, starts[ranking[:N_BEST]], N_TRIED)
        starts = tried[others, int(np.argmin(errors))][None]
    params, _ = _descend(_Projected(predict, target, n_params, linear), starts, N_REFINED)
    return params[:, 0]


class _Projected:
    """The model as a function of its other parameters alone, the linear ones being the best for these."""

    def __init__(self, predict: Predict, target: FloatArray, n_params: int, linear: Sequence[int]) -> None:
        self._predict = predict
        self._target = target
        self._n_params = n_params
        self._linear = list(linear)
        self.others = [at for at in range(n_params) if at not in linear]
        self.floor = _FLOOR * float(target @ target)

    def _at(self, params: FloatArray) -> FloatArray:
        """Return predictions ``(starts, n)`` for ``params`` ``(n_params, starts)``."""
        predicted = self._predict(params[:, :, None])
        return np.broadcast_to(predicted, (params.shape[1], len(self._target)))

    def solve(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return all parameters ``(n_params, starts)``, residuals ``(starts, n)`` and a basis of the linear part."""
        n_starts, n_linear = len(theta), len(self._linear)
        params = np.zeros((self._n_params, n_starts))
        params[self.others] = theta.T
        offset = self._at(params)
        if not n_linear:
            return params, offset - self._target, np.zeros((n_starts, len(self._target), 0))
        several = np.repeat(params, n_linear, axis=1)
        several[np.tile(self._linear, n_starts), np.arange(n_starts * n_linear)] = 1.0
        columns = self._at(several).reshape(n_starts, n_linear, -1) - offset[:, None]
        columns = columns.transpose(0, 2, 1)
        usable = np.maximum(np.abs(columns).max(axis=(1, 2)), np.abs(offset).max(axis=1)) < _LARGEST
        columns = np.where(usable[:, None, None], columns, 0.0)
        scale = np.linalg.norm(columns, axis=1, keepdims=True)
        scale = np.where(scale > 0, scale, 1.0)
        columns = columns / scale
        values, vectors = np.linalg.eigh(columns.transpose(0, 2, 1) @ columns)
        kept = values > _RANK * values[:, -1:]
        reciprocals = np.where(kept, 1 / np.where(kept, values, 1.0), 0.0)[:, None]
        basis = columns @ (vectors * np.sqrt(reciprocals))
        inverse = vectors * reciprocals
        wanted = np.where(usable[:, None], self._target - offset, 0.0)
        solved = np.zeros((n_starts, n_linear))
        for _ in range(2):  # once more for what rounding left
            left = wanted - (columns @ solved[:, :, None])[:, :, 0]
            along = columns.transpose(0, 2, 1) @ left[:, :, None]
            solved = solved + (inverse @ (vectors.transpose(0, 2, 1) @ along))[:, :, 0]
        params[self._linear] = (solved / scale[:, 0]).T
        residuals = np.where(usable[:, None], (columns @ solved[:, :, None])[:, :, 0] - wanted, np.inf)
        return params, residuals, basis

    def slopes(self, params: FloatArray, basis: FloatArray) -> FloatArray:
        """Return the Jacobian ``(starts, n, others)`` of the residuals, without the part that the linear ones mend."""
        n_starts, n_others = params.shape[1], len(self.others)
        steps = _DIFFERENCE * np.maximum(np.abs(params[self.others].T), 1e-3)
        several = np.repeat(params, n_others, axis=1)
        several[np.tile(self.others, n_starts), np.arange(n_starts * n_others)] += steps.ravel()
        moved = self._at(several).reshape(n_starts, n_others, -1)
        jacobian = ((moved - self._at(params)[:, None]) / steps[:, :, None]).transpose(0, 2, 1)
        jacobian = np.where(np.isfinite(jacobian), jacobian, 0.0)
        return jacobian - basis @ (basis.transpose(0, 2, 1) @ jacobian)


def _descend(model: _Projected, theta: FloatArray, n_steps: int) -> tuple[FloatArray, FloatArray]:
    """Return all parameters ``(n_params, starts)`` where Levenberg and Marquardt's steps lead, and the squared errors.

    None goes on once one of them has nothing left to explain.
    """
    params, residuals, basis = model.solve(theta)
    errors = _squared(residuals)
    damping = np.full(len(theta), 1e-3)
    is_under_way = np.isfinite(errors) & (theta.shape[1] > 0)
    for _ in range(n_steps):
        if not is_under_way.any() or errors.min() < model.floor:
            break
        at = np.flatnonzero(is_under_way)
        jacobian = model.slopes(params[:, at], basis[at])
        normal = jacobian.transpose(0, 2, 1) @ jacobian
        diagonal = np.einsum("skk->sk", normal)
        floor = 1e-12 * diagonal.max(axis=1, keepdims=True) + 1e-300
        ridge = damping[at, None] * np.maximum(diagonal, floor)
        gradient = np.einsum("snk,sn->sk", jacobian, residuals[at])
        step = np.linalg.solve(normal + ridge[:, :, None] * np.eye(theta.shape[1]), -gradient[:, :, None])[:, :, 0]
        is_worth_it = -np.einsum("sk,sk->s", gradient, step) > _GAIN * errors[at]  # as far as the slopes tell
        is_under_way[at[~is_worth_it]] = False
        at, step = at[is_worth_it], step[is_worth_it]
        if not len(at):
            break
        moved = theta[at] + step
        moved_params, moved_residuals, moved_basis = model.solve(moved)
        moved_errors = _squared(moved_residuals)
        is_better = moved_errors < errors[at]
        won = at[is_better]
        gain = (errors[won] - moved_errors[is_better]) / np.maximum(errors[won], 1e-300)
        theta[won], errors[won] = moved[is_better], moved_errors[is_better]
        params[:, won], residuals[won], basis[won] = (
            moved_params[:, is_better],
            moved_residuals[is_better],
            moved_basis[is_better],
        )
        damping[won] = np.maximum(damping[won] / 5, 1e-12)
        lost = at[~is_better]
        damping[lost] *= 10
        is_under_way[won[gain < _GAIN]] = False
        is_under_way[lost[damping[lost] > 1e4]] = False
    return params, errors


def _squared(residuals: FloatArray) -> FloatArray:
    errors = np.einsum("sn,sn->s", residuals, residuals)
    return np.where(np.isfinite(errors), errors, np.inf)
