"""The search core: arithmetic on pools, scores, energies and temperatures.

It is independent of the domain. It reads and writes no files, reads no clock and starts no processes. It may import
only `evodiverse.vocabulary`, the standard library, numpy and scipy.
"""
