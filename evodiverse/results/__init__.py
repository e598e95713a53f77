"""Metrics, summaries and tables of runs, computed only from their logs.

From a run directory, only the Parquet datasets, ``run.json``, ``.hydra/overrides.yaml`` and small text files are read.
"""
