"""EvoDiverse: diverse scientific hypothesis search by parallel-tempered evolution."""

from importlib.metadata import version

__version__ = version("evodiverse")
