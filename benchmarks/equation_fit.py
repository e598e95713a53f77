"""Fits of the true skeletons of all builtin problems by both methods, side by side.

OMP_NUM_THREADS=1 python benchmarks/equation_fit.py, with one thread as in the sandbox
"""

import time
from statistics import median
from typing import Any

import numpy as np

from evodiverse.tasks.equations.in_sandbox import fitting
from evodiverse.tasks.equations.problems import PROBLEMS, Problem
from evodiverse.tasks.equations.skeleton import read_skeleton
from evodiverse.tasks.equations.starts import find_ranges, find_units

METHODS = ("lm", "bfgs")
RECOVERED = 1e-10


def fit(problem: Problem, method: str) -> tuple[float, float]:
    """Return the normalised error of a fit and its seconds."""
    inputs, target = problem.sample(problem).train
    names = [variable.name for variable in problem.variables]
    skeleton = read_skeleton(problem.skeleton, names)
    units = find_units(skeleton.source, skeleton.n_params, find_ranges(names, inputs))
    scope: dict[str, Any] = {"np": np}
    exec(skeleton.source, scope)  # noqa: S102 (our own)
    began = time.perf_counter()
    _, _, predicted = fitting.fit(scope["equation"], method, skeleton.n_params, skeleton.linear, units, target, inputs)
    seconds = time.perf_counter() - began
    return float(np.mean((predicted - target) ** 2) / np.var(target)), seconds


def main() -> None:
    fits = {name: {method: fit(problem, method) for method in METHODS} for name, problem in PROBLEMS.items()}
    for name, results in fits.items():
        shown = ", ".join(
            f"{method} {error:.1e} in {seconds * 1e3:.0f} ms" for method, (error, seconds) in results.items()
        )
        print(f"{name:17s} {shown}")
    for method in METHODS:
        errors, seconds = zip(*(results[method] for results in fits.values()), strict=True)
        recovered = sum(error < RECOVERED for error in errors)
        print(f"{method}: {recovered} of {len(errors)} recovered, {median(seconds) * 1e3:.0f} ms a fit (median)")
    ratios = [results["bfgs"][1] / results["lm"][1] for results in fits.values()]
    print(
        f"lm is {median(ratios):.1f} times faster (median), no worse in "
        f"{sum(r['lm'][0] <= max(r['bfgs'][0], RECOVERED) for r in fits.values())} of {len(fits)}"
    )


if __name__ == "__main__":
    main()
