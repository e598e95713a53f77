"""What runs in the sandbox beside an equation: the fit, the comparison with a law, the formula."""
