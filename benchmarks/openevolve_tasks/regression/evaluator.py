"""A formula for measured data: the program is the formula, and its parameters are fitted here."""

import csv
import importlib.util
import os

import numpy as np
from scipy.optimize import minimize

DATA = os.path.join(os.path.dirname(__file__), "data.csv")
N_PARAMETERS = 6


def read_data():
    with open(DATA, newline="") as file:
        rows = [[float(cell) for cell in row] for row in list(csv.reader(file))[1:]]
    table = np.array(rows)
    return table[:, :-1], table[:, -1]


def fit(formula, inputs, target):
    def loss(parameters):
        return float(np.mean((np.asarray(formula(inputs, parameters), float) - target) ** 2))

    starts = [np.ones(N_PARAMETERS), np.random.uniform(-1, 1, N_PARAMETERS)]
    with np.errstate(all="ignore"):
        return min(minimize(loss, start, method="BFGS", options={"maxiter": 60}).fun for start in starts)


def evaluate(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    inputs, target = read_data()
    error = fit(program.func, inputs, target)
    if not np.isfinite(error):
        return {"combined_score": float("nan"), "mse": error}
    return {"mse": error, "combined_score": 1 / (1 + error)}
