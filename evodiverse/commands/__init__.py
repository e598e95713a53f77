"""The commands: `evodiverse`, `evodiverse-baseline`, and `evodiverse-show` and `evodiverse-tables`, which read runs."""
