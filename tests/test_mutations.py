"""Would the tests notice? Each classic mistake is written into a copy of the library, and the test named must fail."""

import contextlib
import io
import multiprocessing
import os
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "src" / "transformer_anatomy"


class Mutation(NamedTuple):
    mistake: str
    file: str
    right: str
    wrong: str
    noticed_by: str  # a test file and a test in it


MASKS, ATTENTION, PRETRAINED = "model/masks.py", "model/attention.py", "model/pretrained.py"
MEASURES, RECORDING = "instruments/attention.py", "instruments/recording.py"
SCORES, WEIGHTS = "model/test_attention.py::TestScores::", "model/test_attention.py::TestWeights::"
HEADS, MODULE = "model/test_attention.py::TestHeads::", "model/test_attention.py::TestMultiHeadAttention::"
ENTROPY = "instruments/test_attention.py::TestEntropy::"

MUTATIONS = [
    Mutation(
        "the causal mask lets each token see its successor",
        MASKS,
        "device=device) <= 0",
        "device=device) <= 1",
        "model/test_masks.py::test_the_future_is_hidden_and_the_present_is_not",
    ),
    Mutation(
        "the causal mask hides each token from itself",
        MASKS,
        "device=device) <= 0",
        "device=device) < 0",
        "model/test_masks.py::test_the_future_is_hidden_and_the_present_is_not",
    ),
    Mutation(
        "the causal mask hides the past",
        MASKS,
        "device=device) <= 0",
        "device=device) >= 0",
        MODULE + "test_the_future_does_not_reach_the_past",
    ),
    Mutation(
        "the causal mask is aligned top-left",
        MASKS,
        "torch.arange(n_key - n_query, n_key,",
        "torch.arange(n_query,",
        "model/test_masks.py::test_the_last_query_of_a_causal_mask_sees_every_key",
    ),
    Mutation(
        "padding hides queries instead of keys",
        MASKS,
        "[:, None, None, :]",
        "[:, None, :, None]",
        "model/test_masks.py::test_a_padded_key_is_hidden_not_a_padded_query",
    ),
    Mutation(
        "padding leaves one pad visible",
        MASKS,
        "< lengths[:, None]",
        "<= lengths[:, None]",
        MODULE + "test_a_sample_does_not_feel_its_neighbours_in_the_batch",
    ),
    Mutation(
        "the converter between the two polarities does not turn",
        MASKS,
        "return ~mask",
        "return mask",
        "model/test_masks.py::test_true_means_may_attend_here_and_in_the_fused_kernel_and_after_conversion_in_the_module",
    ),
    Mutation(
        "numbers pass as a mask",
        MASKS,
        "if mask.dtype != torch.bool:",
        "if False:",
        WEIGHTS + "test_numbers_are_not_a_mask",
    ),
    Mutation(
        "scores are not scaled",
        ATTENTION,
        "queries / math.sqrt(d_head) @",
        "queries @",
        SCORES + "test_scaling_keeps_the_variance_of_scores_at_one",
    ),
    Mutation(
        "scores are divided by the width, not its root",
        ATTENTION,
        "queries / math.sqrt(d_head) @",
        "queries / d_head @",
        SCORES + "test_a_score_is_a_scaled_product",
    ),
    Mutation(
        "softmax runs over the queries",
        ATTENTION,
        "scores.softmax(dim=-1)",
        "scores.softmax(dim=-2)",
        WEIGHTS + "test_softmax_runs_over_the_keys",
    ),
    Mutation(
        "the mask is flipped",
        ATTENTION,
        "masked_fill(~mask, -math.inf)",
        "masked_fill(mask, -math.inf)",
        "model/test_masks.py::test_true_means_may_attend_here_and_in_the_fused_kernel_and_after_conversion_in_the_module",
    ),
    Mutation(
        "masked scores are a large number instead of minus infinity",
        ATTENTION,
        "masked_fill(~mask, -math.inf)",
        "masked_fill(~mask, -1e9)",
        WEIGHTS + "test_a_masked_key_gets_exactly_nothing",
    ),
    Mutation(
        "a row that may attend to nothing is left uniform",
        ATTENTION,
        "weights.masked_fill(sees_nothing, 0.0)",
        "weights",
        WEIGHTS + "test_a_sample_of_length_zero_attends_to_nothing",
    ),
    Mutation(
        "a row that may attend to nothing sends NaN back",
        ATTENTION,
        "-math.inf).masked_fill(sees_nothing, 0.0)",
        "-math.inf)",
        WEIGHTS + "test_a_query_that_may_attend_to_nothing_gets_zeros_and_gradients_of_zero",
    ),
    Mutation(
        "temperature multiplies",
        ATTENTION,
        "/ min(max(temperature",
        "* min(max(temperature",
        WEIGHTS + "test_temperature_divides_the_scores",
    ),
    Mutation(
        "heads are cut by a reshape that mixes tokens and features",
        ATTENTION,
        "x.reshape(batch, position, n_heads, d_model // n_heads).transpose(1, 2)",
        "x.reshape(batch, n_heads, position, d_model // n_heads)",
        HEADS + "test_a_head_is_a_slice_of_features_not_of_tokens",
    ),
    Mutation(
        "heads are merged without turning them back",
        ATTENTION,
        "x.transpose(1, 2).flatten(start_dim=2)",
        "x.reshape(x.shape[0], x.shape[2], -1)",
        HEADS + "test_merging_undoes_splitting",
    ),
    Mutation(
        "all heads read the values of the first",
        ATTENTION,
        "F.dropout(weights, dropout) @ values",
        "F.dropout(weights, dropout) @ values[:, :1]",
        HEADS + "test_heads_are_independent",
    ),
    Mutation(
        "all heads show the map of the first",
        ATTENTION,
        "self.weights(attention_weights(scores, mask))",
        "self.weights(attention_weights(scores, mask)[:, :1].expand_as(scores))",
        HEADS + "test_every_head_keeps_its_own_map",
    ),
    Mutation(
        "keys are read from the queries' side",
        ATTENTION,
        "self.key_projection(memory)",
        "self.key_projection(x)",
        MODULE + "test_it_agrees_with_torch",
    ),
    Mutation(
        "the fused way forgets the mask",
        ATTENTION,
        "torch.atleast_2d(mask | sees_nothing), dropout",
        "None, dropout",
        MODULE + "test_looking_changes_nothing_but_the_last_rounding",
    ),
    Mutation(
        "the fused way reads something where it may attend to nothing",
        ATTENTION,
        "return mixed.masked_fill(sees_nothing, 0.0)",
        "return mixed",
        MODULE + "test_an_empty_sample_leaves_the_gradients_of_the_others_alone",
    ),
    Mutation(
        "the recorded weights are those after dropout",
        ATTENTION,
        "self.weights(attention_weights(scores, mask))",
        "self.weights(F.dropout(attention_weights(scores, mask), dropout))",
        MODULE + "test_recorded_weights_are_those_before_dropout",
    ),
    Mutation(
        "dropout goes on in evaluation",
        ATTENTION,
        "self.dropout if self.training else 0.0",
        "self.dropout",
        MODULE + "test_dropout_acts_in_training_only",
    ),
    Mutation(
        "the weights are formed even if nobody looks",
        ATTENTION,
        "if self.scores.watched or self.weights.watched:",
        "if True:",
        MODULE + "test_nobody_looking_costs_nothing",
    ),
    Mutation(
        "nothing guards the logarithm of zero",
        MEASURES,
        "weights.masked_fill(weights == 0, 1.0).log()",
        "weights.log()",
        ENTROPY + "test_nothing_times_the_logarithm_of_nothing_is_nothing",
    ),
    Mutation(
        "the logarithm of zero is guarded by a number that biases small weights",
        MEASURES,
        "weights.masked_fill(weights == 0, 1.0).log()",
        "(weights + 1e-6).log()",
        ENTROPY + "test_a_zero_passes_no_gradient_and_a_small_weight_is_not_rounded_away",
    ),
    Mutation(
        "entropy is in bits",
        MEASURES,
        "1.0).log()",
        "1.0).log2()",
        ENTROPY + "test_uniform_weights_have_the_logarithm_of_n_and_a_certain_row_has_none",
    ),
    Mutation(
        "distances have a sign",
        MEASURES,
        "device=weights.device).abs()",
        "device=weights.device)",
        "instruments/test_attention.py::TestDistance::test_it_is_the_mean_number_of_positions_between_query_and_key",
    ),
    Mutation(
        "the Jacobian is only its diagonal",
        MEASURES,
        " - weights[..., :, None] * weights[..., None, :]",
        "",
        "instruments/test_attention.py::TestJacobian::test_it_is_the_derivative_of_the_weights_by_the_scores",
    ),
    Mutation(
        "hooks stay behind",
        RECORDING,
        "handle.remove()",
        "pass",
        "instruments/test_recording.py::test_an_exception_leaves_no_hook_behind",
    ),
    Mutation(
        "hooks stay behind after an exception",
        RECORDING,
        "    finally:\n",
        "    except GeneratorExit:\n        pass\n    else:\n",
        "instruments/test_recording.py::test_an_exception_leaves_no_hook_behind",
    ),
    Mutation(
        "later changes in place reach the record",
        RECORDING,
        "return output.clone()",
        "return None",
        "instruments/test_recording.py::test_a_change_in_place_further_on_does_not_reach_the_record",
    ),
    Mutation(
        "a second pass overwrites the first",
        RECORDING,
        "if name in trace:",
        "if False:",
        "instruments/test_recording.py::test_a_second_pass_into_the_same_trace_is_refused",
    ),
    Mutation(
        "an empty trace passes for a full one",
        RECORDING,
        "if not trace:",
        "if False:",
        "instruments/test_recording.py::test_no_pass_at_all_is_reported",
    ),
    Mutation(
        "the real encoder ignores its mask",
        PRETRAINED,
        "self.self_attention(x, mask=mask)",
        "self.self_attention(x)",
        "model/test_pretrained.py::test_padding_does_not_change_a_sentence",
    ),
    Mutation(
        "the real encoder adds before its feed-forward norm only",
        PRETRAINED,
        "self.attention_norm(x + self.self_attention(x, mask=mask))",
        "x + self.attention_norm(self.self_attention(x, mask=mask))",
        "model/test_pretrained.py::test_it_is_the_published_model",
    ),
]


