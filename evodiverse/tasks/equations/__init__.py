"""Equations: candidates are functions with free parameters, fitted to data."""
