"""Molecules scored by a learned oracle."""
