"""Genetic programming on skeletons: the classical operator of equations, and what it is made of."""
