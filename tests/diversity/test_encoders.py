"""Encoders, tested with a small random RoBERTa written here, and with MiniLM itself if it is in the cache."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from evodiverse.data.artifacts import artifact_names
from evodiverse.data.cache import State, artifact_folder, inspect_artifact
from evodiverse.diversity.distances import measure_diversity
from evodiverse.diversity.encoders import CODEBERT, CODEBERT_REVISION, Encoder, load_codebert, load_minilm
from evodiverse.errors import DataError, InputError

MAX_TOKENS = 12
TEXTS = ["x = 1", "def f(a, b):\n    return a", "", "y", "x = 1", "for i in range(9): pass"]
PACK = "def pack(n):\n    return [(0.1 * i, 0.2, 0.05) for i in range(n)]"
PACK_TOO = "def pack(count):\n    return [(0.1 * k, 0.3, 0.05) for k in range(count)]"
GREET = "class Greeter:\n    def greet(self, person):\n        print('hello', person.name)"


def byte_tokens() -> list[str]:
    """Return the tokens of single bytes in RoBERTa's tokenizer."""
    from tokenizers.pre_tokenizers import ByteLevel

    return sorted(ByteLevel.alphabet())


def write_roberta(folder: Path, torch: ModuleType, *, positions: int = MAX_TOKENS, pickled: bool = False) -> None:
    """Save a RoBERTa of random weights, and a tokenizer of bytes without merges, as the published ones are saved.

    Pickled weights lack the part that makes no vectors of tokens.
    """
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(5)
    config = transformers.RobertaConfig(
        vocab_size=261,
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=16,
        max_position_embeddings=positions + 2,
        initializer_range=0.5,
    )
    model = transformers.RobertaModel(config)
    model.save_pretrained(folder)
    if pickled:
        (folder / "model.safetensors").unlink()
        weights = {name: weight for name, weight in model.state_dict().items() if not name.startswith("pooler")}
        torch.save(weights, folder / "pytorch_model.bin")
    tokens = [*("<s>", "<pad>", "</s>", "<unk>"), *byte_tokens(), "<mask>"]
    (folder / "vocab.json").write_text(json.dumps({token: index for index, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "RobertaTokenizer"}')


@pytest.fixture(scope="module")
def torch() -> ModuleType:
    pytest.importorskip("transformers")
    return pytest.importorskip("torch")


@pytest.fixture
def folder(tmp_path: Path, torch: ModuleType) -> Path:
    """A folder with a small encoder."""
    write_roberta(tmp_path / "roberta", torch)
    return tmp_path / "roberta"


@pytest.fixture
def encoder(folder: Path) -> Encoder:
    return Encoder(folder, MAX_TOKENS)


@pytest.fixture(scope="module")
def minilm(torch: ModuleType) -> Encoder:
    if any(inspect_artifact(name).state is not State.PRESENT for name in artifact_names("minilm")):
        pytest.skip("the data minilm is not in the cache")
    return load_minilm(artifact_folder("minilm"))


@pytest.mark.parametrize("missing", ["torch", "transformers"])
def test_a_missing_library_is_reported_with_the_extra(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, missing, None)
    for load in (lambda: load_minilm(tmp_path), load_codebert):
        with pytest.raises(
            InputError, match=r"^embeddings need torch and transformers; run pip install 'evodiverse\[code"
        ):
            load()


@pytest.mark.slow
@pytest.mark.torch
def test_a_vector_is_the_mean_over_all_tokens_including_the_special_ones(
    folder: Path, encoder: Encoder, torch: ModuleType
) -> None:
    import transformers

    model = transformers.RobertaModel.from_pretrained(folder).eval()
    ids = [0, *(4 + byte_tokens().index(letter) for letter in "xyy"), 2]
    with torch.no_grad():
        layer = model(torch.tensor([ids])).last_hidden_state[0]
    padded = encoder.embed(["longer", "xyy"])[1]
    assert padded == pytest.approx(sum(layer).numpy() / 5, abs=1e-6)


@pytest.mark.slow
@pytest.mark.torch
def test_texts_have_the_same_vectors_in_a_batch_and_alone(encoder: Encoder) -> None:
    alone = [encoder.embed([text])[0] for text in TEXTS]
    assert encoder.embed(TEXTS) == pytest.approx(np.array(alone), abs=1e-6)
    assert len({tuple(vector.round(3)) for vector in alone}) == len(set(TEXTS))


@pytest.mark.slow
@pytest.mark.torch
def test_more_texts_than_a_batch_keep_their_order(encoder: Encoder) -> None:
    vectors = encoder.embed(TEXTS * 9)
    assert vectors.shape == (54, 12)
    assert vectors == pytest.approx(np.tile(encoder.embed(TEXTS), (9, 1)), abs=1e-6)


@pytest.mark.slow
@pytest.mark.torch
def test_vectors_are_float32_and_the_same_each_time(folder: Path, encoder: Encoder) -> None:
    vectors = encoder.embed(TEXTS)
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors, Encoder(folder, MAX_TOKENS).embed(TEXTS))


@pytest.mark.slow
@pytest.mark.torch
def test_no_texts_give_no_vectors(encoder: Encoder) -> None:
    assert encoder.embed([]).shape == (0, 12)


@pytest.mark.slow
@pytest.mark.torch
def test_text_beyond_the_length_of_a_model_is_ignored(encoder: Encoder) -> None:
    start = "x" * (MAX_TOKENS - 2)
    read, too_long, shorter = encoder.embed([start, start + "y" * 100_000, start[1:]])
    assert too_long == pytest.approx(read, abs=1e-6)
    assert shorter != pytest.approx(read, abs=1e-3)


@pytest.mark.slow
@pytest.mark.torch
def test_diversity_can_be_computed_from_embeddings(encoder: Encoder) -> None:
    diversity = measure_diversity(encoder.embed(["x = 1", "x = 1", "y"]), [[0, 1], [1, 2]])
    same, other = diversity.pools
    assert same == pytest.approx(0, abs=1e-6)
    assert diversity.overall == pytest.approx(2 / 3 * other, abs=1e-6) != 0


@pytest.mark.slow
@pytest.mark.torch
def test_half_precision_weights_are_used_in_float32(folder: Path, torch: ModuleType) -> None:
    import transformers

    model = transformers.RobertaModel.from_pretrained(folder).half()
    model.save_pretrained(folder)
    vectors = Encoder(folder, MAX_TOKENS).embed(TEXTS)
    model.float().save_pretrained(folder)
    assert np.array_equal(vectors, Encoder(folder, MAX_TOKENS).embed(TEXTS))


# Folders that hold no encoder


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("model.safetensors", b"\x00", r"holds no readable encoder \(SafetensorError: .*; download it again$"),
        ("model.safetensors", None, r"holds no readable encoder \(OSError: .*; download it again$"),
        ("config.json", b"{", r"holds no readable encoder \(OSError: .*; download it again$"),
    ],
)
def test_a_folder_with_an_incomplete_encoder_is_refused(
    folder: Path, name: str, content: bytes | None, told: str
) -> None:
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(DataError, match=told):
        Encoder(folder, MAX_TOKENS)


