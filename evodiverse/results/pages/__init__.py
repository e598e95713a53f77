"""HTML pages about runs. The pages work without a network connection."""
