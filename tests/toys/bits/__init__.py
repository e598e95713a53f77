"""A complete toy domain: strings of 0 and 1 whose scores are known exactly."""
