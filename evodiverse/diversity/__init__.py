"""Vectors of texts, and the diversity of sets of texts by the distances between their vectors."""
