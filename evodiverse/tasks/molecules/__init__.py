"""Molecules: candidates are molecules scored by an oracle or an objective."""
