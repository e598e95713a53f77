"""Pack 26 circles into the unit square; the sum of the radii counts."""

import importlib.util
import time
import traceback

import numpy as np
from openevolve.evaluation_result import EvaluationResult

N = 26
BEST_KNOWN = 2.635
TOLERANCE = 1e-6


def find_fault(centers, radii):
    if centers.shape != (N, 2) or radii.shape != (N,):
        return f"shapes {centers.shape} and {radii.shape}"
    if not (np.isfinite(centers).all() and np.isfinite(radii).all()) or (radii < 0).any():
        return "not finite, or a negative radius"
    if (centers - radii[:, None] < -TOLERANCE).any() or (centers + radii[:, None] > 1 + TOLERANCE).any():
        return "a circle leaves the square"
    apart = np.linalg.norm(centers[:, None] - centers[None], axis=2)
    overlap = radii[:, None] + radii[None] - apart
    np.fill_diagonal(overlap, 0)
    if overlap.max() > TOLERANCE:
        one, other = np.unravel_index(overlap.argmax(), overlap.shape)
        return f"circles {one} and {other} overlap by {overlap.max():.4g}"
    return ""


def evaluate(program_path):
    began = time.time()
    try:
        spec = importlib.util.spec_from_file_location("program", program_path)
        program = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(program)
        centers, radii, _ = program.run_packing()
        centers, radii = np.asarray(centers, float), np.asarray(radii, float)
    except Exception:
        return EvaluationResult(
            metrics={"sum_radii": 0.0, "validity": 0.0, "combined_score": 0.0},
            artifacts={"traceback": traceback.format_exc()},
        )
    fault = find_fault(centers, radii)
    total = 0.0 if fault else float(radii.sum())
    smallest = f"circle {int(radii.argmin())} is the smallest, {radii.min():.4f}" if radii.size else ""
    return EvaluationResult(
        metrics={"sum_radii": total, "validity": float(not fault), "combined_score": total / BEST_KNOWN},
        artifacts={"error": fault} if fault else {"advice": smallest, "is_slow": str(time.time() - began > 10)},
    )
