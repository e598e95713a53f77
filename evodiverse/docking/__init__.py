"""Docking of the best molecules of a search into the pocket of the oracle's target protein."""

PUBLISHED = "mapk14"
"""The name of the receptor that ``evodiverse-dock --receptor`` can download, with the box around its pocket."""
