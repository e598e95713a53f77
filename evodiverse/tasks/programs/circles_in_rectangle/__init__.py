"""Circles in a rectangle of given perimeter: evaluator, picture, seed program, and the task's own mutations."""
