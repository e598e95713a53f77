"""HTML pages about runs, which need no network."""
