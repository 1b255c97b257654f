"""Classic mistakes, each as a change of one line of the library, with the test that must notice it."""

from typing import NamedTuple


class Mutation(NamedTuple):
    mistake: str
    right: str
    wrong: str
    noticed_by: str  # a test of the file that mirrors the source, or of another one: "model/test_encoder.py::test_…"


FIT, CHECKPOINT = "lab/test_fit_arguments.py::", "lab/test_checkpoint.py::"
MULTI_HEAD, ENCODER = "model/test_multi_head_attention.py::", "model/test_encoder.py::"
SAME_POLARITY = "test_true_means_may_attend_here_and_in_the_fused_kernel_and_after_conversion_in_the_module"

MUTATIONS = {
    "model/arguments.py": [
        Mutation(
            "heads need not divide the width",
            "if d_model % n_heads:",
            "if False:",
            "model/test_config.py::test_it_cannot_be_changed_but_a_changed_copy_is_checked_again",
        ),
        Mutation(
            "an id just beyond the vocabulary passes",
            "if least < 0 or most >= end:",
            "if least < 0 or most > end:",
            ENCODER + "TestRefusals::test_bad_input_is_refused_at_the_edge",
        ),
        Mutation(
            "a sequence may be longer than the table of positions",
            "if ids.shape[1] > max_length:",
            "if False:",
            ENCODER + "TestRefusals::test_a_sequence_may_have_as_many_tokens_as_there_are_positions",
        ),
    ],
    "model/masks.py": [
        Mutation(
            "the causal mask lets each token see its successor",
            "device=device) <= 0",
            "device=device) <= 1",
            "test_the_future_is_hidden_and_the_present_is_not",
        ),
        Mutation(
            "the causal mask hides each token from itself",
            "device=device) <= 0",
            "device=device) < 0",
            "test_the_future_is_hidden_and_the_present_is_not",
        ),
        Mutation(
            "the causal mask hides the past",
            "device=device) <= 0",
            "device=device) >= 0",
            MULTI_HEAD + "test_the_future_does_not_reach_the_past",
        ),
        Mutation(
            "the causal mask is aligned top-left",
            "torch.arange(n_key - n_query, n_key,",
            "torch.arange(n_query,",
            "test_the_last_query_of_a_causal_mask_sees_every_key",
        ),
        Mutation(
            "padding hides queries instead of keys",
            "[:, None, None, :]",
            "[:, None, :, None]",
            "test_a_padded_key_is_hidden_not_a_padded_query",
        ),
        Mutation(
            "padding leaves one pad visible",
            "< lengths[:, None]",
            "<= lengths[:, None]",
            MULTI_HEAD + "test_a_sample_does_not_feel_its_neighbours_in_the_batch",
        ),
        Mutation(
            "a key that one query may not see counts as padding",
            ".any(dim=(1, 2), keepdim=True)",
            ".all(dim=(1, 2), keepdim=True)",
            "test_a_key_is_visible_if_some_query_of_some_head_may_attend_to_it",
        ),
        Mutation(
            "the converter between the two polarities does not turn", "return ~mask", "return mask", SAME_POLARITY
        ),
        Mutation(
            "numbers pass as a mask",
            "if mask.dtype != torch.bool:",
            "if False:",
            "model/test_attention.py::TestWeights::test_numbers_are_not_a_mask",
        ),
        Mutation(
            "a mask for each sample is read as one for each head",
            "if mask.dim() == 3:",
            "if False:",
            "test_three_axes_could_be_samples_or_heads_and_are_refused",
        ),
    ],
    "model/attention.py": [
        Mutation(
            "scores are not scaled",
            "queries / math.sqrt(d_head) @",
            "queries @",
            "TestScores::test_scaling_keeps_the_variance_of_scores_at_one",
        ),
        Mutation(
            "scores are divided by the width, not its root",
            "queries / math.sqrt(d_head) @",
            "queries / d_head @",
            "TestScores::test_a_score_is_a_scaled_product",
        ),
        Mutation(
            "softmax runs over the queries",
            "scores.softmax(dim=-1)",
            "scores.softmax(dim=-2)",
            "TestWeights::test_softmax_runs_over_the_keys",
        ),
        Mutation(
            "the mask is flipped",
            "masked_fill(~mask, -math.inf)",
            "masked_fill(mask, -math.inf)",
            "model/test_masks.py::" + SAME_POLARITY,
        ),
        Mutation(
            "masked scores are a large number instead of minus infinity",
            "masked_fill(~mask, -math.inf)",
            "masked_fill(~mask, -1e9)",
            "TestWeights::test_a_masked_key_gets_exactly_nothing",
        ),
        Mutation(
            "a row that may attend to nothing is left uniform",
            "weights.masked_fill(sees_nothing, 0.0)",
            "weights",
            "TestWeights::test_a_sample_of_length_zero_attends_to_nothing",
        ),
        Mutation(
            "a row that may attend to nothing sends NaN back",
            "-math.inf).masked_fill(sees_nothing, 0.0)",
            "-math.inf)",
            "TestWeights::test_a_query_that_may_attend_to_nothing_gets_zeros_and_gradients_of_zero",
        ),
        Mutation(
            "temperature multiplies",
            "/ min(max(temperature",
            "* min(max(temperature",
            "TestWeights::test_temperature_divides_the_scores",
        ),
        Mutation(
            "the fused way forgets the mask",
            "torch.atleast_2d(mask | ~sees_something), dropout",
            "None, dropout",
            MULTI_HEAD + "test_looking_changes_nothing_but_the_last_rounding",
        ),
        Mutation(
            "the fused way reads something where it may attend to nothing",
            "return mixed * sees_something",
            "return mixed",
            MULTI_HEAD + "test_an_empty_sample_leaves_the_gradients_of_the_others_alone",
        ),
    ],
    "model/heads.py": [
        Mutation(
            "heads are cut by a reshape that mixes tokens and features",
            "x.reshape(batch, position, n_heads, d_model // n_heads).transpose(1, 2)",
            "x.reshape(batch, n_heads, position, d_model // n_heads)",
            "test_a_head_is_a_slice_of_features_not_of_tokens",
        ),
        Mutation(
            "heads are merged without turning them back",
            "x.transpose(1, 2).flatten(start_dim=2)",
            "x.reshape(x.shape[0], x.shape[2], -1)",
            "test_merging_undoes_splitting",
        ),
    ],
    "model/multi_head_attention.py": [
        Mutation(
            "all heads read the values of the first",
            "F.dropout(weights, dropout) @ values",
            "F.dropout(weights, dropout) @ values[:, :1]",
            "test_heads_are_independent",
        ),
        Mutation(
            "all heads show the map of the first",
            "self.weights(attention_weights(scores, mask))",
            "self.weights(attention_weights(scores, mask)[:, :1].expand_as(scores))",
            "test_every_head_keeps_its_own_map",
        ),
        Mutation(
            "keys are read from the queries' side",
            "self.project(memory) if cache",
            "self.project(x) if cache",
            "test_it_agrees_with_torch",
        ),
        Mutation(
            "values are projected as the keys are",
            "self.value_projection(memory)",
            "self.key_projection(memory)",
            "test_it_agrees_with_torch",
        ),
        Mutation(
            "the recorded weights are those after dropout",
            "self.weights(attention_weights(scores, mask))",
            "self.weights(F.dropout(attention_weights(scores, mask), dropout))",
            "test_recorded_weights_are_those_before_dropout",
        ),
        Mutation(
            "dropout goes on in evaluation",
            "self.dropout if self.training else 0.0",
            "self.dropout",
            "test_dropout_acts_in_training_only",
        ),
        Mutation(
            "the weights are formed even if nobody looks",
            "if not (self.scores.watched or self.weights.watched):",
            "if False:",
            "test_nobody_looking_costs_nothing",
        ),
        Mutation(
            "the written-out way forgets the mask",
            "attention_weights(scores, mask)",
            "attention_weights(scores)",
            "test_looking_changes_nothing_but_the_last_rounding",
        ),
    ],
    "model/layer_norm.py": [
        Mutation(
            "the final norm is missing",
            'if config.norm == "pre" else nn.Identity()',
            "if False else nn.Identity()",
            "model/test_residual.py::test_only_with_the_norm_before_the_branches_does_a_stack_end_with_a_norm",
        ),
        Mutation(
            "post-norm gets a final norm, too",
            'if config.norm == "pre" else nn.Identity()',
            'if config.norm != "none" else nn.Identity()',
            "model/test_residual.py::test_only_with_the_norm_before_the_branches_does_a_stack_end_with_a_norm",
        ),
        Mutation(
            "the variance is the unbiased one",
            "variance = centred.square().mean(dim=-1, keepdim=True)",
            "variance = wide.var(dim=-1, keepdim=True)",
            "test_a_token_is_centred_and_scaled_by_the_root_of_its_mean_square",
        ),
        Mutation(
            "the variance is taken around zero",
            "centred = wide - wide.mean(dim=-1, keepdim=True)",
            "centred = wide",
            "test_a_token_is_centred_and_scaled_by_the_root_of_its_mean_square",
        ),
        Mutation(
            "eps stands outside the root",
            "torch.sqrt(variance + eps)",
            "(torch.sqrt(variance) + eps)",
            "test_the_guard_against_zero_variance_stands_inside_the_root",
        ),
        Mutation(
            "the fused norm has another eps",
            "self.bias, self.eps)",
            "self.bias)",
            "test_the_guard_against_zero_variance_stands_inside_the_root",
        ),
        Mutation(
            "all tokens share one mean",
            "wide - wide.mean(dim=-1, keepdim=True)",
            "wide - wide.mean()",
            "test_each_token_is_normalised_alone_in_any_arrangement",
        ),
        Mutation(
            "squares overflow float16",
            "wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x",
            "wide = x",
            "test_half_precision_does_not_overflow_on_the_way",
        ),
        Mutation(
            "the recorded token has gain and offset already",
            "self.normalized(normalize(x, self.eps)) * self.weight + self.bias",
            "self.normalized(normalize(x, self.eps) * self.weight + self.bias)",
            "test_what_is_recorded_is_the_token_before_gain_and_offset",
        ),
        Mutation(
            "the offset is forgotten when somebody looks",
            "* self.weight + self.bias",
            "* self.weight",
            "test_it_equals_torch_s_in_value_and_gradient",
        ),
        Mutation(
            "the norm is written out even if nobody looks",
            "if self.normalized.watched:",
            "if True:",
            "test_nobody_looking_costs_nothing",
        ),
    ],
    "model/residual.py": [
        Mutation(
            "pre and post are mixed up",
            '"post": PostNorm, "pre": PreNorm',
            '"post": PreNorm, "pre": PostNorm',
            "test_the_norm_stands_where_the_configuration_says",
        ),
        Mutation(
            "the norm stands on the update alone",
            "self.norm(self.join(x, self.dropout(branch(x, **given))))",
            "self.join(x, self.norm(self.dropout(branch(x, **given))))",
            "test_the_norm_stands_where_the_configuration_says",
        ),
        Mutation(
            "the norm before the branch replaces the stream",
            "self.join(x, self.dropout(branch(self.norm(x), **given)))",
            "self.join(self.norm(x), self.dropout(branch(self.norm(x), **given)))",
            "test_the_norm_stands_where_the_configuration_says",
        ),
        Mutation(
            "the residual connection cannot be taken away",
            "Add() if config.residual else Replace()",
            "Add()",
            "test_the_norm_stands_where_the_configuration_says",
        ),
        Mutation(
            "dropout falls on the stream",
            "self.join(x, self.dropout(branch(self.norm(x), **given)))",
            "self.dropout(self.join(x, branch(self.norm(x), **given)))",
            "test_dropout_falls_on_the_update_and_never_on_the_stream",
        ),
        Mutation(
            "the norms of the layers have another eps",
            "self.norm = LayerNorm(config.d_model, eps=config.norm_eps)",
            "self.norm = LayerNorm(config.d_model)",
            "test_each_norm_is_an_object_of_its_own_with_the_configured_guard",
        ),
    ],
    "model/feedforward.py": [
        Mutation(
            "the activation is forgotten",
            "self.activation(self.hidden_projection(x))",
            "self.hidden_projection(x)",
            "test_it_is_two_linear_maps_with_an_activation_between",
        ),
        Mutation(
            "the recorded neurons are those before the activation",
            "self.hidden(self.activation(self.hidden_projection(x)))",
            "self.activation(self.hidden(self.hidden_projection(x)))",
            "test_it_is_two_linear_maps_with_an_activation_between",
        ),
        Mutation(
            "gelu is approximated", '"gelu": nn.GELU', '"gelu": lambda: nn.GELU("tanh")', "test_gelu_is_the_exact_one"
        ),
    ],
    "model/embedding.py": [
        Mutation(
            "the scale is forgotten",
            "self.tokens(token_ids) * self.scale",
            "self.tokens(token_ids)",
            "test_a_token_is_scaled_by_the_root_of_the_width_and_its_position_is_not",
        ),
        Mutation(
            "positions are scaled, too",
            "self.positions(self.tokens(token_ids) * self.scale, positions)",
            "self.positions(self.tokens(token_ids), positions) * self.scale",
            "test_a_token_is_scaled_by_the_root_of_the_width_and_its_position_is_not",
        ),
        Mutation(
            "positions are made and never added",
            "self.positions(self.tokens(token_ids) * self.scale, positions)",
            "self.tokens(token_ids) * self.scale",
            ENCODER + "TestOrder::test_only_positions_tell_the_order_of_the_tokens",
        ),
        Mutation(
            "positions are added after the norm",
            "self.norm(self.positions(self.tokens(token_ids) * self.scale, positions))",
            "self.positions(self.norm(self.tokens(token_ids) * self.scale), positions)",
            "test_the_norm_comes_after_the_position_and_before_dropout",
        ),
    ],
    "model/positions.py": [
        Mutation(
            "the exponent is doubled",
            "(-pairs / d_model)",
            "(-pairs * 2 / d_model)",
            "TestSinusoids::test_sine_and_cosine_of_a_pair_share_their_frequency",
        ),
        Mutation(
            "a sine and its cosine have different frequencies",
            "torch.stack([angles.sin(), angles.cos()], dim=-1)",
            "torch.stack([angles.sin(), (angles * 10_000.0 ** (-1 / d_model)).cos()], dim=-1)",
            "TestSinusoids::test_neighbours_are_equally_alike_everywhere",
        ),
        Mutation(
            "sines come first and then cosines",
            "torch.stack([angles.sin(), angles.cos()], dim=-1)",
            "torch.cat([angles.sin(), angles.cos()], dim=-1)[..., None]",
            "TestSinusoids::test_sine_and_cosine_of_a_pair_share_their_frequency",
        ),
        Mutation(
            "an odd width is rounded up",
            ".flatten(start_dim=-2)[..., :d_model]",
            ".flatten(start_dim=-2)",
            "TestSinusoids::test_an_odd_width_ends_with_a_sine",
        ),
        Mutation(
            "sinusoids make a stream of float64 and float16 float32",
            "sinusoids(positions, x.shape[-1]).to(x.dtype)",
            "sinusoids(positions, x.shape[-1])",
            "TestAdding::test_the_stream_keeps_its_device_and_dtype",
        ),
        Mutation(
            "padding on the left is counted",
            "return (positions - n_padding).clamp(min=0)",
            "return positions",
            ENCODER + "TestPadding::test_a_sentence_has_the_same_states_with_and_without_padding",
        ),
        Mutation(
            "padding on the left has negative positions",
            "return (positions - n_padding).clamp(min=0)",
            "return positions - n_padding",
            "TestCounting::test_padding_on_the_left_is_not_counted",
        ),
        Mutation(
            "positions start anew after earlier tokens",
            "torch.arange(offset, offset + n,",
            "torch.arange(n,",
            "TestCounting::test_without_a_mask_they_count_from_zero_and_go_on_after_earlier_ones",
        ),
    ],
    "model/initialization.py": [
        Mutation(
            "token vectors start with the variance 1",
            "std = module.tokens.embedding_dim**-0.5",
            "std = 1.0",
            ENCODER + "TestStart::test_tokens_and_learned_positions_start_equally_large",
        ),
        Mutation(
            "linear maps start as PyTorch's do",
            "nn.init.xavier_uniform_(module.weight)",
            "module.reset_parameters()",
            ENCODER + "TestStart::test_linear_maps_start_xavier_uniform_without_offset",
        ),
    ],
    "model/encoder.py": [
        Mutation(
            "one layer stands in all places",
            "nn.ModuleList(EncoderLayer(config) for _ in range(config.n_layers))",
            "nn.ModuleList([EncoderLayer(config)] * config.n_layers)",
            "TestStructure::test_every_layer_has_weights_of_its_own",
        ),
        Mutation(
            "one norm serves both branches",
            "self.feedforward_residual, self.stream = residual_connection(config), Tap()",
            "self.feedforward_residual, self.stream = self.self_attention_residual, Tap()",
            "TestStructure::test_every_layer_has_weights_of_its_own",
        ),
        Mutation(
            "the mask does not reach the layers",
            "x = layer(x, mask)",
            "x = layer(x)",
            "TestPadding::test_a_sentence_has_the_same_states_with_and_without_padding",
        ),
        Mutation(
            "the final norm is there and never used",
            "return self.final_norm(x)",
            "return x",
            "TestStructure::test_one_final_norm_ends_the_stack_where_none_stands_on_the_stream",
        ),
        Mutation(
            "the final norm is used twice",
            "return self.final_norm(x)",
            "return self.final_norm(self.final_norm(x))",
            "TestStructure::test_one_final_norm_ends_the_stack_where_none_stands_on_the_stream",
        ),
        Mutation(
            "both branches read the stream as it came in",
            "return self.stream(self.feedforward_residual(x, self.feedforward))",
            "return self.stream(self.feedforward_residual(x, lambda _: self.feedforward(self.embedded)))",
            "TestStructure::test_a_layer_is_two_branches_joined_to_the_stream",
        ),
        Mutation(
            "given positions are ignored",
            "if positions is None:",
            "if True:",
            "TestOrder::test_with_their_positions_given_tokens_may_come_in_any_order",
        ),
        Mutation(
            "a dtype that does not match gets as far as the first norm",
            'check_stream("x", x, self.config.d_model, self.embedding.tokens.weight.dtype)',
            "pass",
            "TestRefusals::test_vectors_that_do_not_fit_are_refused_before_the_first_layer",
        ),
    ],
    "model/decoder.py": [
        Mutation(
            "the decoder sees the future",
            "visible = causal_mask(n, held + n, device=x.device)",
            "visible = causal_mask(n, held + n, device=x.device) | True",
            "TestWhoSeesWhom::test_no_position_sees_a_later_one_whatever_the_mask",
        ),
        Mutation(
            "with a cache the first chunk sees its own future",
            "visible = causal_mask(n, held + n, device=x.device)",
            "visible = causal_mask(n, held + n, device=x.device) | (layer_caches is not None)",
            "model/test_cache.py::test_the_first_pass_over_several_tokens_hides_the_future_too",
        ),
        Mutation(
            "the causal mask of a later chunk is aligned top-left",
            "visible = causal_mask(n, held + n, device=x.device)",
            "visible = causal_mask(held + n, device=x.device)[:n]",
            "model/test_cache.py::TestSameNumbers::test_a_step_can_be_recorded",
        ),
        Mutation(
            "a new query gets the mask of the first",
            "mask[..., -n:, :]",
            "mask[..., :n, :]",
            "model/test_cache.py::TestSameNumbers::test_masks_with_a_row_for_each_query_are_read_for_the_new_ones",
        ),
        Mutation(
            "positions start anew at every step with a cache",
            "positions[:, held:])",
            "positions[:, : n - held])",
            "model/test_cache.py::TestSameNumbers::test_positions_go_on_where_the_last_pass_stopped",
        ),
        Mutation(
            "the length so far is counted twice",
            "positions[:, held:])",
            "positions[:, held:] + held)",
            "model/test_cache.py::TestSameNumbers::test_positions_go_on_where_the_last_pass_stopped",
        ),
        Mutation(
            "the memory is masked by the target's padding",
            "layer(x, memory, visible, memory_mask, layer_cache)",
            "layer(x, memory, visible, mask, layer_cache)",
            "TestWhoSeesWhom::test_the_memory_is_masked_by_the_padding_of_its_source_not_of_the_target",
        ),
        Mutation(
            "the memory's padding is read",
            "memory=memory, mask=memory_mask,",
            "memory=memory,",
            "TestWhoSeesWhom::test_all_positions_see_all_of_the_memory_but_its_padding",
        ),
        Mutation(
            "cross-attention reads its own stream",
            "self.cross_attention, memory=memory,",
            "self.cross_attention, memory=x,",
            "TestStructure::test_a_layer_looks_back_looks_up_and_thinks",
        ),
        Mutation(
            "one decoder layer stands in all places",
            "nn.ModuleList(DecoderLayer(config) for _ in range(config.n_layers))",
            "nn.ModuleList([DecoderLayer(config)] * config.n_layers)",
            "TestStructure::test_every_layer_starts_with_its_own_weights",
        ),
        Mutation(
            "the decoder's final norm is there and never used",
            "return self.final_norm(x)",
            "return x",
            "model/test_parity.py::TestDecoder::test_the_decoder_is_that_of_pytorch"
            "[float32-train-memory whole-whole-relu-pre]",
        ),
    ],
    "model/cache.py": [
        Mutation(
            "new keys are put before the old ones",
            "torch.cat([old, new], dim=2)",
            "torch.cat([new, old], dim=2)",
            "TestSameNumbers::test_a_step_can_be_recorded",
        ),
        Mutation(
            "the cache goes on whatever it was filled from",
            "check_continuation(self.inputs, inputs)",
            "pass",
            "TestMisuse::test_nor_can_the_memory_change",
        ),
        Mutation(
            "the cache outlives its decoder",
            "if decoder is not self.decoder:",
            "if False:",
            "TestMisuse::test_nor_can_another_decoder_go_on",
        ),
        Mutation(
            "a cache carries gradients and dropout",
            "if torch.is_grad_enabled() or any(module.training for module in decoder.modules()):",
            "if False:",
            "TestMisuse::test_it_carries_no_gradient",
        ),
        Mutation(
            "a pass that failed leaves its keys behind",
            "[LayerCache(*map(copy, layer)) for layer in self.layers]",
            "self.layers",
            "TestMisuse::test_a_pass_that_fails_leaves_no_trace",
        ),
        Mutation(
            "the cache compares what it was given with itself",
            "tensor.detach().clone()",
            "tensor",
            "TestMisuse::test_writing_into_what_was_given_is_noticed",
        ),
    ],
    "model/continuation.py": [
        Mutation(
            "the whole sequence may be fed again",
            "if given.token_ids.shape[1] <= n:",
            "if False:",
            "model/test_cache.py::TestMisuse::test_the_same_tokens_cannot_be_fed_twice",
        ),
        Mutation(
            "another prompt goes on with the old keys",
            "if not _same(given.token_ids[:, :n], held.token_ids):",
            "if False:",
            "model/test_cache.py::TestMisuse::test_nor_the_new_token_alone_nor_another_prompt",
        ),
    ],
    "model/transformer.py": [
        Mutation(
            "tied output weights are a copy",
            "TiedProjection(self.encoder.embedding.tokens)",
            "TiedProjection(nn.Embedding.from_pretrained(self.encoder.embedding.tokens.weight.data, freeze=False))",
            "TestTying::test_one_matrix_is_counted_once",
        ),
        Mutation(
            "the decoder's embedding is left out of the tie",
            "self.decoder.embedding.tokens = self.encoder.embedding.tokens",
            "pass",
            "TestTying::test_one_matrix_is_counted_once",
        ),
        Mutation(
            "logits are probabilities already",
            "self.logits(self.output_projection(stream))",
            "self.logits(self.output_projection(stream).softmax(dim=-1))",
            "TestLogits::test_there_is_a_logit_for_every_token_at_every_target_position",
        ),
        Mutation(
            "the decoder reads the source's padding",
            "else visible_keys(source_mask)",
            "else None",
            "TestMasks::test_source_padding_is_hidden_from_encoder_and_decoder",
        ),
        Mutation(
            "the encoder reads its padding",
            "self.encoder(source_ids, source_mask)",
            "self.encoder(source_ids)",
            "TestMasks::test_source_padding_is_hidden_from_encoder_and_decoder",
        ),
    ],
    "model/generation.py": [
        Mutation(
            "the next token follows from the first position",
            "cache=cache)[:, -1]",
            "cache=cache)[:, 0]",
            "TestDecoding::test_each_token_is_the_most_probable_one_after_those_before_it",
        ),
        Mutation(
            "the padding of a prompt is read",
            "ids, mask = prompt_ids.clone(), prompt_mask",
            "ids, mask = prompt_ids.clone(), None",
            "TestDecoding::test_prompts_of_unequal_length_go_on_together_as_each_alone[cached-sinusoidal-0]",
        ),
        Mutation(
            "what was said is hidden as padding",
            "F.pad(mask, (0, 1), value=True)",
            "F.pad(mask, (0, 1), value=False)",
            "TestDecoding::test_prompts_of_unequal_length_go_on_together_as_each_alone[cached-sinusoidal-0]",
        ),
        Mutation(
            "a sequence goes on after its end",
            "following.masked_fill(ended, end_id)",
            "following",
            "TestTheEnd::test_a_sequence_that_has_ended_is_filled_up_while_others_go_on",
        ),
        Mutation(
            "decoding is random in training mode",
            "if any(module.training for module in transformer.modules()):",
            "if False:",
            "TestRefusals::test_nothing_is_random_when_decoding",
        ),
        Mutation(
            "too long a continuation is noticed when it is too late",
            "if n + n_new - 1 > config.max_length:",
            "if False:",
            "TestTheEnd::test_the_context_can_be_filled_to_the_last_position_and_no_further",
        ),
    ],
    "model/objective.py": [
        Mutation(
            "the shift is forgotten",
            "token_ids[:, 1:].clone()",
            "token_ids[:, :-1]",
            "TestPairs::test_every_token_but_the_last_is_paired_with_the_one_that_follows",
        ),
        Mutation(
            "softmax is applied twice",
            "F.cross_entropy(wide.flatten(0, 1),",
            "F.cross_entropy(wide.flatten(0, 1).softmax(dim=-1),",
            "TestLoss::test_logits_come_before_softmax_or_the_loss_cannot_fall_below_a_floor",
        ),
        Mutation(
            "padding counts in the number of tokens",
            "counted.sum().clamp(min=1)",
            "max(1, losses.numel())",
            "TestLoss::test_padding_does_not_count",
        ),
        Mutation(
            "padding counts in the sum of losses",
            "losses.masked_fill(~counted, 0.0).sum()",
            "losses.sum()",
            "TestLoss::test_padding_does_not_count",
        ),
        Mutation(
            "nothing divided by nothing",
            ".sum().clamp(min=1)",
            ".sum()",
            "TestLoss::test_where_nothing_counts_loss_and_gradients_are_zero",
        ),
        Mutation(
            "what is not asked counts where a mask is given, too",
            "counted = asked if counted is None else counted & asked",
            "counted = asked if counted is None else counted",
            "TestLoss::test_what_is_marked_as_not_asked_does_not_count",
        ),
        Mutation(
            "the loss is computed in half precision",
            "wide = logits if logits.dtype == torch.float64 else logits.float()",
            "wide = logits",
            "TestLoss::test_it_is_computed_in_float32_at_least",
        ),
    ],
    "model/pooling.py": [
        Mutation(
            "padding is pooled",
            "wide.masked_fill(~real, 0.0)",
            "wide",
            "test_a_sentence_is_the_mean_of_its_tokens_and_padding_is_none",
        ),
        Mutation(
            "padding counts in the number of tokens of a sentence",
            "real.sum(dim=1).clamp(min=1)",
            "n",
            "test_a_sentence_is_the_mean_of_its_tokens_and_padding_is_none",
        ),
        Mutation(
            "padding is multiplied away, NaN is not",
            "wide.masked_fill(~real, 0.0)",
            "(wide * real)",
            "test_a_sentence_does_not_depend_on_its_neighbours",
        ),
        Mutation(
            "a sentence of padding is divided by zero",
            "real.sum(dim=1).clamp(min=1)",
            "real.sum(dim=1)",
            "test_a_sample_of_padding_alone_is_zero_with_finite_gradients",
        ),
    ],
    "model/bert.py": [
        Mutation(
            "the vector of the token type is forgotten",
            ' + bert["embeddings.token_type_embeddings.weight"][0]',
            "",
            "test_a_bert_of_any_size_is_an_encoder",
        ),
        Mutation(
            "keys and queries are mixed up",
            '"self_attention.key_projection": "attention.self.key"',
            '"self_attention.key_projection": "attention.self.query"',
            "test_a_bert_of_any_size_is_an_encoder",
        ),
    ],
    "model/published.py": [
        Mutation(
            "altered weights are loaded",
            "if found != sha256:",
            "if False:",
            "model/test_pretrained.py::test_weights_that_are_not_the_published_ones_are_refused[another]",
        ),
    ],
    "instruments/health/broken.py": [
        Mutation(
            "a mask is to blame for what another module made",
            '(broken for broken in self.all if broken.holds != "−∞" and not broken.given_too)',
            "(broken for broken in self.all)",
            "test_a_mask_made_first_is_not_to_blame",
        ),
    ],
    "instruments/health/flow.py": [
        Mutation(
            "what stands between two layers is left out of the growth",
            "goes_on = following is not None and",
            "goes_on = False and",
            "instruments/health/test_place.py::test_the_growth_of_a_perceptron_includes_its_activation",
        ),
    ],
    "instruments/health/place.py": [
        Mutation(
            "an activation between layers belongs to none of them",
            "else self._before or self.module",
            "else self.module",
            "test_neurons_belong_to_the_layer_that_made_them",
        ),
    ],
    "instruments/health/signals.py": [
        Mutation(
            "a last layer that starts at 0 lets the gradient vanish",
            " and not (ratio == 0 and _holds_gate(model))",
            "",
            "instruments/health/test_patients.py::test_a_last_layer_that_starts_at_0_is_a_gate",
        ),
    ],
    "instruments/health/stacks.py": [
        Mutation(
            "a classifier's maps are layers beside the blocks",
            "return blocks or stacks",
            "return stacks",
            "test_a_classifier_beside_blocks_is_no_layer_though_both_are_containers",
        ),
    ],
    "instruments/health/steps.py": [
        Mutation(
            "the last of several optimisers decides",
            "if path not in together or update.ratio > together[path].ratio:",
            "if True:",
            "test_several_optimizers_step_together",
        ),
    ],
    "instruments/health/tokens.py": [
        Mutation(
            "a first token that all look at is an inverted mask",
            "int(shown.any(dim=0).sum()) < 2",
            "int(shown.any(dim=0).sum()) < 1",
            "test_a_token_that_all_look_at_is_no_inverted_mask",
        ),
    ],
    "instruments/health/unused.py": [
        Mutation(
            "what went nowhere was cut off",
            'yield path, n, "" if used and meant else why',
            'yield path, n, "" if used else why',
            "test_what_ran_for_nobody_and_what_nothing_called_are_noted",
        ),
    ],
    "instruments/health/worth.py": [
        Mutation(
            "a choice is worth what the loss loses by it",
            "return (alike - (weights * gradient).sum(dim=-1))[n > 1]",
            "return ((weights * gradient).sum(dim=-1) - alike)[n > 1]",
            "test_a_right_choice_is_worth_1_and_a_wrong_one_less_than_nothing",
        ),
    ],
    "instruments/health/written_norm.py": [
        Mutation(
            "any root is a norm",
            "if address(args[0]) in self._statistics and (len",
            "if (len",
            "test_a_root_is_no_norm",
        ),
    ],
    "instruments/layer_gradients.py": [
        Mutation(
            "the last layer is divided by the first",
            "return first / last if first is not None and last else None",
            "return last / first if first and last is not None else None",
            "test_a_layer_is_the_norm_of_all_its_gradients",
        ),
        Mutation(
            "the loss scale stays in the norms",
            "None if size is None else size / scale",
            "None if size is None else size",
            "test_the_scale_of_a_gradient_scaler_is_taken_out",
        ),
        Mutation(
            "cosines are products",
            "(_wide(a) / size) * (_wide(b) / next_size)",
            "_wide(a) * _wide(b)",
            "test_neighbours_are_compared_by_the_angle_between_their_gradients",
        ),
    ],
    "instruments/gradients.py": [
        Mutation(
            "a parameter without a gradient has a gradient of zero",
            "if gradient is None:\n        return None",
            "if gradient is None:\n        return 0.0",
            "test_a_parameter_without_a_gradient_is_not_one_with_a_gradient_of_zero",
        ),
        Mutation(
            "norms overflow in half precision",
            "ord=order, dtype=wide)",
            "ord=order)",
            "test_a_norm_neither_overflows_nor_loses_digits_on_the_way",
        ),
        Mutation(
            "norms are those of the scaled loss",
            ".item() / scale",
            ".item()",
            "test_the_scale_of_a_gradient_scaler_is_taken_out",
        ),
    ],
    "instruments/attention.py": [
        Mutation(
            "nothing guards the logarithm of zero",
            "weights.masked_fill(weights == 0, 1.0).log()",
            "weights.log()",
            "TestEntropy::test_nothing_times_the_logarithm_of_nothing_is_nothing",
        ),
        Mutation(
            "the logarithm of zero is guarded by a number that biases small weights",
            "weights.masked_fill(weights == 0, 1.0).log()",
            "(weights + 1e-6).log()",
            "TestEntropy::test_a_zero_passes_no_gradient_and_a_small_weight_is_not_rounded_away",
        ),
        Mutation(
            "entropy is in bits",
            "1.0).log()",
            "1.0).log2()",
            "TestEntropy::test_uniform_weights_have_the_logarithm_of_n_and_a_certain_row_has_none",
        ),
        Mutation(
            "distances have a sign",
            "device=weights.device).abs()",
            "device=weights.device)",
            "TestDistance::test_it_is_the_mean_number_of_positions_between_query_and_key",
        ),
        Mutation(
            "the Jacobian is only its diagonal",
            " - weights[..., :, None] * weights[..., None, :]",
            "",
            "TestJacobian::test_it_is_the_derivative_of_the_weights_by_the_scores",
        ),
    ],
    "instruments/recording.py": [
        Mutation("hooks stay behind", "handle.remove()", "pass", "test_an_exception_leaves_no_hook_behind"),
        Mutation(
            "hooks stay behind after an exception",
            "    finally:\n",
            "    except GeneratorExit:\n        pass\n    else:\n",
            "test_an_exception_leaves_no_hook_behind",
        ),
        Mutation(
            "later changes in place reach the record",
            "return output.clone()",
            "return None",
            "test_a_change_in_place_further_on_does_not_reach_the_record",
        ),
        Mutation(
            "a second pass overwrites the first",
            "if name in trace:",
            "if False:",
            "test_a_second_pass_into_the_same_trace_is_refused",
        ),
        Mutation(
            "what is recorded comes in the order of construction",
            "return list(self._tensors)",
            "return [place for place in self._places if place in self._tensors]",
            "test_the_order_of_the_names_shows_where_the_norm_stands",
        ),
        Mutation(
            "an empty trace passes for a full one", "if not trace:", "if False:", "test_no_pass_at_all_is_reported"
        ),
    ],
    "instruments/statistics.py": [
        Mutation(
            "earlier keys keep their depth when the peak rises",
            "depth * shrink + total * rise + below",
            "depth * shrink + below",
            "TestTheFormulas::test_they_are_those_of_the_dense_map_for_every_mask_and_block",
        ),
        Mutation(
            "causal hides each token from itself",
            "scores.masked_fill_(relative > 0, -math.inf)",
            "scores.masked_fill_(relative >= 0, -math.inf)",
            "TestTheFormulas::test_causal_is_the_causal_mask_and_joins_the_other_one",
        ),
        Mutation(
            "the window is one key too narrow",
            "(relative.abs() <= window)",
            "(relative.abs() < window)",
            "TestTheFormulas::test_a_window_of_any_width_is_measured_across_blocks",
        ),
        Mutation(
            "a hidden key is read",
            "scores.masked_fill_(~mask[..., start:end], -math.inf)",
            "pass",
            "TestNothing::test_a_query_that_may_attend_to_nothing_has_zeros_and_its_neighbours_do_not",
        ),
    ],
    "instruments/spectra.py": [
        Mutation(
            "the effective rank is that of the squares",
            "return effective_count(_relative_values(matrix))",
            "return effective_count(_relative_values(matrix).square())",
            "TestHandMade::test_three_and_four",
        ),
        Mutation(
            "a share is one of singular values, not of their squares",
            "squares = _relative_values(matrix).square()",
            "squares = _relative_values(matrix)",
            "TestHandMade::test_three_and_four",
        ),
        Mutation(
            "a core turns one of its factors",
            'torch.linalg.qr(right, mode="r").R.transpose(-2, -1)',
            'torch.linalg.qr(right, mode="r").R',
            "test_a_core_stands_for_a_product_of_any_shape",
        ),
        Mutation(
            "large matrices overflow on the way to a rank",
            "svdvals(matrix / largest.masked_fill(largest == 0, 1.0))",
            "svdvals(matrix)",
            "TestInvariances::test_the_largest_numbers_of_a_precision_are_measured_like_ones",
        ),
        Mutation(
            "a batch is measured in units of its largest matrix",
            "abs().amax(dim=(-2, -1), keepdim=True) if",
            "abs().amax() if",
            "TestInvariances::test_each_matrix_of_a_batch_has_a_size_of_its_own",
        ),
        Mutation(
            "singular values that overflow pass for numbers",
            "if not values.isfinite().all():",
            "if False:",
            "test_what_has_no_spectrum_is_refused_by_name",
        ),
    ],
    "instruments/projections.py": [
        Mutation(
            "a product is read from keys to queries",
            "return queries.transpose(-2, -1) @ keys",
            "return keys.transpose(-2, -1) @ queries",
            "TestProducts::test_a_product_gives_the_scores_of_its_head",
        ),
        Mutation(
            "a head is every so many rows, not rows side by side",
            "weight.detach().unflatten(0, (n_heads, -1))",
            "weight.detach().unflatten(0, (-1, n_heads)).transpose(0, 1)",
            "TestProjections::test_they_make_the_queries_keys_and_values_of_each_head",
        ),
        Mutation(
            "of packed projections the first is taken for all",
            "packed.chunk(3)[ROLES.index(role)]",
            "packed.chunk(3)[0]",
            "TestProjections::test_those_of_pytorch_s_module_are_found_packed_and_apart",
        ),
    ],
    "instruments/precision.py": [
        Mutation(
            "figures of half precision come in half precision",
            "x.to(torch.promote_types(x.dtype, torch.float32))",
            "x",
            "instruments/test_attention.py::test_half_precision_is_measured_in_single",
        ),
    ],
    "instruments/baselines.py": [
        Mutation(
            "every sample is the same matrix",
            "measure(_draw(shape, generator))",
            "measure(_draw(shape, torch.Generator().manual_seed(seed)))",
            "test_a_baseline_is_the_mean_and_the_spread_of_the_figure_over_random_matrices",
        ),
        Mutation(
            "entries are not centred",
            "return torch.randn(*shape, **options)",
            "return torch.rand(*shape, **options)",
            "test_square_matrices_follow_the_quarter_circle",
        ),
        Mutation(
            "a product has one factor",
            "torch.randn(columns, inner, **options))",
            "torch.eye(columns, inner))",
            "test_a_product_is_measured_like_the_product_of_its_factors",
        ),
    ],
    "instruments/collapse.py": [
        Mutation(
            "a token is compared with itself, too",
            "(units.sum(dim=-2).square().sum(dim=-1) - n) / (n * (n - 1))",
            "units.sum(dim=-2).square().sum(dim=-1) / (n * n)",
            "TestTokenSimilarity::test_it_is_the_mean_of_the_cosines_of_all_pairs",
        ),
        Mutation(
            "padding counts in the mean token",
            "mean = tokens.sum(dim=-2, keepdim=True) / real.sum(dim=-1)[..., None, None]",
            "mean = tokens.mean(dim=-2, keepdim=True)",
            "TestEveryMeasure::test_padding_is_left_out_whatever_it_holds",
        ),
        Mutation(
            "what rounding leaves has full rank",
            "values.masked_fill(values <= rounding[..., None], 0.0)",
            "values",
            "TestStreamRank::test_what_rounding_leaves_of_equal_tokens_is_no_direction_and_a_thousand_times_as_much_is",
        ),
    ],
    "instruments/writes.py": [
        Mutation(
            "an update is measured by the stream that it has made",
            'else f"{layer}.mid_stream"',
            'else f"{layer}.stream"',
            "TestWriteRatios::test_each_branch_is_measured_by_the_stream_it_is_added_to",
        ),
        Mutation(
            "a decoder's last branch is measured by the stream of its first",
            'in_decoder = f"{layer}.stream_after_cross_attention"',
            'in_decoder = f"{layer}.stream_after_self_attention"',
            "TestWhereTheLayersAre::test_what_a_decoder_adds_is_measured_by_the_stream_it_is_added_to",
        ),
        Mutation(
            "of two stacks the first is measured",
            "if len(stacks) > 1:",
            "if False:",
            "TestWhereTheLayersAre::test_two_stacks_are_named_and_how_to_choose_one",
        ),
        Mutation(
            "a large ratio overflows",
            "return size(written) / size(before) * (most_written / most)",
            "return size(written * (most_written / most)[..., None, None]) / size(before)",
            "TestWriteRatio::test_a_large_ratio_of_numbers_that_fit_is_no_overflow",
        ),
    ],
    "instruments/streams.py": [
        Mutation(
            "padding counts as a token",
            "real = real & mask[:, 0, 0]",
            "pass",
            "instruments/test_collapse.py::TestEveryMeasure::test_padding_is_left_out_whatever_it_holds",
        ),
        Mutation(
            "what is not finite is measured",
            "if not tokens.isfinite().all():",
            "if False:",
            "instruments/test_collapse.py::test_what_is_no_stream_is_refused_by_name",
        ),
    ],
    "lab/history.py": [
        Mutation(
            "less is better of every figure",
            'if better == "higher" else figures[name]',
            "if False else figures[name]",
            f"{FIT}TestEvaluation::test_which_figure_it_is_and_what_is_better_can_be_said",
        ),
        Mutation(
            "the first figure is watched whatever is named",
            "if watch is None else column(watch)",
            "if True else column(watch)",
            f"{FIT}TestEvaluation::test_which_figure_it_is_and_what_is_better_can_be_said",
        ),
    ],
    "lab/modes.py": [
        Mutation(
            "everything is set to training",
            "if not model.training:",
            "if True:",
            f"{FIT}TestModes::test_what_was_frozen_in_evaluation_stays_so_in_every_step",
        ),
    ],
    "lab/step.py": [
        Mutation(
            "an evaluation leaves the model in evaluation",
            "with torch.no_grad(), modes_kept(model):",
            "with torch.no_grad():",
            f"{FIT}TestModes::test_what_was_frozen_in_evaluation_stays_so_in_every_step",
        ),
        Mutation(
            "only the generator is seeded",
            'seed_everything(*step_seeds(data_seed, step, 1), torch.device("cpu"))',
            "pass",
            f"{CHECKPOINT}TestContinuing::test_random_numbers_that_are_not_drawn_from_the_generator_are_the_same_again",
        ),
        Mutation(
            "looking at the first loss changes the statistics of a norm",
            "buffer.copy_(before)",
            "pass",
            f"{CHECKPOINT}TestRefused::test_a_refusal_leaves_the_statistics_of_a_norm_as_they_were",
        ),
    ],
    "lab/randomness.py": [
        Mutation(
            "NumPy's state is not kept",
            "np.random.set_state(numbers)",
            "pass",
            "test_afterwards_every_random_state_is_what_it_was_even_after_an_error",
        ),
        Mutation(
            "the state of MPS is not kept",
            "torch.mps.set_rng_state(on_mps)",
            "pass",
            "test_on_mps_its_state_is_kept_and_seeded",
        ),
    ],
    "lab/identity.py": [
        Mutation(
            "order does not count",
            "(numbers @ weights).item()",
            "numbers.sum().item()",
            "test_the_same_numbers_have_the_same_fingerprint_and_others_another",
        ),
        Mutation(
            "rounding counts",
            "CLOSE = 1e-4",
            "CLOSE = 0",
            "test_rounding_makes_no_other_run",
        ),
    ],
    "lab/same_run.py": [
        Mutation(
            "other data go on",
            'if not same(there["data"], here["data"]):',
            "if False:",
            f"{CHECKPOINT}TestRefused::test_a_checkpoint_of_other_data",
        ),
        Mutation(
            "another start goes on",
            'elif not same(stands, here["start"]):',
            "elif False:",
            f"{CHECKPOINT}TestRefused::test_a_checkpoint_of_another_start",
        ),
        Mutation(
            "another loss goes on",
            "if not math.isclose(before, again, rel_tol=1e-3, abs_tol=1e-6):",
            "if False:",
            f"{CHECKPOINT}TestRefused::"
            "test_a_checkpoint_of_a_loss_or_a_model_that_computes_otherwise_under_the_same_name",
        ),
        Mutation(
            "batches that never come again go on",
            "if first != again:",
            "if False:",
            f"{CHECKPOINT}TestRefused::test_batches_that_go_through_a_list_cannot_be_continued",
        ),
    ],
    "lab/parallel.py": [
        Mutation(
            "a mask of as many rows is cut",
            "_as_it_is, batch, change_whole=_as_it_is)",
            "_as_it_is, batch, change_whole=cut)",
            "test_the_second_of_two_has_the_second_half_and_all_of_what_is_whole",
        ),
        Mutation(
            "all processes use the first GPU",
            "    torch.cuda.set_device(device)\n",
            "    pass\n",
            "TestCuda::test_the_gpu_of_the_model_becomes_the_current_one_before_the_processes_join",
        ),
    ],
    "lab/schedule.py": [
        Mutation(
            "a rate may be negative",
            "if not 0 <= step <= n_steps:",
            "if not 0 <= step:",
            "test_a_schedule_that_makes_no_sense_is_refused_by_name",
        ),
    ],
    "lab/code.py": [
        Mutation(
            "what it names does not count",
            "for name in _names(value.__code__) if name in value.__globals__",
            "for name in ()",
            "test_what_it_does_and_what_it_names_counts",
        ),
        Mutation(
            "what stands around it does not count",
            "for cell in value.__closure__ or () if",
            "for cell in () if",
            "test_around_it_and_among_its_arguments",
        ),
        Mutation(
            "a set is read as it comes",
            "yield sorted(repr(part) for part in value if isinstance(part, PLAIN))",
            "yield list(value)",
            "test_it_is_the_same_in_another_session",
        ),
    ],
    "lab/results.py": [
        Mutation(
            "the function does not count",
            'texts = [f"{text} {_text(self.run)}" for text in self.settings]',
            "texts = self.settings",
            "lab/test_sweep.py::TestFolder::test_another_function_has_results_of_its_own",
        ),
    ],
    "lab/sweep.py": [
        Mutation(
            "every backend is asked for results one by one",
            'if get_active_backend()[0].supports_return_generator else "list"',
            'if True else "list"',
            "test_a_backend_that_hands_over_all_results_at_the_end_is_not_asked_for_them_one_by_one",
        ),
    ],
    "lab/baselines.py": [
        Mutation(
            "a clue is not looked at",
            "if clue is None:",
            "if True:",
            "test_a_clue_gives_away_the_target_that_is_most_frequent_with_it",
        ),
        Mutation(
            "the last symbol is guessed as the first",
            "(largest[1:] / counts[1:]).mean()",
            "largest[-1] / counts[-1]",
            "lab/test_sequences.py::test_the_last_of_two_symbols_is_certain_and_the_first_even_when_they_are_equal",
        ),
    ],
    "lab/posterior.py": [
        Mutation(
            "what cannot be written is accepted where nothing is hidden",
            "if not possible:",
            "if hidden and not possible:",
            "lab/test_questions.py::TestHiddenWords::"
            "test_a_text_that_the_grammar_cannot_write_is_refused_with_nothing_hidden_too",
        ),
    ],
    "lab/probing.py": [
        Mutation(
            "every control is the same draw",
            "seed=seed + i)",
            "seed=seed)",
            "TestControls::test_several_controls_are_averaged_and_their_spread_is_shown",
        ),
    ],
    "lab/pointers.py": [
        Mutation(
            "the last hop is not made",
            "hops[:, None] >= hop,",
            "hops[:, None] > hop,",
            "test_a_target_lies_as_many_hops_away_as_the_first_token_says",
        ),
        Mutation(
            "the pointers make several cycles",
            "order.roll(-1, dims=1)",
            "order.flip(1)",
            "test_the_pointers_make_one_cycle_through_all_places",
        ),
        Mutation(
            "the most hops are never asked",
            "torch.randint(1, max_hops + 1,",
            "torch.randint(1, max(max_hops, 2),",
            "test_every_number_of_hops_is_equally_likely_and_every_id_is_in_the_vocabulary",
        ),
        Mutation(
            "who guesses may guess the place itself",
            "left = self.n - 1 - 2 * reach",
            "left = self.n - 2 * reach",
            "test_chance_is_what_guessing_without_the_pointers_reaches",
        ),
        Mutation(
            "the trivial reader does not rule out its pointer",
            "max(1, self.n - 2)",
            "(self.n - 1)",
            "test_the_trivial_reader_copies_at_one_hop_and_guesses_at_more",
        ),
    ],
    "lab/sequences.py": [
        Mutation(
            "reversing copies",
            "source.flip(dims=[1])",
            "source",
            "test_the_target_is_the_source_after_a_start",
        ),
        Mutation(
            "the first repeated symbol counts as new",
            "device=symbols.device) >= block",
            "device=symbols.device) > block",
            "test_a_block_comes_twice_and_what_has_been_seen_is_predictable",
        ),
    ],
    "lab/grammar.py": [
        Mutation(
            "she is a man",
            '("she", "her") if name in lexicon.WOMEN',
            '("she", "her") if name in lexicon.MEN',
            "test_the_pronoun_means_a_name_of_its_gender_and_the_agent_if_both_are",
        ),
        Mutation(
            "the verb agrees with the nearest noun",
            'text.add(_verb_form(dice, subject), "VERB", "root"',
            'text.add(_verb_form(dice, attractor or subject), "VERB", "root"',
            "test_every_verb_of_the_scene_agrees_with_its_own_subject",
        ),
        Mutation(
            "the subject of a passive is its agent",
            "(other, before[0]) if passive else",
            "(other, before[0]) if not passive else",
            "test_agent_and_patient_are_told_by_the_voice",
        ),
        Mutation(
            "yet turns nothing",
            '(deed in lexicon.PLEASANT) == (word == "so")',
            "deed in lexicon.PLEASANT",
            "test_the_feeling_follows_from_the_deed_and_the_connective",
        ),
    ],
    "lab/masking.py": [
        Mutation(
            "special tokens are hidden",
            "chosen = (ids >= len(SPECIALS)) & (draws[0] < share)",
            "chosen = draws[0] < share",
            "test_special_tokens_are_never_chosen",
        ),
        Mutation(
            "every word chosen becomes [MASK]",
            "chosen & (fate < 0.8)",
            "chosen",
            "test_a_fifth_is_chosen_and_of_it_80_percent_are_hidden_10_replaced_and_10_kept",
        ),
        Mutation(
            "words that stay are asked for, too",
            "return inputs, ids.masked_fill(~chosen, IGNORED)",
            "return inputs, ids",
            "test_a_fifth_is_chosen_and_of_it_80_percent_are_hidden_10_replaced_and_10_kept",
        ),
    ],
}
