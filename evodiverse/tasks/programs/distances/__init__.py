"""Points at nearly equal distances: the measure, its verifier, the picture, the seed program, and moves."""
