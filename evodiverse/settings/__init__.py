"""The way from a configuration to a run: schema, validation, identity, and the composition root."""