def run_tests(copy: str, tests: list[str]) -> tuple[int, str]:
    """Run `tests` on the library in `copy`, in a process of its own: the exit status of pytest and what it printed."""
    sys.path.insert(0, copy)
    sys.dont_write_bytecode = True
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # Plugins take longer to load than the tests take to run.
    options = ["-q", "-x", "-W", "error", "-c", os.devnull, "--rootdir", str(ROOT), "-p", "no:cacheprovider"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        status = pytest.main([*options, *(str(ROOT / "tests" / test) for test in tests)])
    assert sys.modules["transformer_anatomy"].__file__.startswith(copy)
    return int(status), printed.getvalue()


@pytest.fixture(scope="module")
def processes():
    """Fresh processes, each used once, that share the import of torch."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "pytest"])
    with ProcessPoolExecutor(max_workers=1, mp_context=context, max_tasks_per_child=1) as pool:
        yield pool


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(LIBRARY, tmp_path / "transformer_anatomy", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_the_library_as_it_is_passes(processes, copy):
    status, printed = processes.submit(run_tests, str(copy), sorted({m.noticed_by for m in MUTATIONS})).result()
    assert status == pytest.ExitCode.OK, printed


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.mistake.replace(" ", "-"))
def test_a_mistake_is_noticed(processes, copy, mutation):
    file = copy / "transformer_anatomy" / mutation.file
    source = file.read_text(encoding="utf-8")
    assert source.count(mutation.right) == 1, "the line to be mutated is not there, or not once"
    file.write_text(source.replace(mutation.right, mutation.wrong), encoding="utf-8")
    status, printed = processes.submit(run_tests, str(copy), [mutation.noticed_by]).result()
    assert status == pytest.ExitCode.TESTS_FAILED, printed
