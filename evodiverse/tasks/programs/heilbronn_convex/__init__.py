"""Heilbronn's problem in a convex region: evaluator, picture, seed program, and the task's own mutations."""
