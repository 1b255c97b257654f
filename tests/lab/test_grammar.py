"""Every label of the grammar, read off the words again by other means than the grammar's."""

import dataclasses
import random
import statistics

import pytest
import torch

from transformer_anatomy import VOCABULARY, make_discourses
from transformer_anatomy.lab.discourse import RELATIONS, TAGS
from transformer_anatomy.lab.lexicon import (
    AMBIGUOUS,
    FEELING_AFTER,
    NAMES,
    NOUNS,
    OWNS,
    PLEASANT,
    UNPLEASANT,
    USUAL_VERB,
    VERBS,
    WOMEN,
    participle,
    s_form,
)

DISCOURSES = make_discourses(2000, 0)


def word(discourse, position):
    return discourse.tokens[position]


def is_plural(discourse, position):
    return word(discourse, position) in {s_form(noun) for noun in NOUNS}


def lemma(form, lemmas):
    return next(lemma for lemma in lemmas if form in (lemma, s_form(lemma)))


def dependents(discourse, head):
    return [position for position, of in enumerate(discourse.heads) if of == head]


def test_a_discourse_is_three_clauses_of_19_to_31_tokens():
    lengths = [len(discourse.tokens) for discourse in DISCOURSES]
    assert (min(lengths), max(lengths)) == (19, 31)
    assert statistics.mean(lengths) == pytest.approx(25.5, abs=0.3)
    for discourse in DISCOURSES:
        assert (discourse.tokens[0], discourse.tokens[-2:]) == ("[CLS]", (".", "[SEP]"))
        assert discourse.tokens.count(".") == 3
        assert str(discourse).split() == list(discourse.tokens)


def test_the_vocabulary_is_small_and_all_of_it_is_used():
    assert len(VOCABULARY) == len(set(VOCABULARY)) == 111
    assert VOCABULARY[:4] == ("[PAD]", "[CLS]", "[SEP]", "[MASK]")
    written = {token for discourse in DISCOURSES for token in discourse.tokens}
    assert written == set(VOCABULARY) - {"[PAD]", "[MASK]"}


def test_every_word_has_a_tag_a_head_and_a_relation():
    for discourse in DISCOURSES:
        layers = (discourse.tags, discourse.heads, discourse.relations)
        for layer in layers:
            assert len(layer) == len(discourse.tokens)
            assert [i for i, label in enumerate(layer) if label is None] == [0, len(layer) - 1]
    assert {tag for discourse in DISCOURSES for tag in discourse.tags} == {*TAGS, None}
    assert {relation for discourse in DISCOURSES for relation in discourse.relations} == {*RELATIONS, None}


def test_heads_form_a_tree_on_the_start_without_crossings():
    for discourse in DISCOURSES:
        words = range(1, len(discourse.tokens) - 1)
        for position in words:
            path = [position]
            while path[-1] != 0:
                path.append(discourse.heads[path[-1]])
                assert len(path) <= len(discourse.tokens), "the heads run in a circle"
        arcs = [sorted((position, discourse.heads[position])) for position in words if discourse.heads[position]]
        assert not any(a < c < b < d for a, b in arcs for c, d in arcs)


FITS = {  # relation: tags of the word, tags of its head
    "root": ({"VERB"}, {None}),
    "nsubj": ({"NOUN", "NAME", "PRON"}, {"VERB"}),
    "obj": ({"NOUN", "NAME", "PRON"}, {"VERB"}),
    "agent": ({"NAME"}, {"VERB"}),
    "obl": ({"NOUN"}, {"VERB", "ADJ"}),
    "nmod": ({"NOUN"}, {"NOUN"}),
    "case": ({"ADP"}, {"NOUN", "NAME"}),
    "det": ({"DET"}, {"NOUN"}),
    "amod": ({"ADJ"}, {"NOUN"}),
    "relcl": ({"VERB"}, {"NOUN"}),
    "aux": ({"AUX"}, {"VERB"}),
    "advmod": ({"ADV"}, {"VERB"}),
    "cc": ({"CONJ"}, {"VERB"}),
    "xcomp": ({"ADJ"}, {"VERB"}),
    "poss": ({"PRON"}, {"NOUN"}),
    "punct": ({"PUNCT"}, {"VERB"}),
}


