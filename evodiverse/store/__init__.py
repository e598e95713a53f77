"""Where a run is kept: Parquet datasets, checkpoints, and the life cycle of the run directory."""
