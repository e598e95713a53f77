"""Points at nearly equal distances: evaluator, picture, seed program, and the task's own mutations."""
