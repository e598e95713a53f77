"""Circle packing: evaluator, geometry, verifier, picture, seed program, and the task's own mutations."""
