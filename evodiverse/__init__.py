"""EvoDiverse: diverse scientific hypothesis search by parallel-tempered evolution."""

__version__ = "0.1.0"
