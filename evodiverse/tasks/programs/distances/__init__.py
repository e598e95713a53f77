"""Points at nearly equal distances: measure, verifier, picture, seed program, and the task's own mutations."""
