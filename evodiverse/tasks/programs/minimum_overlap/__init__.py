"""Erdős' minimum overlap problem: evaluator, seed program, and the task's own mutations."""
