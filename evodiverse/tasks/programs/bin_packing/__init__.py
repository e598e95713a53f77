"""Online bin packing: the instances, the evaluator, its driver and verifier, its picture, and the seed program."""
