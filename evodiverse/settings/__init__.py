"""From a configuration to a run: the schema, its validation, the identity of a run, and the assembly of its parts."""
