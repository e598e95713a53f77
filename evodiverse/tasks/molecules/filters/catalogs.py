"""RDKit's catalogs of substructures that make trouble in assays or in drugs."""

import re
from functools import cache
from typing import Final

from rdkit import Chem
from rdkit.Chem.FilterCatalog import FilterCatalog, FilterCatalogParams

# In the order in which they are asked: how many molecules a catalog rejects for its time.
CATALOGS: Final = ("BRENK", "NIH", "PAINS")
"""Brenk et al. 2008 (unwanted in screening libraries), NIH (Doveston et al. 2015, Jadhav et al. 2010: reactive or
interfering) and PAINS (Baell and Holloway 2010: hits in many assays)."""
# Behind the names of PAINS stands how many of the authors' molecules had them.
_COUNT: Final = re.compile(r"\(\d+\)$")


def find_alert(catalog: str, molecule: Chem.Mol) -> str | None:
    """Return the name of the first substructure of a catalog that a molecule has, None if it has none."""
    entry = _build(catalog).GetFirstMatch(molecule)
    return None if entry is None else _COUNT.sub("", entry.GetDescription())


@cache
def _build(catalog: str) -> FilterCatalog:
    return FilterCatalog(FilterCatalogParams(getattr(FilterCatalogParams.FilterCatalogs, catalog)))