def test_relations_fit_the_words_that_they_join():
    assert set(FITS) == set(RELATIONS)
    for discourse in DISCOURSES:
        for tag, head, relation in list(zip(discourse.tags, discourse.heads, discourse.relations, strict=True))[1:-1]:
            own, of_head = FITS[relation]
            assert tag in own and discourse.tags[head] in of_head
        assert discourse.relations.count("root") == 3
        for verb in (position for position, tag in enumerate(discourse.tags) if tag == "VERB"):
            below = [discourse.relations[position] for position in dependents(discourse, verb)]
            assert below.count("nsubj") == 1


def test_every_verb_of_the_scene_agrees_with_its_own_subject():
    for discourse in DISCOURSES:
        end = discourse.tokens.index(".", discourse.verb)
        verbs = [position for position in range(discourse.subject, end) if discourse.tags[position] == "VERB"]
        assert discourse.verb in verbs
        for verb in verbs:
            (subject,) = (i for i in dependents(discourse, verb) if discourse.relations[i] == "nsubj")
            assert (word(discourse, verb) in VERBS) == is_plural(discourse, subject)


def test_articles_agree_with_their_nouns():
    for discourse in DISCOURSES:
        for position, relation in enumerate(discourse.relations):
            if relation == "det" and word(discourse, position) != "the":
                plural = word(discourse, position) == "several"
                assert plural == is_plural(discourse, discourse.heads[position])


def test_an_attractor_stands_between_and_conflicts_when_it_is_said_to():
    for discourse in DISCOURSES:
        assert discourse.heads[discourse.subject] == discourse.verb
        assert discourse.plural == is_plural(discourse, discourse.subject)
        between = range(discourse.subject + 1, discourse.verb)
        nouns = [position for position in between if discourse.tags[position] == "NOUN"]
        assert nouns == ([] if discourse.attractor is None else [discourse.attractor])
        if discourse.attractor is None:
            assert discourse.attractor_kind is discourse.attractor_plural is discourse.conflict is None
        else:
            other = is_plural(discourse, discourse.attractor)
            assert (discourse.attractor_plural, discourse.conflict) == (other, other != discourse.plural)
            marks = {"phrase": "nmod", "clause": "nsubj"}
            assert discourse.relations[discourse.attractor] == marks[discourse.attractor_kind]
            assert ("whom" in discourse.tokens) == (discourse.attractor_kind == "clause")


def test_agent_and_patient_are_told_by_the_voice():
    for discourse in DISCOURSES:
        subject, other = sorted((discourse.agent, discourse.patient))
        assert (subject, other) == tuple(i for i, token in enumerate(discourse.tokens) if token in NAMES)
        assert discourse.passive == ("by" in discourse.tokens) == (discourse.agent == other)
        assert word(discourse, discourse.agent) != word(discourse, discourse.patient)
        simple = word(discourse, discourse.deed - 1) in NAMES
        assert word(discourse, discourse.deed) in map(s_form if simple else participle, FEELING_AFTER)


def test_a_deed_in_six_words_has_its_agent_at_either_end_equally_often():
    long = [discourse for discourse in DISCOURSES if abs(discourse.agent - discourse.patient) == 4]
    assert {(min(d.agent, d.patient), max(d.agent, d.patient)) for d in long} == {(1, 5)}
    assert len(long) / len(DISCOURSES) == pytest.approx(0.8, abs=0.045)  # 5 σ of 2000
    assert statistics.mean(d.agent == 1 for d in long) == pytest.approx(0.5, abs=0.063)  # 5 σ of 1600


