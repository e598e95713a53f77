"""A moving average."""

# EVOLVE-BLOCK-START
WINDOW = 5.0
WEIGHT = 0.5


def combine(recent, previous):
    mean = sum(recent) / len(recent)
    return WEIGHT * mean + (1.0 - WEIGHT) * recent[-1] + 0.0 * previous


# EVOLVE-BLOCK-END


class Smoother:
    """The evaluator makes one for each signal."""

    def __init__(self):
        self.recent = []
        self.previous = 0.0

    def update(self, sample):
        size = max(1, min(50, int(WINDOW)))
        self.recent = [*self.recent, sample][-size:]
        self.previous = combine(self.recent, self.previous)
        return self.previous
