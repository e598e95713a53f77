# EVOLVE-BLOCK-START
def priority(now, time, due, weight):
    """Return how long a job should wait; the job with the lowest value is next."""
    return due


# EVOLVE-BLOCK-END
