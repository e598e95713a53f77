"""A support vector machine on feature counts, stored as plain arrays and evaluated with numpy and scipy only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator

from evodiverse.tasks.molecules.classifier_files import ArrayModel, Record, build_array, state_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

N_FEATURES: Final = 2048
_FEATURES: Final = rdFingerprintGenerator.GetMorganGenerator(
    radius=3, atomInvariantsGenerator=rdFingerprintGenerator.GetMorganFeatureAtomInvGen(), fpSize=N_FEATURES
)


@dataclass(frozen=True, eq=False)
class SupportVectorMachine(ArrayModel):
    """A support vector machine with an RBF kernel and Platt's probabilities; the arrays are read-only.

    Attributes:
        vectors: ``(n, 2048)`` uint8; the support vectors, which are counts.
        coefficients: ``(n,)`` float64; their signed weights in the decision value.
        constants: ``(4,)`` float64; the intercept of the decision value, which is positive for the first class; the
            gamma of the kernel ``exp(-gamma |x - y|²)``; and the slope and offset of the sigmoid that maps a decision
            value to a probability (Platt's A and B).

    Raises:
        ValueError: An array has the wrong shape or type, or a value is not finite.
    """

    what: ClassVar = "support vector machine"
    types: ClassVar[Mapping[str, str]] = {"vectors": "<u1", "coefficients": "<f8", "constants": "<f8"}
    pickled: ClassVar = "SVC"
    remedy: ClassVar = "fetch the published one again"
    vectors: NDArray[np.uint8]
    coefficients: NDArray[np.float64]
    constants: NDArray[np.float64]
    _columns: NDArray[np.float32] = field(init=False, repr=False)
    _squares: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n = len(self.vectors)
        self.check_arrays(vectors=(n, N_FEATURES), coefficients=(n,), constants=(4,))
        # Sums of products of counts stay below 2**24, so they are exact in float32.
        object.__setattr__(self, "_columns", np.ascontiguousarray(self.vectors.T, dtype=np.float32))
        object.__setattr__(self, "_squares", (self.vectors.astype(np.float64) ** 2).sum(axis=1))

    @classmethod
    def from_record(cls, record: Record) -> Self:
        """Convert a pickled SVC over 2048 feature counts per molecule; its second class counts as active.

        Only published machines are converted, and the result must have their SHA-256. Therefore the kernel and the
        values are not checked here.

        Raises:
            ValueError: The record is not a classifier with two classes and probabilities.
        """
        state = state_of(record, cls.pickled)
        counts = build_array(state["support_vectors_"]).astype(np.uint8)
        # Attributes with a leading underscore are libsvm's own; scikit-learn negates the public ones for two classes.
        intercept, slope, offset = (build_array(state[name]) for name in ("_intercept_", "_probA", "_probB"))
        constants = np.concatenate([intercept, [state["_gamma"]], slope, offset])
        return cls(counts, build_array(state["_dual_coef_"]).ravel(), constants)

    def score(self, molecules: Sequence[Chem.Mol]) -> NDArray[np.float64]:
        """Return the ``(n,)`` probabilities that ``n`` molecules are active; each is the same in every batch."""
        return self.predict(count_features(molecules))

    def predict(self, counts: "csr_array") -> NDArray[np.float64]:
        """Return the probability of being active, as scikit-learn's ``predict_proba`` does.

        A molecule's value is the same to the last bit in every batch: squared distances are whole numbers, and each row
        is summed separately.

        Args:
            counts: ``(n, 2048)`` float32 whole numbers; n may be 0.

        Returns:
            ``(n,)`` probabilities in [0, 1].
        """
        intercept, gamma, slope, offset = self.constants
        squares = counts.multiply(counts).sum(axis=1, dtype=np.float64)
        distances = squares[:, np.newaxis] + self._squares - 2.0 * (counts @ self._columns).astype(np.float64)
        decisions = (np.exp(-gamma * distances) * self.coefficients).sum(axis=1) + intercept
        logits = slope * decisions + offset
        return 1 - _couple(0.5 * (1 - np.tanh(logits / 2)))  # 1 / (1 + exp(x)) without overflow


def _couple(pairwise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of the first of two classes after libsvm's coupling (Wu, Lin and Weng 2004, algorithm 2).

    For two classes the exact result would be the input itself. libsvm nevertheless iterates until the error is within a
    tolerance, and the published scores are the result of these iterations.

    Args:
        pairwise: ``(n,)`` probabilities of the first class.

    Returns:
        ``(n,)`` coupled probabilities.
    """
    first = np.clip(pairwise, 1e-7, 1 - 1e-7)  # this and the two limits below are libsvm's
    second = 1 - first
    q = np.stack([np.stack([second**2, -first * second]), np.stack([-first * second, first**2])])
    p = np.full((2, len(first)), 0.5)
    is_open = np.ones(len(first), dtype=np.bool_)
    for _ in range(100):
        products = q[:, 0] * p[0] + q[:, 1] * p[1]
        value = p[0] * products[0] + p[1] * products[1]
        is_open &= np.abs(products - value).max(axis=0) >= 0.005 / 2
        if not is_open.any():
            break
        now = p
        for t in range(2):
            step = (value - products[t]) / q[t, t]
            now = now + np.where(np.arange(2)[:, np.newaxis] == t, step, 0.0)
            value = (value + step * (step * q[t, t] + 2 * products[t])) / (1 + step) ** 2
            products = (products + step * q[t]) / (1 + step)
            now = now / (1 + step)
        p = np.where(is_open, now, p)
    coupled: NDArray[np.float64] = p[0]
    return coupled


def count_features(molecules: Sequence[Chem.Mol]) -> "csr_array":
    """Return the counts of feature-based Morgan fingerprints of radius 3 (FCFP6), folded modulo 2048.

    Args:
        molecules: ``n`` molecules; n may be 0.

    Returns:
        ``(n, 2048)`` float32 sparse array.
    """
    from scipy.sparse import csr_array  # here: slow to import, and most runs do not need it

    rows = [_FEATURES.GetCountFingerprintAsNumPy(molecule) for molecule in molecules]
    return csr_array(np.array(rows, dtype=np.float32).reshape(-1, N_FEATURES))
