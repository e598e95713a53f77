"""The paper's figures and our own, drawn from logs: one module per figure, and the modules that they share."""
