"""Sums and differences of sets: evaluator, seed program, and the task's own mutations."""
