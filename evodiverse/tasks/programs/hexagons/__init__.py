"""Hexagons in a hexagon: evaluator, picture, seed program, and the task's own mutations."""
