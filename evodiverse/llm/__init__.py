"""Language models: a client for any provider, a cache of all replies, and a small model that runs locally."""
