"""The three autocorrelation inequalities: evaluator, seed program, and the task's own mutations."""
