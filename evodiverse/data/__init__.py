"""Data files: how they are downloaded, without an account, and checked by their SHA-256."""
