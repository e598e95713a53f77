"""The search core: arithmetic on pools, scores, energies and temperatures.

It knows no domain, no files, no clocks and no processes. It may import only `evodiverse.vocabulary`, the standard
library, numpy and scipy.
"""
