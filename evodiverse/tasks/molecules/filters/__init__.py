"""What a molecule must be like to be evaluated at all (``task.filters``)."""
