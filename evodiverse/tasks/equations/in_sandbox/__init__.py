"""The code that runs in the sandbox: the fit of an equation, its comparison with a law, and its LaTeX form."""
