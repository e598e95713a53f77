"""Graph GA, the operator for molecules that works without a language model."""

from collections.abc import Sequence
from dataclasses import dataclass

from rdkit import rdBase

from evodiverse.tasks.molecules.operators.crossover import cross_over
from evodiverse.tasks.molecules.operators.mutation import mutate
from evodiverse.tasks.molecules.scaffold import Scaffold
from evodiverse.vocabulary import Proposal, Request

NAME = "graph_ga"


@dataclass(frozen=True, slots=True)
class GraphGA:
    """An operator that crosses the first two parents and sometimes mutates the child; a single parent is mutated.

    Jensen (2019), "A graph-based genetic algorithm and generative model/Monte Carlo tree search for the exploration of
    chemical space", Chemical Science 10, 3567.

    Attributes:
        mutation_rate: The probability that a child of two parents is mutated.
        scaffold: The scaffold whose core all parents have and all children keep, or None.
    """

    mutation_rate: float
    scaffold: Scaffold | None = None

    def propose(self, requests: Sequence[Request]) -> list[Proposal]:
        """Return one proposal per request, in order.

        The genotype of a proposal is a canonical isomeric SMILES, or None if no allowed child was found.
        """
        with rdBase.BlockLogs():  # RDKit prints the faults of each invalid child
            return [self._propose(request) for request in requests]

    def _propose(self, request: Request) -> Proposal:
        rng, scaffold = request.stream.rng(), self.scaffold
        parents = [parent.genotype for parent in request.parents[:2]]
        if len(parents) == 1:
            child, failure = mutate(parents[0], rng, scaffold=scaffold), "no allowed mutation"
        else:
            child, failure = cross_over(parents[0], parents[1], rng, scaffold=scaffold), "no allowed crossover"
            if child is not None and rng.random() < self.mutation_rate:
                failure = "no allowed mutation of the crossover's child"
                child = mutate(child, rng, scaffold=scaffold)
        return Proposal(genotype=child, operator=NAME, error=failure if child is None else "")
