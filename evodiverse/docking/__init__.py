"""Docking of the best molecules of a search into the protein pocket that the oracle represents."""

PUBLISHED = "mapk14"
"""The name of the published receptor, which comes with the box around its pocket."""
