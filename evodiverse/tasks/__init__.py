"""The domains that come with EvoDiverse, one folder per domain."""
