"""From logs to tables and figures. It reads Parquet, ``run.json`` and ``.hydra/overrides.yaml`` only."""
