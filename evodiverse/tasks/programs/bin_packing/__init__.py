"""Online bin packing: the instances, the evaluator, the driver, the verifier, the picture, and the seed program."""
