"""Discourses as tensors: ids, padding mask, and the gold labels of every token."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transformer_anatomy.lab.discourse import RELATIONS, TAGS, Discourse
from transformer_anatomy.lab.lexicon import PAD_ID, PLEASANT, WORD_IDS, participle, s_form
from transformer_anatomy.lab.requests import IGNORED
from transformer_anatomy.model.masks import padding_mask
from transformer_anatomy.shapes import TokenIds

LABEL_CLASSES = {
    "tag": TAGS,
    "relation": RELATIONS,
    "role": ("agent", "patient"),
    "number": ("singular", "plural"),
    "conflict": ("agreeing", "conflicting"),
    "polarity": ("unpleasant", "pleasant"),
}
"""What the numbers of a label stand for; `head` and `antecedent` are positions, `object` is the id of a word."""

_PLEASANT_DEEDS = {form(deed) for deed in PLEASANT for form in (s_form, participle)}


@dataclass(frozen=True, eq=False)
class DiscourseBatch:
    """Padded discourses: `ids` is `(batch, position)`, `mask` is `(batch, 1, 1, position)`, True at words.

    `labels` maps a name to `(batch, position)`, `IGNORED` where there is nothing to say:

    | label | at | says |
    |---|---|---|
    | `tag`, `relation` | every word | index into `LABEL_CLASSES` |
    | `head` | every word | position of the head, 0 for the verb of a clause |
    | `role` | the two names | 0 agent, 1 patient |
    | `number` | the verb of the scene | 0 singular, 1 plural, as its subject |
    | `conflict` | the verb of the scene, if there is an attractor | 1 if that differs in number from the subject |
    | `antecedent` | both pronouns of the feeling | position of the name that is meant |
    | `object` | both pronouns of the feeling | id of the thing that the antecedent owns |
    | `polarity` | the deed and the feeling | 0 unpleasant, 1 pleasant |

    Some of it can be had without reading. The word alone tells `number` and `polarity`, unless it is hidden. The `role`
    of a name is known to 0.60 from its position, as the third word is always the patient, and to 0.80 from the word
    beside it: those are the baselines, not 0.50. `majority_share(labels, clue)` measures such clues.
    """

    ids: TokenIds
    mask: Bool[Tensor, "batch 1 1 position"]
    labels: dict[str, Tensor]


def batch_discourses(discourses: Sequence[Discourse]) -> DiscourseBatch:
    """Ids, padding mask and labels of `discourses`, padded to the longest of them; none give a batch without samples.

    Raises `TypeError` for anything that is not a discourse.
    """
    for discourse in discourses:
        if not isinstance(discourse, Discourse):
            raise TypeError(f"discourses must hold a Discourse each, got {type(discourse).__name__}")
    lengths = [len(discourse.tokens) for discourse in discourses]
    width = max(lengths, default=0)
    ids = _padded([[WORD_IDS[word] for word in discourse.tokens] for discourse in discourses], width, PAD_ID)
    rows = [_label_rows(discourse) for discourse in discourses]
    names = ("tag", "relation", "head", "role", "number", "conflict", "antecedent", "object", "polarity")
    labels = {name: _padded([row[name] for row in rows], width, IGNORED) for name in names}
    return DiscourseBatch(ids, padding_mask(lengths, width), labels)


def _label_rows(discourse: Discourse) -> dict[str, list[int]]:
    d = discourse
    things = {d.pronoun: d.antecedent, d.possessive: d.antecedent}
    word = WORD_IDS[d.tokens[d.object]]
    sparse = {
        "role": {d.agent: 0, d.patient: 1},
        "number": {d.verb: int(d.plural)},
        "conflict": {} if d.conflict is None else {d.verb: int(d.conflict)},
        "antecedent": things,
        "object": dict.fromkeys(things, word),
        "polarity": {d.deed: int(d.tokens[d.deed] in _PLEASANT_DEEDS), d.feeling: int(d.pleasant)},
    }
    rows = {name: [places.get(i, IGNORED) for i in range(len(d.tokens))] for name, places in sparse.items()}
    rows["tag"] = [IGNORED if tag is None else TAGS.index(tag) for tag in d.tags]
    rows["relation"] = [IGNORED if relation is None else RELATIONS.index(relation) for relation in d.relations]
    rows["head"] = [IGNORED if head is None else head for head in d.heads]
    return rows


def _padded(rows: list[list[int]], width: int, filler: int) -> Int[Tensor, "batch position"]:
    full = [row + [filler] * (width - len(row)) for row in rows]
    return torch.tensor(full, dtype=torch.int64).reshape(len(rows), width)
