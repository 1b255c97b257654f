"""predict: the reader commits to an answer before the measurement is unfolded."""

import html
import re
from collections.abc import Sequence
from hashlib import sha256

from transformer_anatomy.page.assets import styled
from transformer_anatomy.page.typography import marked

# JupyterLab takes arrows and letters for its own commands unless the focused element itself says so.
KEEP_KEYS = 'data-lm-suppress-shortcuts="true"'


class Prediction:
    """A question with choices, and what was measured behind a fold."""

    def __init__(self, question: str, choices: Sequence[str], reveal: str):
        self.question, self.choices, self.reveal = question, choices, reveal

    def _repr_html_(self) -> str:
        name = f"predict-{sha256(self.question.encode()).hexdigest()[:8]}"  # radios of one group share a name
        radios = "".join(
            f'<label><input type="radio" name="{name}" value="{html.escape(choice)}" {KEEP_KEYS}> '
            f"<span>{_emphasised(choice)}</span></label>"
            for choice in self.choices
        )
        return styled(
            '<div class="answer predict anatomy" role="group" aria-label="Predict first">'
            "<header><b>Predict first</b><span>commit, then unfold</span></header>"
            f"<fieldset><legend>{_emphasised(self.question)}</legend>{radios}</fieldset>"
            f'<details><summary {KEEP_KEYS}>What was measured</summary><p><span class="guess"></span>'
            f"{_emphasised(self.reveal)}</p></details></div>"
        )

    def __repr__(self) -> str:
        return f"Predict first: {self.question} ({' / '.join(self.choices)})"


def predict(question: str, choices: Sequence[str], *, reveal: str) -> None:
    """Shows `question` with its `choices`, and `reveal`, the measurement in words, behind a fold.

    Build `reveal` from numbers that the cell has computed; ``**bold**`` is set in bold. Raises TypeError or ValueError
    for empty texts and for fewer than two choices.
    """
    from IPython.display import display

    for argument, text in (("question", question), ("reveal", reveal)):
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"{argument} must be text, got {text!r}")
    if isinstance(choices, str) or len(choices) < 2 or len(set(choices)) < len(choices):
        raise ValueError(f"choices must be two or more different texts, got {choices!r}")
    display(Prediction(question, [str(choice) for choice in choices], reveal))


def _emphasised(text: str) -> str:
    """`text` as HTML, with ``**bold**`` in bold."""
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", marked(text))
