"""A discourse of the small language: its words, its syntax, and who is meant by what."""

from dataclasses import dataclass

TAGS = ("DET", "ADJ", "NOUN", "NAME", "VERB", "ADP", "PRON", "AUX", "ADV", "CONJ", "PUNCT")
RELATIONS = (
    *("root", "nsubj", "obj", "agent", "obl", "nmod", "case", "det"),
    *("amod", "relcl", "aux", "advmod", "cc", "xcomp", "poss", "punct"),
)


@dataclass(frozen=True)
class Discourse:
    """Three clauses between [CLS] and [SEP]: a deed, a scene, a feeling. Everything but words is a position or a fact.

    For each token: `tags` (part of speech), `heads` (position of the head; the verb of each clause hangs on [CLS], at
    0) and `relations` to the head; `None` at [CLS] and [SEP]. The names follow Universal Dependencies (Nivre et al.
    2016), shortened.
    """

    tokens: tuple[str, ...]
    tags: tuple[str | None, ...]
    heads: tuple[int | None, ...]
    relations: tuple[str | None, ...]

    # The deed: who did it to whom. In the passive the patient is the subject.
    agent: int
    patient: int
    deed: int
    passive: bool

    # The scene: its verb agrees with its subject, whatever noun stands between the two.
    subject: int
    verb: int
    plural: bool
    attractor: int | None
    attractor_kind: str | None  # "phrase" (beside the cooks) or "clause" (whom the cooks admire)
    attractor_plural: bool | None

    # The feeling: of the antecedent, about the object that is the antecedent's own.
    connective: int
    pronoun: int
    feeling: int
    possessive: int
    object: int
    antecedent: int
    same_gender: bool  # of agent and patient; then the pronoun means the agent
    pleasant: bool  # the feeling; after "so" as the deed, after "yet" the opposite

    @property
    def conflict(self) -> bool | None:
        """Whether the attractor differs in number from the subject; `None` without an attractor."""
        return None if self.attractor is None else self.attractor_plural != self.plural

    def __str__(self) -> str:
        return " ".join(self.tokens)