def test_the_pronoun_means_a_name_of_its_gender_and_the_agent_if_both_are():
    for discourse in DISCOURSES:
        women = {position: word(discourse, position) in WOMEN for position in (discourse.agent, discourse.patient)}
        pronouns = word(discourse, discourse.pronoun), word(discourse, discourse.possessive)
        assert pronouns == (("she", "her") if women[discourse.antecedent] else ("he", "his"))
        assert discourse.same_gender == (len(set(women.values())) == 1)
        if discourse.same_gender:
            assert discourse.antecedent == discourse.agent
        assert word(discourse, discourse.object) == OWNS[word(discourse, discourse.antecedent)]
    mixed = [discourse.antecedent == discourse.agent for discourse in DISCOURSES if not discourse.same_gender]
    assert statistics.mean(mixed) == pytest.approx(0.5, abs=0.08)  # 5 σ of 1100


def test_the_feeling_follows_from_the_deed_and_the_connective():
    for discourse in DISCOURSES:
        (deed,) = (d for d in FEELING_AFTER if word(discourse, discourse.deed) in (s_form(d), participle(d)))
        feeling = word(discourse, discourse.feeling)
        assert (feeling in PLEASANT.values()) == discourse.pleasant != (feeling in UNPLEASANT.values())
        if word(discourse, discourse.connective) == "so":
            assert feeling == FEELING_AFTER[deed]
        else:
            assert word(discourse, discourse.connective) == "yet"
            assert discourse.pleasant != (deed in PLEASANT)


def test_a_subject_mostly_does_what_it_usually_does():
    usual = [lemma(word(d, d.verb), VERBS) == USUAL_VERB[lemma(word(d, d.subject), NOUNS)] for d in DISCOURSES]
    assert statistics.mean(usual) == pytest.approx(0.82, abs=0.043)  # 5 σ of 2000


def test_an_ambiguous_word_is_a_noun_or_a_verb_in_both_of_its_forms():
    for form in (form for stem in AMBIGUOUS for form in (stem, s_form(stem))):
        tags = [tag for d in DISCOURSES for token, tag in zip(d.tokens, d.tags, strict=True) if token == form]
        assert set(tags) == {"NOUN", "VERB"}
        assert 0.2 < tags.count("NOUN") / len(tags) < 0.9


def test_a_seed_makes_the_same_discourses_and_a_generator_the_next_ones(unchecked):  # The checks draw random numbers.
    states = torch.random.get_rng_state(), random.getstate()
    assert make_discourses(20, 3) == make_discourses(20, 3) != make_discourses(20, 4)
    assert make_discourses(20, 3)[:5] == make_discourses(5, 3)
    generator = torch.Generator().manual_seed(3)
    again = torch.Generator().manual_seed(3)
    one, two = make_discourses(5, generator), make_discourses(5, generator)
    assert one == make_discourses(5, again) != two
    assert torch.equal(torch.random.get_rng_state(), states[0]) and random.getstate() == states[1]


def test_the_discourse_of_a_seed_stays_what_it_is():
    assert str(make_discourses(1, 0)[0]) == (
        "[CLS] rosa rewards adam . the cook visits a young guide . so he seems happy about his whistle . [SEP]"
    )


def test_a_discourse_is_not_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DISCOURSES[0].verb = 3


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: make_discourses(-1, 0), ValueError, "n_samples must be at least 0, got -1"),
        (lambda: make_discourses(1.0, 0), TypeError, "n_samples must be a whole number, got 1.0"),
        (lambda: make_discourses(1, -3), ValueError, "seed must lie between 0 and .*got -3"),
        (lambda: make_discourses(1, 2**63), ValueError, "seed must lie between 0 and"),
        (lambda: make_discourses(1, False), TypeError, "seed must be a whole number or a torch.Generator, got False"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_by_name(unchecked, call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_no_discourses_are_an_empty_list():
    assert make_discourses(0, 0) == []
