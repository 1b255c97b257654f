"""Where `examine` draws its lines, and why there.

Every figure compared with one of these has no unit and does not change when the loss is counted in other units. The
healthy ranges are those of encoders of 6 to 24 layers at their start (post-norm, pre-norm, Xavier-uniform) and of the
trained all-MiniLM-L6-v2; the tests keep them apart from twelve broken models.
"""

# A stream whose size grows through the stack, or a gradient that grows from the last layer to the first. Healthy: up to
# 6-fold and 3-fold in 24 pre-norm layers. Without any norm, six layers make it 17-fold and more.
EXPLODING_STREAM_GROWTH = 10.0
EXPLODING_LAYER_RATIO = 30.0
# Growth alone may be how a trained model works; it explodes if more of the loss hangs on a layer than training can
# survive: ‖gradient‖·‖weights‖/loss, the change to first order if all weights changed by 100 %. Healthy: 2 to 20. Not used where
# the loss is not above 0.
EXPLODING_RELATIVE_GRADIENT = 100.0

# Gradient of the first layer over that of the last. Healthy: 0.5 to 3. A product of six factors of 0.1 gives 1e-6.
VANISHING_LAYER_RATIO = 1e-3

# Gradient of one matrix over that of its layer. Healthy: 3e-4 and more; queries and keys of tokens that are all alike
# or of weights a hundred times too small get 1e-6 and less (Dong et al. 2021; Noci et al. 2022).
VANISHING_MATRIX_RATIO = 1e-5

# 1 - mean cosine between different tokens of a sample. Healthy: 1e-3 and more, in the last of twelve layers; without
# residual connections it falls doubly exponentially, to rounding after five layers (Dong et al. 2021).
COLLAPSED_DISTANCE = 1e-4
DISTINCT_INPUT_DISTANCE = 1e-2  # tokens that came in alike have not collapsed inside

# Mean entropy of a layer's attention over that of uniform attention. Healthy: 0.4 and more. At 0 each query copies one
# key, and the softmax passes no gradient (Vaswani et al. 2017, footnote 4; Zhai et al. 2023).
SATURATED_ENTROPY = 0.25

# Share of a layer's ReLU neurons that fire for no token of the batch. Healthy: below 0.5 with 100 tokens and more
# (Lu et al. 2019, "Dying ReLU and Initialization").
DEAD_SHARE = 0.9
DEAD_MIN_TOKENS = 64  # fewer tokens leave healthy neurons unused, too

# Share of the queries in a sample that may attend to nothing: padding rows may, a whole sample may not.
MASKED_OUT_SHARE = 1.0

# ‖ΔW‖/‖W‖ of one optimiser step. 1e-3 is usual; at 0.1 ten steps replace the weights.
LARGE_UPDATE = 0.1
# A change below the spacing of floating-point numbers is rounded away: 1.2e-7 in float32, 8e-3 in bfloat16.
SMALL_UPDATE_SPACINGS = 1.0
