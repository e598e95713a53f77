"""Scores composed of several components, each with a transform and a weight (``task.objective``)."""
