"""The built-in sets of filters."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

SETS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "medchem": {
            "elements": ["C", "N", "S", "O", "F", "Cl", "Br"],  # as in MOSES (Polykovskiy et al. 2020)
            "max_ring_size": 8,  # as in MOSES
            "ranges": {
                "weight": [None, 500],  # Lipinski et al. 1997, as are the next two and logp
                "donors": [None, 5],
                "acceptors": [None, 10],
                "rotatable_bonds": [None, 10],  # Veber et al. 2002, as is the next one
                "tpsa": [None, 140],
                "logp": [None, 5],  # last, as it takes longest
            },
            "catalogs": ["BRENK", "NIH", "PAINS"],
        },
    }
)
"""The filters that each name stands for, in the form of ``task.filters``."""
