"""Mutation and crossover of syntax trees: the classical operator of programs, and what it is made of."""