@pytest.mark.slow
@pytest.mark.torch
def test_a_tokenizer_that_transformers_would_invent_is_refused(folder: Path) -> None:
    (folder / "vocab.json").unlink()
    (folder / "merges.txt").unlink()
    with pytest.raises(DataError, match=r"is missing the vocabulary of its tokenizer; download it again$"):
        Encoder(folder, MAX_TOKENS)


@pytest.mark.slow
@pytest.mark.torch
def test_weights_that_transformers_would_invent_are_refused(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    with pytest.raises(
        DataError, match=r"is missing 16 weights of its encoder, such as encoder\.layer\.2\..*; download it again"
    ):
        Encoder(folder, MAX_TOKENS)


@pytest.mark.slow
@pytest.mark.torch
def test_a_missing_folder_is_refused_in_one_line(tmp_path: Path, torch: ModuleType) -> None:
    with pytest.raises(DataError, match=r"^.*nothing holds no readable encoder \(.*$"):
        load_minilm(tmp_path / "nothing")


# CodeBERT and its hub


def load_codebert_elsewhere(home: Path, call: str) -> subprocess.CompletedProcess[str]:
    """Run a call in another process with this hub cache and an unreachable hub, and return the process."""
    code = f"""
from evodiverse.errors import EvoDiverseError
from evodiverse.diversity.encoders import load_codebert
try:
    print({call}.embed(["x = 1 " * 2000]).shape)
except EvoDiverseError as error:
    print(error)
"""
    environment = os.environ | {"HF_HOME": str(home), "HF_ENDPOINT": "http://127.0.0.1:9"}
    environment.pop("HF_HUB_CACHE", None)
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment,
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("offline", [False, True])
def test_codebert_in_the_cache_of_the_hub_needs_no_network(tmp_path: Path, torch: ModuleType, offline: bool) -> None:
    repository = tmp_path / "hub" / f"models--{CODEBERT.replace('/', '--')}"
    write_roberta(repository / "snapshots" / CODEBERT_REVISION, torch, positions=512, pickled=True)
    result = load_codebert_elsewhere(tmp_path, f"load_codebert(offline={offline})")
    assert (result.stdout, result.stderr) == ("(1, 12)\n", "")


@pytest.mark.slow
@pytest.mark.torch
def test_a_hub_that_cannot_be_reached_is_reported_in_one_line(tmp_path: Path, torch: ModuleType) -> None:
    result = load_codebert_elsewhere(tmp_path, "load_codebert()")
    reason = "ConnectError: [Errno 111] Connection refused"
    problem = f"cannot download {CODEBERT} from the Hugging Face hub ({reason})"
    message = f"{problem}; check that this machine can reach huggingface.co\n"
    assert (result.stdout, result.stderr) == (message, "")


@pytest.mark.slow
@pytest.mark.torch
def test_offline_a_missing_codebert_is_reported_in_one_line(tmp_path: Path, torch: ModuleType) -> None:
    result = load_codebert_elsewhere(tmp_path, "load_codebert(offline=True)")
    problem = f"{CODEBERT} is not in the cache of the Hugging Face hub, and network access is off"
    assert (result.stdout, result.stderr) == (f"{problem}; call load_codebert() once\n", "")


# MiniLM


@pytest.mark.slow
@pytest.mark.torch
def test_similar_programs_are_nearer_than_different_ones(minilm: Encoder) -> None:
    vectors = minilm.embed([PACK, PACK_TOO, GREET])
    pack, pack_too, greet = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert pack @ pack_too > 0.8 > 0.4 > pack @ greet


@pytest.mark.slow
@pytest.mark.torch
def test_minilm_reads_256_tokens(minilm: Encoder) -> None:
    read, longer, shorter = minilm.embed(["x " * 254, "x " * 254 + GREET, "x " * 253 + "class"])
    assert longer == pytest.approx(read, abs=1e-5)
    assert shorter != pytest.approx(read, abs=1e-3)
