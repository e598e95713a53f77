"""Online bin packing: instances, evaluator, driver, verifier, picture, seed program, and the task's own mutations."""
