import pytest
import torch
from jaxtyping import TypeCheckError

from transformer_anatomy import attention_scores, attention_weights


def test_this_run_checks_the_shapes_that_signatures_promise():
    with pytest.raises(TypeCheckError):
        attention_scores(torch.zeros(2, 3, 8), torch.zeros(2, 3, 7))


def test_a_test_can_ask_for_the_library_s_own_error_instead(unchecked):
    with pytest.raises(ValueError, match=r"queries and keys must have the same width.*8 and 7"):
        attention_scores(torch.zeros(2, 3, 8), torch.zeros(2, 3, 7))


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 2, 3), (5, 4, 2, 3)])
def test_a_formula_takes_one_query_or_a_batch_of_heads(shape):
    assert attention_weights(torch.zeros(shape)).shape == shape
