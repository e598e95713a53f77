"""The runner around the search core: the loop, worker processes, resuming and progress display."""

DISPLAYS = ("auto", "none", "plain", "rich")
"""The names of the displays of a run, defined here so that they can be checked without loading rich."""
