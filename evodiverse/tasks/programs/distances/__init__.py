"""Points at equal distances, as nearly as they can be: the measure, its verifier and picture, the seed, and moves."""
