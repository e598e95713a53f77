"""Starting from those molecules of a library that pass the filters."""

import logging
from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.filters.filters import Filters, parse_filtered
from evodiverse.tasks.molecules.initial import AnyLibrary, Molecule
from evodiverse.vocabulary import Reason, Rejection

# Of so many molecules for each that is wanted, and at least of so many in all, enough must pass.
_MOST_EACH: Final = 4
_LEAST: Final = 12_000
_MOST_TOLD: Final = 4

_LOG = logging.getLogger("evodiverse.tasks.molecules")


@dataclass(frozen=True, slots=True)
class FilteredLibrary:
    """A library without the molecules that filters reject, which are found as they are drawn.

    Attributes:
        library: What is drawn from.
        filters: Say what is passed over.
        max_heavy_atoms: Larger molecules are passed over, too.
        needed: Molecules that a pool starts from; drawing more may give fewer.
    """

    library: AnyLibrary
    filters: Filters
    max_heavy_atoms: int
    needed: int

    @property
    def names_lines(self) -> bool:
        """Whether its lines are those of a user's file."""
        return self.library.names_lines

    def __len__(self) -> int:
        """Return how many molecules there are at most."""
        return len(self.library)

    def sample(self, size: int, rng: np.random.Generator) -> list[Molecule]:
        """Draw ``size`` different molecules uniformly from those that pass, and tell how many did not.

        A library of no more than ``size`` molecules gives those that pass, in its order.

        Raises:
            InputError: None pass, or fewer than are needed of a library that has more.
        """
        drawn = self.library.sample(max(_LEAST, _MOST_EACH * size), rng)
        if len(drawn) > size:
            drawn = [drawn[index] for index in rng.permutation(len(drawn)).tolist()]
        passed: list[Molecule] = []
        faults: list[str] = []
        for molecule in drawn:
            if len(passed) == size:
                break
            parsed = parse_filtered(molecule.smiles, self.max_heavy_atoms, self.filters)
            if isinstance(parsed, Rejection):
                faults.append(_classify(parsed))
            else:
                passed.append(molecule)
        told = ", ".join(f"{kind} {n:,}" for kind, n in Counter(faults).most_common(_MOST_TOLD))
        n_checked = len(passed) + len(faults)
        expected = min(size, self.needed, len(drawn))
        if not passed or len(passed) < expected < len(drawn):
            fewer = f"set task.initial.size={len(passed)}, " if passed else ""
            raise InputError(
                f"task.filters: only {len(passed):,} of {n_checked:,} molecules to start from pass, expected "
                f"{expected:,} (rejected most often by {told}); loosen the filters, {fewer}or name other molecules by "
                "task.initial.path"
            )
        if faults:
            _LOG.info(
                "filters passed over %s of %s molecules to start from (%s)", f"{len(faults):,}", f"{n_checked:,}", told
            )
        return passed


def _classify(rejection: Rejection) -> str:
    """Return what kind of filter has rejected a molecule."""
    if rejection.reason is not Reason.FILTERED:
        return str(rejection.reason)
    return rejection.detail if rejection.detail.startswith("in ") else rejection.detail.split()[0]
