"""Docking of the best molecules of a search into the protein pocket that the oracle represents."""
