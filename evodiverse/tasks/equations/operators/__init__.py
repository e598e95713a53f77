"""The classical operator for equations: genetic programming, without a language model.

It changes skeletons, which are equations with free parameters.
"""
