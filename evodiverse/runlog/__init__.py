"""Reading run directories: records, datasets, and logs as a whole."""
