"""One folder a domain."""
