import pytest
import torch

from transformer_anatomy import LABEL_CLASSES, VOCABULARY, batch_discourses, majority_share, make_discourses
from transformer_anatomy.lab.lexicon import NAMES, OWNS

DISCOURSES = make_discourses(300, 1)
IGNORED = -100


@pytest.fixture(scope="module")
def batch():
    return batch_discourses(DISCOURSES)


def asked(labels, sample):
    """Where a label of a sample says something, and what."""
    return {i: label for i, label in enumerate(labels[sample].tolist()) if label != IGNORED}


def test_ids_are_words_and_the_rest_is_padding(batch):
    longest = max(len(discourse.tokens) for discourse in DISCOURSES)
    assert batch.ids.shape == (300, longest)
    for discourse, row in zip(DISCOURSES, batch.ids.tolist(), strict=True):
        written = [VOCABULARY[index] for index in row]
        assert written == [*discourse.tokens, *["[PAD]"] * (longest - len(discourse.tokens))]


def test_the_mask_allows_words_and_hides_padding(batch):
    assert batch.mask.shape == (300, 1, 1, batch.ids.shape[1])
    assert torch.equal(batch.mask[:, 0, 0], batch.ids != VOCABULARY.index("[PAD]"))


def test_every_label_is_an_index_of_its_class_or_asks_nothing(batch):
    for name, classes in LABEL_CLASSES.items():
        said = batch.labels[name].unique().tolist()
        assert said == [IGNORED, *range(len(classes))]
    assert all(labels.shape == batch.ids.shape for labels in batch.labels.values())


def test_words_have_tags_heads_and_relations_and_padding_has_none(batch):
    for sample, discourse in enumerate(DISCOURSES):
        words = range(1, len(discourse.tokens) - 1)
        assert asked(batch.labels["head"], sample) == {i: discourse.heads[i] for i in words}
        for name, layer in (("tag", discourse.tags), ("relation", discourse.relations)):
            said = asked(batch.labels[name], sample)
            assert {i: LABEL_CLASSES[name][label] for i, label in said.items()} == {i: layer[i] for i in words}


def test_roles_are_said_at_the_names(batch):
    for sample, d in enumerate(DISCOURSES):
        assert asked(batch.labels["role"], sample) == {d.agent: 0, d.patient: 1}


def test_a_role_is_known_in_part_from_the_position_of_the_name_and_from_the_word_beside_it():
    batch = batch_discourses(make_discourses(3000, 2))
    roles, places = batch.labels["role"], torch.arange(batch.ids.shape[1]).expand_as(batch.ids)
    assert majority_share(roles) == 0.5
    assert majority_share(roles, places) == pytest.approx(0.60, abs=0.032)  # 5 σ of 6000
    for step in (-1, 1):
        assert majority_share(roles, batch.ids.roll(step, dims=1)) == pytest.approx(0.80, abs=0.026)
    assert roles[:, 3].unique().tolist() == [IGNORED, 1]  # the third word, where it is a name, is the patient
    for name in ("number", "polarity"):
        assert majority_share(batch.labels[name], batch.ids) == 1


def test_number_and_conflict_are_said_at_the_verb(batch):
    for sample, d in enumerate(DISCOURSES):
        assert asked(batch.labels["number"], sample) == {d.verb: int(d.plural)}
        conflict = {} if d.attractor is None else {d.verb: int(d.attractor_plural != d.plural)}
        assert asked(batch.labels["conflict"], sample) == conflict


def test_both_pronouns_say_whom_they_mean_and_what_is_theirs(batch):
    for sample, d in enumerate(DISCOURSES):
        meant = asked(batch.labels["antecedent"], sample)
        assert set(meant) == {d.pronoun, d.possessive}
        names = {d.tokens[position] for position in meant.values()}
        things = {VOCABULARY[index] for index in asked(batch.labels["object"], sample).values()}
        assert len(names) == 1 and names <= set(NAMES)
        assert things == {OWNS[name] for name in names} == {d.tokens[d.object]}


def test_polarity_is_said_of_the_deed_and_of_the_feeling_and_yet_turns_it(batch):
    for sample, d in enumerate(DISCOURSES):
        polarity = asked(batch.labels["polarity"], sample)
        assert set(polarity) == {d.deed, d.feeling}
        assert (polarity[d.deed] != polarity[d.feeling]) == ("yet" in d.tokens)
        assert polarity[d.feeling] == d.pleasant


def test_the_majority_of_a_label_is_its_chance(unchecked):  # The checks would cost seconds.
    labels = batch_discourses(make_discourses(3000, 2)).labels
    for name in ("role", "number", "conflict", "polarity"):  # balanced by the grammar; 5 σ of 2000
        assert majority_share(labels[name]) == pytest.approx(0.5, abs=0.056)
    assert 0.15 < majority_share(labels["tag"]) < 0.25


def test_no_discourses_are_an_empty_batch():
    batch = batch_discourses([])
    assert batch.ids.shape == (0, 0) and batch.mask.shape == (0, 1, 1, 0)
    assert all(labels.shape == (0, 0) for labels in batch.labels.values())
    assert batch.ids.dtype == torch.int64


def test_only_discourses_can_be_batched(unchecked):
    with pytest.raises(TypeError, match="discourses must hold a Discourse each, got str"):
        batch_discourses(["clara tricks omar"])
