"""Which tokens a mask leaves to be seen: with the opposite polarity, the padding alone."""

from typing import NamedTuple

from torch import Tensor

from transformer_anatomy.instruments.health.maps import visible


class OnlyToken(NamedTuple):
    """All that a mask leaves visible: `n_visible` keys of the same id, while it hides `n_hidden` of several ids."""

    id: int
    n_visible: int
    n_hidden: int


class TokenIds:
    """The ids that a model has looked up, to tell what the keys of its attention are."""

    def __init__(self):
        self._looked_up: list[Tensor] = []
        self._judged: set[int] = set()  # lengths: the maps of all layers have the same mask

    def add(self, ids: Tensor) -> None:
        """Ids `(batch, position)` that were looked up in an embedding; others do not tell what stands where."""
        if ids.dim() == 2 and ids.numel():
            self._looked_up.append(ids)

    def shown_by(self, scores: Tensor) -> OnlyToken | None:
        """The only token that scores `(batch, head, query, key)` with the mask written in leave to be seen, if any.

        Heads may be counted with the samples: `(batch · head, query, key)`.

        One position alone, such as that of a first token made to be looked at, is no sign of a wrong mask.
        """
        n_key = scores.shape[-1]
        if n_key in self._judged:
            return None
        fitting = [ids for ids in self._looked_up if ids.shape[1] == n_key and scores.shape[0] % len(ids) == 0]
        if not fitting:
            return None
        self._judged.add(n_key)
        rows = visible(scores).reshape(len(fitting[0]), -1, n_key)
        # A query that sees every key hides none; ours lets one that may see nothing see all, and erases what it read.
        hiding = ~rows.all(dim=-1, keepdim=True)
        shown = (rows & hiding).any(dim=1) | ~hiding.any(dim=1)
        n_visible = int(shown.sum())
        if n_visible == shown.numel() or int(shown.any(dim=0).sum()) < 2:
            return None
        for ids in fitting:
            if ids.shape != shown.shape:
                continue
            kinds = ids[shown].unique()
            if len(kinds) == 1 and len(ids[~shown].unique()) > 1:
                return OnlyToken(int(kinds[0]), n_visible, shown.numel() - n_visible)
        return None
