"""Go to the nearest city. A search starts from this program; any that works will do."""


def cost(distance, to_start, to_center):
    return distance
