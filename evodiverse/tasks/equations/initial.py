"""The skeletons that a search starts from."""

from collections.abc import Sequence

from evodiverse.tasks.equations.skeleton import MAX_PARAMS, NAME, PARAMS


def initial_skeletons(variables: Sequence[str]) -> list[str]:
    """Return a linear and a quadratic skeleton, of the first nine variables if there are more.

    The quadratic one has the linear terms too if there are parameters for all.
    """
    some = variables[: MAX_PARAMS - 1]
    squares = [f"{name}**2" for name in some]
    quadratic = [*some, *squares] if 2 * len(some) < MAX_PARAMS else squares
    header = f"def {NAME}({', '.join([*variables, PARAMS])}):"
    sources = []
    for terms in (some, quadratic):
        scaled = [f"{PARAMS}[{at}] * {term}" for at, term in enumerate(terms)]
        sources.append(f"{header}\n    return {' + '.join([*scaled, f'{PARAMS}[{len(scaled)}]'])}\n")
    return sources
