"""Circle packing: the evaluator, its geometry, its picture, the seed program, and moves that the operator knows."""
