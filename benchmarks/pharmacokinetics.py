"""Write noisy concentrations of a drug after one dose by mouth: python benchmarks/pharmacokinetics.py FOLDER.

260 rows for the fit with 5% noise, and 500 without noise to measure errors on; see `concentration` for the law.
"""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

N_TRAIN, N_TEST = 260, 500
NOISE = 0.05
NAMES = ("dose", "time", "weight", "sex", "concentration")


def concentration(inputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the concentration for rows of dose (mg), time (h), weight (kg) and sex (0 or 1): one compartment."""
    dose, time, weight, sex = inputs.T
    absorption, elimination = 1.2, 0.12 * (1 - 0.15 * sex)
    curve = np.exp(-elimination * time) - np.exp(-absorption * time)
    return np.asarray(dose / (0.6 * weight) * absorption / (absorption - elimination) * curve)


def draw(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    uniform = rng.uniform((50, 0.25, 45), (400, 24, 110), (n, 3))
    return np.column_stack([uniform, rng.integers(2, size=n)])


def main() -> None:
    folder, rng = Path(sys.argv[1]), np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    for name, n, noise in (("train", N_TRAIN, NOISE), ("test_id", N_TEST, 0.0), ("test_ood", N_TEST, 0.0)):
        inputs = draw(n, rng)
        target = concentration(inputs) * (1 + noise * rng.standard_normal(n))
        table = np.column_stack([inputs, target])
        np.savetxt(folder / f"{name}.csv", table, delimiter=",", header=",".join(NAMES), comments="", fmt="%.8g")


if __name__ == "__main__":
    main()
