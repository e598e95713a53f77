"""Heilbronn's problem as a task of one's own, without moves; the search starts from 11 points (`points_start.py`).

reach is the mean distance of the points from the centroid of the triangle, and nearest the mean distance of each point
to the nearest other one.
"""

import numpy as np

from evodiverse.tasks.programs.heilbronn.evaluator import measure_share

ENTRY_POINT = "place_points"
COLUMNS = {"reach": float, "nearest": float}
N = 11


def drive(place_points):
    """Return the points as lists."""
    import numpy as np

    return np.asarray(place_points()).tolist()


def score(result):
    """Return the smallest triangle's share of the area, divided by the best known one, and the columns."""
    points = np.array(result, dtype=float)
    if points.shape != (N, 2) or not np.isfinite(points).all():
        raise ValueError(f"there must be {N} finite points")
    share = float(measure_share(points.tolist()))
    reach = float(np.hypot(*(points - 1 / 3).T).mean())
    gaps = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1)) + 9 * np.eye(N)
    return share / 0.0365299, {"reach": reach, "nearest": float(gaps.min(axis=1).mean())}
