"""Go to the nearest city. The search starts from this program, and any working program will do."""


def cost(distance, to_start, to_center):
    return distance
