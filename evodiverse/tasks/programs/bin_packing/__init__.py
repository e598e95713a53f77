"""Online bin packing: instances, evaluator, driver, verifier, picture, seed program, and moves."""
