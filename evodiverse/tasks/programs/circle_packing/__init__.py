"""Circle packing: the evaluator, the geometry, the verifier, the picture, the seed program, and the moves."""
