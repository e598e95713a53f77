"""The only reader of run directories: records, datasets, and logs as a whole."""
