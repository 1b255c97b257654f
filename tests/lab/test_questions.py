"""Chance by counting a large sample, ceilings by the exact posterior of each hidden word."""

import pytest
import torch

from transformer_anatomy import QUESTIONS, VOCABULARY, hidden_words, majority_share, make_discourses
from transformer_anatomy.lab.lexicon import FEELING_AFTER, MEN, NOUNS, OWNS, USUAL_VERB, WOMEN, participle, s_form

MANY = make_discourses(10000, 0)
FEW = make_discourses(25, 1)
MASK = "[MASK]"

each_question = pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)


def hide(discourse, *positions):
    return [MASK if i in positions else token for i, token in enumerate(discourse.tokens)]


@each_question
def test_a_question_hides_one_word_and_leaves_the_others(question):
    batch, places = question.ask(FEW)
    for discourse, place, row in zip(FEW, places.tolist(), batch.ids.tolist(), strict=True):
        assert [VOCABULARY[index] for index in row[: len(discourse.tokens)]] == hide(discourse, place)
        assert discourse.tokens[place] in question.answers


@each_question
def test_chance_is_the_share_of_the_most_frequent_answer(question):
    numbers = {answer: number for number, answer in enumerate(dict.fromkeys(question.answers.values()))}
    answers = [numbers[question.answers[discourse.tokens[question.place(discourse)]]] for discourse in MANY]
    assert majority_share(torch.tensor(answers)) == pytest.approx(question.chance, abs=0.025)  # 5 σ of 10 000


@each_question
def test_the_ceiling_is_what_the_exact_posterior_reaches(unchecked, question):  # The checks would cost a minute.
    best = []
    for discourse in FEW:
        place = question.place(discourse)
        shares = {}
        for word, probability in hidden_words(hide(discourse, place))[place].items():
            answer = question.answers[word]
            shares[answer] = shares.get(answer, 0) + probability
        assert sum(shares.values()) == pytest.approx(1)
        best.append((discourse, max(shares.values())))
    if question.name == "feeling":  # certain after "so", one of three after "yet"
        assert all(share == pytest.approx(1 / 3 if "yet" in d.tokens else 1) for d, share in best)
        yet = sum("yet" in discourse.tokens for discourse in MANY) / len(MANY)
        assert 1 - yet + yet / 3 == pytest.approx(question.ceiling, abs=0.016)  # 5 σ of 10 000
    else:
        assert all(share == pytest.approx(question.ceiling) for _, share in best)


@each_question
def test_grades_count_the_answer_and_not_the_word(question):
    places = [question.place(discourse) for discourse in FEW]
    words = [VOCABULARY.index(discourse.tokens[place]) for discourse, place in zip(FEW, places, strict=True)]
    assert question.grade(FEW, torch.tensor(words)).all()
    assert not question.grade(FEW, torch.full((25,), VOCABULARY.index("[SEP]"))).any()


def trivial_answer(question, discourse):
    """What the reader gives who knows one trick: it sees the words around the hidden one and no analysis."""
    words = discourse.tokens[: question.place(discourse)]
    if question.name == "object":
        fitting = WOMEN if words[-1] == "her" else MEN
        return OWNS[next(word for word in words if word in fitting)]
    if question.name in ("feeling", "polarity"):
        deed = next(deed for deed in FEELING_AFTER if {s_form(deed), participle(deed)} & set(words))
        return question.answers[FEELING_AFTER[deed]]
    if "whom" in words:
        words = words[:-1]  # The verb of the clause, which may look like a noun.
    nearest = next(word for word in reversed(words) if word in NOUNS or word in map(s_form, NOUNS))
    usual = USUAL_VERB[next(noun for noun in NOUNS if nearest in (noun, s_form(noun)))]
    return question.answers[s_form(usual) if nearest in NOUNS else usual]


@each_question
def test_a_reader_who_knows_one_trick_reaches_the_trivial_accuracy(question):
    right = [trivial_answer(question, d) == question.answers[d.tokens[question.place(d)]] for d in MANY]
    assert sum(right) / len(MANY) == pytest.approx(question.trivial, abs=0.025)  # 5 σ of 10 000
    assert question.chance < question.trivial < question.ceiling


def test_another_verb_of_the_same_number_has_the_right_number():
    verbs = torch.tensor([VOCABULARY.index("avoid" if discourse.plural else "avoids") for discourse in FEW])
    assert QUESTIONS["number"].grade(FEW, verbs).all()
    assert not QUESTIONS["verb"].grade(FEW, verbs).all()


def test_nobody_asked_gives_no_answers():
    batch, places = QUESTIONS["object"].ask([])
    assert batch.ids.shape == (0, 0) and places.shape == (0,)
    assert QUESTIONS["object"].grade([], places).shape == (0,)


def test_answers_that_are_no_words_are_refused(unchecked):
    with pytest.raises(ValueError, match=r"words must be one id for each of 25 discourses, got \(3,\)"):
        QUESTIONS["object"].grade(FEW, torch.zeros(3, dtype=torch.long))
    with pytest.raises(ValueError, match=r"words must lie between 0 and 110, got \[111\]"):
        QUESTIONS["object"].grade(FEW[:1], torch.tensor([111]))


@pytest.mark.usefixtures("unchecked")
class TestHiddenWords:
    TEXT = "[CLS] clara {deed} nora . the guard judges everybody . so she seems bitter about {thing} flute . [SEP]"

    def test_what_is_hidden_follows_from_the_rest(self):
        tokens = self.TEXT.format(deed=MASK, thing=MASK).split()
        assert hidden_words(tokens) == {2: {"tricks": 1.0}, 15: {"her": 1.0}}

    def test_where_the_grammar_chooses_the_choice_is_shared_out(self):
        tokens = self.TEXT.format(deed="tricks", thing="her").split()
        tokens[tokens.index("guard") + 1] = MASK
        (words,) = hidden_words(tokens).values()
        assert len(words) == 10
        assert words["notices"] == pytest.approx(0.82) and words["judges"] == pytest.approx(0.02)

    def test_with_nothing_hidden_there_is_nothing_to_say(self):
        assert hidden_words(FEW[0].tokens) == {}

    @pytest.mark.parametrize("tokens", [["foo", "bar"], [], FEW[0].tokens[:-1]])
    def test_a_text_that_the_grammar_cannot_write_is_refused_with_nothing_hidden_too(self, tokens):
        with pytest.raises(ValueError, match=r"tokens must be a discourse of the grammar"):
            hidden_words(tokens)

    @pytest.mark.parametrize("deed", ["seems", "comforts", f"{MASK} by"])
    def test_a_text_that_the_grammar_cannot_write_is_refused(self, deed):
        tokens = self.TEXT.format(deed=deed, thing=MASK).split()
        with pytest.raises(ValueError, match=r"tokens must be a discourse of the grammar.*'\[CLS\] clara"):
            hidden_words(tokens)
