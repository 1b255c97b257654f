"""What the small language can ask: one word is hidden, and some property of it is wanted back."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transformer_anatomy.lab import grammar, lexicon
from transformer_anatomy.lab.discourse import Discourse
from transformer_anatomy.lab.labels import DiscourseBatch, batch_discourses


@dataclass(frozen=True, eq=False)
class Question:
    """A word to hide and the answer it is to give back: `answers` maps each word that may stand there to its answer.

    `chance` is the accuracy of always giving the most frequent answer, `trivial` that of a reader without syntax, who
    knows one `trick`, and `ceiling` that of the best reader of all other words, who knows the grammar; all three follow
    from the probabilities of the grammar. Only what lies above `trivial` tells of more than the trick.
    """

    name: str
    place: Callable[[Discourse], int]
    answers: Mapping[str, str]
    chance: float
    ceiling: float
    trivial: float
    trick: str

    def ask(self, discourses: Sequence[Discourse]) -> tuple[DiscourseBatch, Int[Tensor, " batch"]]:
        """The discourses with this word as [MASK], and its positions, `(batch,)`."""
        batch = batch_discourses(discourses)
        places = torch.tensor([self.place(discourse) for discourse in discourses], dtype=torch.int64)
        ids = batch.ids.scatter(1, places[:, None], lexicon.MASK_ID) if len(places) else batch.ids
        return DiscourseBatch(ids, batch.mask, batch.labels), places

    def grade(self, discourses: Sequence[Discourse], words: Int[Tensor, " batch"]) -> Bool[Tensor, " batch"]:
        """Whether each word given, by its id, has the answer of the word that was hidden.

        Raises `ValueError` unless there is one word for each discourse, out of the vocabulary.
        """
        if words.shape != (len(discourses),):
            raise ValueError(f"words must be one id for each of {len(discourses)} discourses, got {tuple(words.shape)}")
        if words.numel() and not 0 <= words.min() <= words.max() < len(lexicon.VOCABULARY):
            raise ValueError(f"words must lie between 0 and {len(lexicon.VOCABULARY) - 1}, got {words.tolist()}")
        hidden = [discourse.tokens[self.place(discourse)] for discourse in discourses]
        given = [lexicon.VOCABULARY[word] for word in words.tolist()]
        right = [self.answers.get(g) == self.answers[h] for g, h in zip(given, hidden, strict=True)]
        return torch.tensor(right, dtype=torch.bool)


def _own_answers(words: Iterable[str]) -> dict[str, str]:
    return {word: word for word in words}


_P_USUAL = grammar.P_USUAL + (1 - grammar.P_USUAL) / len(lexicon.VERBS)  # Any verb may be the usual one, too.
_P_ATTRACTOR = 2 / 3  # In a phrase, in a clause, or none.
_P_SAME_NUMBER = grammar.P_PLURAL**2 + (1 - grammar.P_PLURAL) ** 2  # Of two nouns.
_P_OTHER_GENDER = len(lexicon.MEN) / (len(lexicon.NAMES) - 1)


def _shares_of_verbs() -> dict[str, float]:
    """How often each verb is what the subject does, whatever the subject."""
    usual = Counter(lexicon.USUAL_VERB.values())
    by_chance = (1 - grammar.P_USUAL) / len(lexicon.VERBS)
    return {verb: grammar.P_USUAL * usual[verb] / len(lexicon.NOUNS) + by_chance for verb in lexicon.VERBS}


def _verb_of_another_noun() -> float:
    """How often the subject does what some other noun usually does."""
    shares = _shares_of_verbs()
    return sum(shares[verb] for verb in lexicon.USUAL_VERB.values()) / len(lexicon.NOUNS)


def _questions() -> Iterator[Question]:
    yield Question(
        "object",  # The antecedent's own thing: find the antecedent, then what belongs to it.
        place=lambda discourse: discourse.object,
        answers=_own_answers(lexicon.OWNS.values()),
        chance=1 / len(lexicon.OWNS),
        ceiling=1.0,
        trivial=_P_OTHER_GENDER + (1 - _P_OTHER_GENDER) * (1 - grammar.P_PASSIVE),  # The first is the agent.
        trick="the thing of the first name that the possessive fits",
    )
    yield Question(
        "number",  # Of the scene's verb: as its subject, whatever stands between.
        place=lambda discourse: discourse.verb,
        answers=dict.fromkeys(lexicon.VERBS, "plural") | dict.fromkeys(map(lexicon.s_form, lexicon.VERBS), "singular"),
        chance=max(grammar.P_PLURAL, 1 - grammar.P_PLURAL),
        ceiling=1.0,
        trivial=1 - _P_ATTRACTOR + _P_ATTRACTOR * _P_SAME_NUMBER,
        trick="the number of the nearest noun",
    )
    yield Question(
        "verb",  # The best guess is what the subject usually does; it may be done by chance as well.
        place=lambda discourse: discourse.verb,
        answers=_own_answers([*lexicon.VERBS, *map(lexicon.s_form, lexicon.VERBS)]),
        chance=max(_shares_of_verbs().values()) * max(grammar.P_PLURAL, 1 - grammar.P_PLURAL),
        ceiling=_P_USUAL,
        trivial=(1 - _P_ATTRACTOR) * _P_USUAL + _P_ATTRACTOR * _P_SAME_NUMBER * _verb_of_another_noun(),
        trick="what the nearest noun usually does",
    )
    yield Question(
        "feeling",  # After "so" the deed decides; after "yet" it leaves the feelings of the opposite kind.
        place=lambda discourse: discourse.feeling,
        answers=_own_answers(lexicon.FEELINGS),
        chance=1 / len(lexicon.FEELINGS),
        ceiling=(1 - grammar.P_YET) + grammar.P_YET / len(lexicon.PLEASANT),
        trivial=1 - grammar.P_YET,
        trick="what the deed brings, as if there were no yet",
    )
    yield Question(
        "polarity",  # Of the feeling: that of the deed, turned by "yet".
        place=lambda discourse: discourse.feeling,
        answers=dict.fromkeys(lexicon.PLEASANT.values(), "pleasant")
        | dict.fromkeys(lexicon.UNPLEASANT.values(), "unpleasant"),
        chance=len(lexicon.PLEASANT) / len(lexicon.FEELINGS),
        ceiling=1.0,
        trivial=1 - grammar.P_YET,
        trick="as the deed, as if there were no yet",
    )


QUESTIONS = {question.name: question for question in _questions()}
"""What can be asked of a discourse, by name: which word to hide, the answers, chance, a trivial reader, the ceiling.

What depth buys shows where the trick fails: in "number" with `conflict`, in "object" with `same_gender`. Take several
seeds: with width 64, batches of 32 and 2000 steps of masked-word training, seeds 0 and 1, one layer had .37 and .33 of
"number" right, two .46 and .85, six .97 and .95; of "object" it was .19 and .26, .72 and .44, 1.00 and .99. Of two
layers the seeds lie far apart: a single run tells one layer from six, not neighbouring depths.
"""
