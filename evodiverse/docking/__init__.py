"""Docking of the best molecules of a search into the pocket of the oracle's target protein."""

PUBLISHED = "mapk14"
"""The name of the published receptor, which comes with the box around its pocket."""
