"""The molecules that pools start from, drawn from those of a library that pass the filters."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from evodiverse.errors import InputError
from evodiverse.tasks.molecules.filters.filters import Filters, parse_filtered
from evodiverse.tasks.molecules.initial import AnyLibrary, Molecule
from evodiverse.text import count_of
from evodiverse.vocabulary import Reason, Rejection

# The number of molecules drawn, of which enough must pass: _MOST_EACH for each molecule requested, at least _LEAST.
_MOST_EACH: Final = 4
_LEAST: Final = 12_000
_MOST_TOLD: Final = 4

_LOG = logging.getLogger("evodiverse.tasks.molecules")


@dataclass(frozen=True, slots=True)
class FilteredLibrary:
    """A view of a library without the molecules that filters reject; molecules are filtered as they are drawn.

    Attributes:
        library: The library to draw from.
        filters: The filters that molecules must pass.
        max_heavy_atoms: The maximum number of heavy atoms; larger molecules are skipped, too.
        needed: The number of molecules that a pool starts from. If more than this number are requested and too few
            pass, `sample` returns fewer than requested. It raises an error only if fewer than ``needed`` pass.
        told: The messages that were logged, none of which is logged twice.
    """

    library: AnyLibrary
    filters: Filters
    max_heavy_atoms: int
    needed: int
    told: set[str] = field(default_factory=set)

    @property
    def names_lines(self) -> bool:
        """Whether the molecules come from a user's file (see `AnyLibrary.names_lines`)."""
        return self.library.names_lines

    def all_smiles(self) -> Sequence[str]:
        """Return the SMILES of all molecules, whether or not they pass the filters."""
        return self.library.all_smiles()

    def digest(self) -> str:
        """Return the digest of the unfiltered library."""
        return self.library.digest()

    def __len__(self) -> int:
        """Return the size of the unfiltered library."""
        return len(self.library)

    def sample(self, size: int, rng: np.random.Generator) -> list[Molecule]:
        """Draw ``size`` different molecules uniformly from those that pass the filters and are not too large.

        The number of molecules rejected on the way is logged. From a library of at most ``size`` molecules, all that
        pass are returned.

        Raises:
            InputError: No molecule passes. Or more molecules were drawn from the library than the smaller of ``size``
                and ``self.needed`` (the number that a pool starts from), and fewer than that number pass.
        """
        return self._draw(size, rng, size)

    def check(self, size: int, rng: np.random.Generator) -> None:
        """Raise the error that `sample` would raise, which is known as soon as `needed` molecules have passed."""
        self._draw(size, rng, min(size, self.needed))

    def _draw(self, size: int, rng: np.random.Generator, enough: int) -> list[Molecule]:
        """Draw as `sample` does, but stop when ``enough`` molecules have passed."""
        drawn = self.library.sample(max(_LEAST, _MOST_EACH * size), rng)
        if len(drawn) > size:
            drawn = [drawn[index] for index in rng.permutation(len(drawn)).tolist()]
        passed: list[Molecule] = []
        faults: list[str] = []
        for molecule in drawn:
            if len(passed) == enough:
                break
            parsed = parse_filtered(molecule.smiles, self.max_heavy_atoms, self.filters)
            if isinstance(parsed, Rejection):
                faults.append(_classify(parsed))
            else:
                passed.append(molecule)
        most = Counter(faults).most_common(_MOST_TOLD)
        n_checked = len(passed) + len(faults)
        expected = min(size, self.needed, len(drawn))
        if not passed or len(passed) < expected < len(drawn):
            shown = f"only {len(passed):,}" if passed else "none"
            fewer = f", set task.initial.size={len(passed)}," if passed else ""
            rejected = "; ".join(f"{kind}, {count_of(n, 'time')}" for kind, n in most)
            raise InputError(
                f"task.filters: {shown} of {n_checked:,} initial molecules pass, expected {expected:,} (most often "
                f"rejected by: {rejected}); loosen the filters{fewer} or provide other molecules with task.initial.path"
            )
        if faults:
            n_other = len(faults) - sum(n for _, n in most)
            kinds = ", ".join(f"{kind} {n:,}" for kind, n in [*most, *([("other", n_other)] if n_other else [])])
            told = f"filters rejected {len(faults):,} of {count_of(n_checked, 'molecule')} drawn for a pool ({kinds})"
            if told not in self.told:  # two pools may draw the same molecules of a small file
                self.told.add(told)
                _LOG.info("%s", told)
        return passed


def _classify(rejection: Rejection) -> str:
    """Return the kind of filter that rejected a molecule, or the reason for the rejection if no filter caused it."""
    if rejection.reason is not Reason.FILTERED:
        return str(rejection.reason)
    return rejection.detail if rejection.detail.startswith("in ") else rejection.detail.split()[0]
