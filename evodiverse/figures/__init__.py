"""The paper's figures, and ours, from the logs: one module each, and what they share."""
