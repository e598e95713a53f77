"""From logs to tables and figures. It reads Parquet and ``run.json`` only."""
