"""Data files fetched without accounts, checked by their SHA-256."""
