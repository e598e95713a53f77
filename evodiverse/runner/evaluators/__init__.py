"""Evaluators other than the worker processes of the run."""

from typing import Final

ASK: Final = "ask"
EVALUATORS: Final = ("local", "command", "ray", ASK)
"""The values of ``evaluator.name``."""
