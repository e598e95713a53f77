"""Heilbronn's problem in a triangle: the measure, its verifier and picture, the seed program, and moves."""
