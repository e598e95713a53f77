"""Genetic programming on skeletons: the classical operator of equations, and its parts."""
