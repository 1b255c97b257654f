"""How a text comes about: choices, and the words and tree that they lead to."""

import random
from collections.abc import Sequence


class Dice:
    """Where the grammar leaves a choice, chance decides."""

    def __init__(self, numbers: random.Random):
        self._next = numbers.random  # The one method whose numbers no version of Python changes.

    def pick(self, options: Sequence):
        """One of the options, each equally likely."""
        return options[int(self._next() * len(options))]

    def happens(self, probability: float) -> bool:
        """True with this probability."""
        return self._next() < probability


class Writer:
    """What has been written so far, word by word, with the tree over it."""

    def __init__(self):
        self.tokens, self.tags, self.relations, self.heads = [], [], [], []

    def add(
        self,
        word: str,
        tag: str | None = None,
        relation: str | None = None,
        *dependents: int,
        head: int | None = None,
    ) -> int:
        """Write a word and return its position; `dependents` are words before it that hang on it."""
        position = len(self.tokens)
        self.tokens.append(word)
        self.tags.append(tag)
        self.relations.append(relation)
        self.heads.append(head)
        for dependent in dependents:
            self.heads[dependent] = position
        return position
