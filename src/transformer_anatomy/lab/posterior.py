"""What a reader who knows the grammar can say about hidden words, exactly: the ceiling of every model."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress

from transformer_anatomy.lab.grammar import write_discourse
from transformer_anatomy.lab.lexicon import MASK
from transformer_anatomy.lab.writing import Dice, Writer


def hidden_words(tokens: Sequence[str]) -> dict[int, dict[str, float]]:
    """For each [MASK] in `tokens`: the words that may stand there, with their probabilities given all other words.

    Sums over every way in which the grammar can write the text (Bayes' rule), which takes some hundredths of a second
    for one hidden word; with each further one the ways multiply. Raises `ValueError` for a text that the grammar cannot
    write.
    """
    hidden = [position for position, token in enumerate(tokens) if token == MASK]
    totals = {position: defaultdict(float) for position in hidden}
    possible = False
    for written, probability in _ways(tokens):
        possible = True
        if not hidden:
            break
        for position in hidden:
            totals[position][written[position]] += probability
    evidence = [sum(words.values()) for words in totals.values()]
    if not possible:
        raise ValueError(f"tokens must be a discourse of the grammar with words hidden, got {' '.join(tokens)!r}")
    return {
        position: {word: p / total for word, p in words.items()}
        for (position, words), total in zip(totals.items(), evidence, strict=True)
    }


def _ways(tokens: Sequence[str]) -> Iterator[tuple[list[str], float]]:
    """Every text of the grammar that agrees with `tokens`, with its probability, found by trying all choices."""
    pending = [()]
    while pending:
        dice, text = _Decided(pending.pop()), _Rewriter(tokens)
        with suppress(_Mismatch):
            write_discourse(dice, text)
            if len(text.tokens) == len(tokens):
                yield text.tokens, dice.probability
        pending += dice.left_out


class _Decided(Dice):
    """Dice that fall as decided before, and the first possible way where nothing is; `left_out` are the other ways."""

    def __init__(self, decisions: tuple[int, ...]):
        self._ahead = iter(decisions)
        self._taken = []
        self.probability = 1.0
        self.left_out = []

    def pick(self, options: Sequence):
        return options[self._decide([1 / len(options)] * len(options))]

    def happens(self, probability: float) -> bool:
        return self._decide([1 - probability, probability]) == 1

    def _decide(self, probabilities: list[float]) -> int:
        decision = next(self._ahead, None)
        if decision is None:
            decision, *others = (i for i, probability in enumerate(probabilities) if probability > 0)
            self.left_out += [(*self._taken, other) for other in others]
        self._taken.append(decision)
        self.probability *= probabilities[decision]
        return decision


class _Mismatch(Exception):
    pass


class _Rewriter(Writer):
    """A writer that stops at the first word that differs from the text that it is to arrive at."""

    def __init__(self, tokens: Sequence[str]):
        super().__init__()
        self._wanted = tokens

    def add(self, word: str, *arguments, **keywords) -> int:
        position = len(self.tokens)
        if position >= len(self._wanted) or self._wanted[position] not in (word, MASK):
            raise _Mismatch
        return super().add(word, *arguments, **keywords)
