"""Pack N regular hexagons with sides of 1 into a regular hexagon with sides as short as possible."""

import numpy as np

N = 11


def place_hexagons() -> np.ndarray:
    """Place hexagons in the rows of a square grid.

    Returns:
        Hexagons of shape (N, 3): x, y and the tangent of half the angle by which each is turned.
    """
    columns = int(np.ceil(np.sqrt(N)))
    spots = 2 * np.stack([np.arange(N) % columns, np.arange(N) // columns], axis=1)
    hexagons = np.column_stack([spots, np.zeros(N)])
    return np.column_stack([hexagons[:, :2], np.tan(hexagons[:, 2] / 2)])
