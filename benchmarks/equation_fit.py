"""Compare both fits on the true skeletons of all built-in problems, and measure what the parts of a fit cost.

Run: OMP_NUM_THREADS=1 python benchmarks/equation_fit.py (one thread, as in the sandbox)

A skeleton is an equation without the values of its parameters, which the fit has to find.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.tasks.equations.data import builtin_splits
from evodiverse.tasks.equations.fitter import Fitter, find_ranges, find_units
from evodiverse.tasks.equations.in_sandbox import fitting
from evodiverse.tasks.equations.problems import PROBLEMS, Problem
from evodiverse.tasks.equations.settings import EquationSettings
from evodiverse.tasks.equations.skeleton import read_skeleton

METHODS = ("lm", "bfgs")
RECOVERED = 1e-10
N_TOGETHER, N_TRIVIAL = 8, 64


class Parts:
    """A stopwatch for functions: the sum of the ``seconds`` of their calls, by label."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def wrap(self, place: Any, name: str, label: Callable[..., str]) -> None:
        """Replace the function ``name`` of ``place`` by one that also adds the seconds of each call.

        ``label`` gets the arguments of a call and returns the label under which its seconds are added.
        """
        function = getattr(place, name)

        def timed(*arguments: Any) -> Any:
            began = time.perf_counter()
            answer = function(*arguments)
            self.seconds[label(*arguments)] += time.perf_counter() - began
            return answer

        setattr(place, name, timed)


def fit(problem: Problem, method: str) -> tuple[float, float]:
    """Return the error of a fit of the true skeleton, in units of the target's variance, and its seconds."""
    inputs, target, _ = problem.sample().train
    names = [variable.name for variable in problem.variables]
    skeleton = read_skeleton(problem.skeleton, names)
    units = find_units(skeleton.source, skeleton.n_params, find_ranges(names, inputs))
    scope: dict[str, Any] = {"np": np}
    exec(skeleton.source, scope)  # noqa: S102 (our own)
    own = (skeleton.n_params, skeleton.linear, units)
    began = time.perf_counter()
    _, _, predicted = fitting.fit(scope["equation"], method, own, target, inputs)
    seconds = time.perf_counter() - began
    return float(np.mean((predicted - target) ** 2) / np.var(target)), seconds


def measure_parts() -> None:
    """Print what the parts of a fit by lm cost, on average over all problems."""
    parts = Parts()
    here = sys.modules[__name__]
    parts.wrap(here, "read_skeleton", lambda *_: "reading the skeleton")
    parts.wrap(here, "find_units", lambda *_: "units of the parameters")
    parts.wrap(fitting._Projected, "weigh", lambda *_: f"comparing the starts on {fitting.N_FEW} rows")
    parts.wrap(fitting, "_descend", lambda model, *_: f"descent on {len(model._target)} rows")
    parts.wrap(fitting, "_predict", lambda *_: "predictions")
    for problem in PROBLEMS.values():
        fit(problem, "lm")
    for name, seconds in parts.seconds.items():
        print(f"{name}: {1e3 * seconds / len(PROBLEMS):.2f} ms")


def measure_processes() -> None:
    """Print the time per fit in the sandbox if the fit itself takes almost none, for fits alone and 8 at a time."""
    problem = PROBLEMS["oscillator8"]
    names = [variable.name for variable in problem.variables]
    header = f"def equation({', '.join(names)}, params):\n    return"
    trivial = [read_skeleton(f"{header} {at}.5 * params[0]\n", names) for at in range(N_TRIVIAL)]
    sandbox = ProcessSandbox([fitting.__name__])
    fitter = Fitter(sandbox, names, EquationSettings(), builtin_splits(problem))
    fitter.fit(trivial[:1])
    for size in (1, N_TOGETHER):
        began = time.perf_counter()
        for at in range(0, N_TRIVIAL, size):
            fitter.fit(trivial[at : at + size])
        print(f"process, {size} at a time: {1e3 * (time.perf_counter() - began) / N_TRIVIAL:.1f} ms a fit")
    sandbox.close()


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
    print("\nOf a fit by lm, mean over the problems:")
    measure_parts()
    measure_processes()


if __name__ == "__main__":
    main()
