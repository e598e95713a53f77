"""Cap sets: evaluator, seed program, and the task's own mutations."""
