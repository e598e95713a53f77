"""Who evaluates candidates, where that is not done by the worker processes of the run."""

from typing import Final

ASK: Final = "ask"
EVALUATORS: Final = ("local", "command", "ray", ASK)
"""The values of ``evaluator.name``."""
