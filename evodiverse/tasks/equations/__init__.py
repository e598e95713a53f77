"""Equations: candidates are functions whose free parameters are fitted to data."""
