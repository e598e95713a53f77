"""The formula of a driven, damped pendulum, to be found."""

import numpy as np


# EVOLVE-BLOCK-START
def func(x, params):
    """Return the predictions ``(n,)`` for the inputs ``(n, 3)``: angle, speed and time."""
    angle = x[:, 0]
    speed = x[:, 1]
    time = x[:, 2]
    result = params[0] * angle + params[1] * speed + params[2] * time
    return result + params[3]


# EVOLVE-BLOCK-END
