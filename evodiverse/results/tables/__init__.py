"""The paper's tables and our own, filled from the metrics of many runs."""
