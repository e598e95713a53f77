"""The common parts of tasks that place points in the plane: the evaluator, exact arithmetic, and the picture."""
