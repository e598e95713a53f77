"""Heilbronn's problem in a triangle: the measure, its verifier, the picture, the seed program, and the moves."""
