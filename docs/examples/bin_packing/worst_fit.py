"""Put an item where most space is left."""


def choose_bin(item, spaces):
    best, best_space = -1, 0
    for place, space in enumerate(spaces):
        if space >= item and space > best_space:
            best, best_space = place, space
    return best
