"""The formula for the acceleration of a body in water, to be found."""

import numpy as np


# EVOLVE-BLOCK-START
def func(x, params):
    """Return the predictions ``(n,)`` for the inputs ``(n, 3)``: depth, speed and time."""
    depth = x[:, 0]
    speed = x[:, 1]
    time = x[:, 2]
    result = params[0] * depth + params[1] * speed + params[2] * time
    return result + params[3]


# EVOLVE-BLOCK-END
