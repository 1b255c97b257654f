"""What an answer to an exercise amounts to, in words; whatever comes, never a traceback."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from transformer_anatomy.page.exercises.catalogue import Exercise


@dataclass(frozen=True)
class Diagnosis:
    """Whether the answer is right, and why or why not; words that are `literal` quote the learner's own."""

    right: bool
    words: str
    literal: bool = False


class _Unusable(Exception):
    """The answer cannot be compared; the message tells the learner why."""


def diagnose(exercise: Exercise, answer: Any) -> Diagnosis:
    """Compares `answer` with the right answer, then with each wrong one that the catalogue knows."""
    try:
        usable = _READERS[exercise.kind](exercise, answer)
    except _Unusable as reason:
        return Diagnosis(False, str(reason), literal=True)
    if exercise.right.matches(usable):
        return Diagnosis(True, exercise.right.words)
    known = (outcome.words for outcome in exercise.wrong if outcome.matches(usable))
    return Diagnosis(False, next(known, None) or _shape_words(exercise, usable) or exercise.otherwise)


def _number(exercise: Exercise, answer: Any) -> float:
    array = _array(answer, "A number is asked for")
    if array.size != 1:
        raise _Unusable(f"A single number is asked for; this has shape {array.shape}.")
    return float(array.item())


def _choice(exercise: Exercise, answer: Any) -> str:
    given = answer.strip().casefold() if isinstance(answer, str) else None
    match = [choice for choice in exercise.choices if given == choice.casefold()]
    if not match:
        raise _Unusable(f"Choose one of {', '.join(f'“{choice}”' for choice in exercise.choices)}.")
    return match[0]


def _arrays(exercise: Exercise, answer: Any) -> tuple[np.ndarray]:
    return (_array(answer, "A list or tensor of numbers is asked for"),)


def _outputs(exercise: Exercise, answer: Any) -> tuple[np.ndarray, ...]:
    if not callable(answer):
        raise _Unusable(f"A function is asked for, this is {_kind(answer)}. Give its name alone, without calling it.")
    outputs = []
    for arguments in exercise.inputs:
        shown = ", ".join(map(str, arguments))
        try:
            output = answer(*map(_tensor, arguments))
        except (Exception, SystemExit) as error:
            raise _Unusable(f"Given {shown}, your function raised {_raised(error)}") from None
        outputs.append(_array(output, f"Given {shown}, your function should return numbers"))
    return tuple(outputs)


_READERS = {"number": _number, "choice": _choice, "array": _arrays, "function": _outputs}


def _array(value: Any, asked: str) -> np.ndarray:
    try:
        plain = value
        if hasattr(value, "detach"):
            plain = value.detach().cpu()
            plain = (plain if plain.is_complex() else plain.double()).numpy()
        if plain is None or isinstance(plain, str | bytes | bool) or np.iscomplexobj(plain):
            raise TypeError
        array = np.asarray(plain, dtype=float)
    except Exception:
        raise _Unusable(f"{asked}; this is {_kind(value)}.") from None
    if np.isnan(array).any():
        raise _Unusable(f"{asked}; this holds a NaN.")
    return array


def _tensor(argument: Any) -> Any:
    """Nested lists of a function's input become tensors, whole numbers in them floats; the rest stays as it is."""
    import torch

    if not isinstance(argument, list):
        return argument
    tensor = torch.tensor(argument)
    return tensor if tensor.dtype == torch.bool else tensor.float()


def _shape_words(exercise: Exercise, usable: Any) -> str | None:
    if exercise.kind not in ("array", "function"):
        return None
    for place, (array, expected) in enumerate(zip(usable, exercise.right.expected, strict=True)):
        if array.shape != expected.shape:
            given = f"Given {', '.join(map(str, exercise.inputs[place]))}, your" if exercise.inputs else "Your"
            return f"{given} answer has {_shape(array.shape)}; asked for is {_shape(expected.shape)}."
    return None


def _shape(shape: Sequence[int]) -> str:
    return f"shape {tuple(shape)}" if shape else "no axes: a single number"


def _raised(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # an exception of the learner's own, whose text fails in turn
        return type(error).__name__


def _kind(value: Any) -> str:
    name = type(value).__name__
    return f"a{'n' if name[0] in 'aeiouAEIOU' else ''} {name}" if value is not None else "None"
