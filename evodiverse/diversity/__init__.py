"""Vectors that represent texts, and the diversity of sets of texts, measured by the distances between these vectors."""
