"""Measure how fast programs run in the sandbox: python benchmarks/sandbox.py [SECONDS].

Counts programs per second on one core, and in turns with that, how often per second Python can start and import a
library. Trivial programs are compared with `import numpy`, and programs that solve a small problem with
`scipy.optimize` are compared with `import scipy.optimize`. Each turn takes SECONDS (by default 3). Then measures how
long an endless program outlives its limit, once for the limit on CPU time and once for that on wall time.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable

from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.vocabulary import Job, Limits

TURNS = 4
OPTIMIZING = """
from scipy.optimize import linprog, minimize


def main():
    walls = {"type": "ineq", "fun": lambda z: 1 - z}
    found = minimize(lambda z: -z.sum(), [0.0, 0.0], method="SLSQP", constraints=walls)
    return float(found.x.sum() + linprog([-1.0], A_ub=[[2.0]], b_ub=[1.0]).fun)
"""


def rate(run: Callable[[], object], seconds: float) -> float:
    """Return how often per second ``run`` can be called, measured over the given seconds."""
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        run()
        count += 1
    return count / (time.perf_counter() - began)


def job(code: str, cpu_seconds: float = 10.0) -> Job:
    return Job(f"def main():\n    {code}\n", "main", (), None, Limits(cpu_seconds))


def compare(name: str, sandbox: ProcessSandbox, program: Job, imported: str, seconds: float) -> None:
    """Print how many programs run per second, and the ratio to how often per second Python starts with an import."""
    start = [sys.executable, "-c", f"import {imported}"]
    ratios, rates = [], []
    for _ in range(TURNS):
        rates.append(rate(lambda: sandbox.run([program]), seconds))
        ratios.append(rates[-1] / rate(lambda: subprocess.run(start, check=True), seconds))
    rates.sort()
    ratios.sort()
    print(
        f"{name} programs on one core: {rates[0]:.0f} to {rates[-1]:.0f} a second, median {rates[len(rates) // 2]:.0f}"
    )
    print(f"times the rate of python -c 'import {imported}': {ratios[0]:.0f} to {ratios[-1]:.0f}")


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    sandbox = ProcessSandbox()
    compare("trivial", sandbox, job("return 1"), "numpy", seconds)
    optimizing = Job(OPTIMIZING, "main", (), None, Limits(10.0))
    (execution,) = sandbox.run([optimizing])
    if execution.value is None or abs(execution.value - 1.5) > 1e-6:
        raise SystemExit(f"the optimizing program returned {execution.value} ({execution.failure})")
    compare("optimizing", sandbox, optimizing, "scipy.optimize", seconds)
    for name, code, limit in (("CPU", "while True: pass", 1.0), ("wall", "import time; time.sleep(1e6)", 3.0)):
        late = max(sandbox.run([job(code, 1.0)])[0].wall_seconds - limit for _ in range(5))
        print(f"gone {late:.2f} s after the limit on {name} time at the latest, of 5 programs")


if __name__ == "__main__":
    main()
