"""The paper's tables and our own, from what is measured of many runs."""
