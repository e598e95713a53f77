"""The storage of runs: Parquet datasets, checkpoints, and the life cycle of a run directory."""
