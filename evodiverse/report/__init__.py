"""Pages about runs that a person opens in a browser, without a network."""
