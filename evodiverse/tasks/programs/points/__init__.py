"""What the tasks share that ask for points in the plane: the evaluator, exact arithmetic, the canvas of pictures."""
