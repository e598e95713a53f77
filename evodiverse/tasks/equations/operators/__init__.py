"""The classical operator for equations, which is genetic programming on skeletons without a language model."""
