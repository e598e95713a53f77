"""The commands that read runs: `evodiverse-show` and `evodiverse-tables`."""
