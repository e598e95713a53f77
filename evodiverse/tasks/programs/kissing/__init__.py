"""Kissing numbers: evaluator, seed program, and the task's own mutations."""
