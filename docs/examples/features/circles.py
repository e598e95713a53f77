"""Circle packing as a task of one's own, without moves; two columns describe how a packing looks.

reach is the mean distance of the centers from the center of the square, and spread the standard deviation of the radii.
"""

import math

import numpy as np

from evodiverse.tasks.programs.circle_packing.packing import find_violation

ENTRY_POINT = "construct_packing"
COLUMNS = {"reach": float, "spread": float}
N = 26


def drive(construct_packing):
    """Return the centers and the radii as lists."""
    import numpy as np

    centers, radii, _ = construct_packing()
    return [np.asarray(centers).tolist(), np.asarray(radii).tolist()]


def score(result):
    """Return the sum of the radii, divided by 2.635, and the columns."""
    centers, radii = (np.array(part, dtype=float) for part in result)
    if centers.shape != (N, 2) or radii.shape != (N,) or not (np.isfinite(centers).all() and np.isfinite(radii).all()):
        raise ValueError(f"there must be {N} circles with finite centers and radii")
    if violation := find_violation(centers, radii):
        raise ValueError(violation)
    reach = float(np.hypot(*(centers - 0.5).T).mean())
    return math.fsum(radii) / 2.635, {"reach": reach, "spread": float(radii.std())}
