"""The shell around the search core: the loop, worker processes, resuming, progress."""
