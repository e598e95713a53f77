"""Metrics, summaries and tables of runs, computed from their logs alone.

Of a run directory, only the Parquet datasets, ``run.json``, ``.hydra/overrides.yaml`` and small text files are read.
"""
