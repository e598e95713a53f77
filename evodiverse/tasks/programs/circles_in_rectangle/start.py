"""Pack N circles of any radius into a rectangle of perimeter 4 so that the sum of their radii is maximal."""

import numpy as np

N = 21


def place_circles() -> np.ndarray:
    """Place equal circles in the rows of a square grid.

    Returns:
        Circles of shape (N, 3): x, y and radius. Only the shape of the rectangle around them matters, not its size.
    """
    columns = int(np.ceil(np.sqrt(N)))
    x, y = np.arange(N) % columns, np.arange(N) // columns
    circles = np.stack([x, y, np.full(N, 0.5)], axis=1)
    return circles
