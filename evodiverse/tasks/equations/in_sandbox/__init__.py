"""The code that runs in the sandbox with an equation: its fit, its comparison with a law, and its LaTeX form."""
