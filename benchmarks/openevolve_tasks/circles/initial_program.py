# EVOLVE-BLOCK-START
"""Rings of circles around the center of the square."""

import numpy as np


def construct_packing():
    n = 26
    centers = np.zeros((n, 2))
    centers[0] = [0.5, 0.5]
    for k in range(8):
        angle = 2 * np.pi * k / 8
        centers[k + 1] = [0.5 + 0.25 * np.cos(angle), 0.5 + 0.25 * np.sin(angle)]
    for k in range(17):
        angle = 2 * np.pi * k / 17
        centers[k + 9] = [0.5 + 0.45 * np.cos(angle), 0.5 + 0.45 * np.sin(angle)]
    return centers, compute_radii(centers)


def compute_radii(centers):
    n = len(centers)
    radii = np.minimum(centers, 1 - centers).min(axis=1)
    for i in range(n):
        for j in range(i + 1, n):
            distance = np.linalg.norm(centers[i] - centers[j])
            if radii[i] + radii[j] > distance:
                scale = distance / (radii[i] + radii[j])
                radii[i] *= scale
                radii[j] *= scale
    return radii


# EVOLVE-BLOCK-END


def run_packing():
    """The evaluator calls this."""
    centers, radii = construct_packing()
    return centers, radii, float(np.sum(radii))
