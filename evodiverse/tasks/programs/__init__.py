"""The program domain: hypotheses are Python programs that run in the sandbox."""
