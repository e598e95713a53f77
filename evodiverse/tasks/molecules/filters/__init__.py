"""Filters that reject molecules before they are evaluated (``task.filters``)."""
