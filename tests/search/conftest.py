"""Property tests of the search core use the same examples in every run, without a time limit per example."""

from hypothesis import settings

settings.register_profile("search", derandomize=True, deadline=None, database=None, max_examples=40)
settings.load_profile("search")
