"""The one reader of a run directory: its record, its datasets, and the log that they make."""
