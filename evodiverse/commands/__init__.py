"""The commands: `evodiverse`, and `evodiverse-show` and `evodiverse-tables`, which read runs."""
