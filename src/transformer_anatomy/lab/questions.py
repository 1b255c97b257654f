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

    `chance` is the accuracy of always giving the most frequent answer, `ceiling` that of the best reader of all other
    words, who knows the grammar; both follow from the probabilities of the grammar.
    """

    name: str
    place: Callable[[Discourse], int]
    answers: Mapping[str, str]
    chance: float
    ceiling: float

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


def _chance_of_verb() -> float:
    """The share of the most frequent form of a verb in the scene."""
    usual = Counter(lexicon.USUAL_VERB.values())
    of_lemma = max(usual.values()) / len(lexicon.NOUNS)
    p_lemma = grammar.P_USUAL * of_lemma + (1 - grammar.P_USUAL) / len(lexicon.VERBS)
    return p_lemma * max(grammar.P_PLURAL, 1 - grammar.P_PLURAL)


def _questions() -> Iterator[Question]:
    yield Question(
        "object",  # The antecedent's own thing: find the antecedent, then what belongs to it.
        place=lambda discourse: discourse.object,
        answers=_own_answers(lexicon.OWNS.values()),
        chance=1 / len(lexicon.OWNS),
        ceiling=1.0,
    )
    yield Question(
        "number",  # Of the scene's verb: as its subject, whatever stands between.
        place=lambda discourse: discourse.verb,
        answers=dict.fromkeys(lexicon.VERBS, "plural") | dict.fromkeys(map(lexicon.s_form, lexicon.VERBS), "singular"),
        chance=max(grammar.P_PLURAL, 1 - grammar.P_PLURAL),
        ceiling=1.0,
    )
    yield Question(
        "verb",  # The best guess is what the subject usually does; it may be done by chance as well.
        place=lambda discourse: discourse.verb,
        answers=_own_answers([*lexicon.VERBS, *map(lexicon.s_form, lexicon.VERBS)]),
        chance=_chance_of_verb(),
        ceiling=grammar.P_USUAL + (1 - grammar.P_USUAL) / len(lexicon.VERBS),
    )
    yield Question(
        "feeling",  # After "so" the deed decides; after "yet" it leaves the feelings of the opposite kind.
        place=lambda discourse: discourse.feeling,
        answers=_own_answers(lexicon.FEELINGS),
        chance=1 / len(lexicon.FEELINGS),
        ceiling=(1 - grammar.P_YET) + grammar.P_YET / len(lexicon.PLEASANT),
    )
    yield Question(
        "polarity",  # Of the feeling: that of the deed, turned by "yet".
        place=lambda discourse: discourse.feeling,
        answers=dict.fromkeys(lexicon.PLEASANT.values(), "pleasant")
        | dict.fromkeys(lexicon.UNPLEASANT.values(), "unpleasant"),
        chance=len(lexicon.PLEASANT) / len(lexicon.FEELINGS),
        ceiling=1.0,
    )


QUESTIONS = {question.name: question for question in _questions()}
"""What can be asked of a discourse, by name: which word to hide, the answers, chance and ceiling."""
