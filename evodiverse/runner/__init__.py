"""The runner around the search core: the loop, worker processes, resuming and progress display."""
