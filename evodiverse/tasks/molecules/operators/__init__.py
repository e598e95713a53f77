"""Graph GA, the operator for molecules that works without a language model."""
