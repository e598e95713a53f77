"""Programs: hypotheses that are Python source, run in the sandbox."""
