"""Pack N circles into the unit square so that the sum of their radii is as large as possible."""

import numpy as np

from evodiverse.tasks.programs.circle_packing.blocks import lay_rows, polish, soften

N = 26
INNER_SHARE = 0.32
INNER_RADIUS = 0.1
OUTER_RADIUS = 0.2


def construct_packing() -> tuple[np.ndarray, np.ndarray, float]:
    """Place one circle at the center and the others on two rings around it.

    Returns:
        Centers of shape (N, 2), radii of shape (N,), and the sum of the radii.
    """
    n_inner = round(INNER_SHARE * (N - 1))
    n_outer = N - 1 - n_inner
    centers = np.full((N, 2), 0.5)
    index = 1
    for count, ring_radius in [(n_inner, INNER_RADIUS), (n_outer, OUTER_RADIUS)]:
        for step in range(count):
            angle = 2 * np.pi * step / count
            centers[index, 0] += ring_radius * np.cos(angle)
            centers[index, 1] += ring_radius * np.sin(angle)
            index += 1
    radii = compute_radii(centers)
    rng = np.random.default_rng(0)
    for _ in range(8):
        spots = lay_rows(rng, len(centers)) + rng.normal(0, 0.05, centers.shape)
        trial = polish(*soften(np.clip(spots, 0.02, 0.98), 0 * radii + 0.06, 0.3))
        if trial[1].sum() > radii.sum():
            centers, radii = trial
    return (centers, radii, float(np.sum(radii)))


def compute_radii(centers: np.ndarray) -> np.ndarray:
    """Let each circle grow to the nearest wall, but not beyond half the distance to its nearest neighbor."""
    radii = np.zeros(len(centers))
    for i in range(len(centers)):
        x, y = centers[i]
        radii[i] = min(x, y, 1 - x, 1 - y)
        for j in range(len(centers)):
            if j != i:
                distance = np.sqrt(np.sum((centers[i] - centers[j]) ** 2))
                radii[i] = min(radii[i], distance / 2)
    return radii
