"""The code that runs in the sandbox with an equation: the fit, the comparison with a law, and its formula."""
