"""Docking of the best molecules of a search into the protein pocket that the oracle represents."""

PUBLISHED = "mapk14"
"""The published receptor, which brings the box around its pocket."""
