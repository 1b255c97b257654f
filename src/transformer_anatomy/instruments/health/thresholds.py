"""Where `examine` draws its lines, and why there.

Every figure compared with one of these has no unit and does not change when the loss is counted in other units. What
is called measured here are our encoder, `nn.TransformerEncoder` and a GPT-like model at widths 32 to 512, depths 2 to
24 and lengths 4 to 256 at their start, small ones after training, and all-MiniLM-L6-v2; the tests repeat a part of it.
"""

# How many times as large a stream leaves a stack in which no layer holds a norm. Measured without norms, six layers:
# 17 to 22. Not asked of layers with norms: a trained pre-norm stream may grow as it likes, each branch sees it normed.
EXPLODING_STREAM_GROWTH = 10.0

# Gradient of the first layer over that of the last. Measured: 0.3 to 4.4 in healthy Transformers of any depth; 360 and
# more in six pre-norm layers whose weights start ten times too large. Attention that copies single keys brings it to 99
# and is another fault.
EXPLODING_LAYER_RATIO = 200.0

# The same ratio, from below. Measured: 0.02 in a plain MLP of six layers. Six factors of 0.1 give 1e-6.
VANISHING_LAYER_RATIO = 1e-3

# Gradient of one matrix, or of its third that makes queries or keys, over that of its layer. Measured: 2e-5 and more,
# least in twelve post-norm layers; queries and keys of tokens that are all alike (Noci et al. 2022), or of weights a
# hundred times too small, get 1e-6 and less.
VANISHING_MATRIX_RATIO = 5e-6

# 1 - mean cosine between different tokens of a sample. Measured: 8e-5 and more in up to twelve layers. Without residual
# connections it falls to 1e-9 within three (Dong, Cordonnier and Loukas 2021); and to 2e-7 in 24 post-norm layers. That
# is no false alarm: in 150 steps of Adam at 1e-3, 16 or 24 of them did not even begin to learn to copy their input, and
# 24 pre-norm layers did.
COLLAPSED_DISTANCE = 1e-5
DISTINCT_INPUT_DISTANCE = 1e-2  # tokens that came in alike have not collapsed inside

# Entropy of the first layer's attention over that of uniform attention, and the distance between the quartiles of a
# query's scores. Measured at the start: 0.7 and more, 1.6 and less, since 1/√d_head keeps the variance of a score at 1
# (Vaswani et al. 2017, footnote 4), and a normal distribution of variance 1 has its quartiles 1.35 apart. Without it,
# at a d_head of 16: 0.27 to 0.30 and 6. Only the first layer is held to it: a deeper one may have learned to be
# as sharp, and a trained one that reverses its input has 0.13 and 13.
SATURATED_ENTROPY = 0.45
SATURATED_SPREAD = 4.0

# Any layer whose attention copies single keys and whose scores are far beyond what that takes. W_Q = W_K = 10·I: 0.01
# and 100 to 170.
COPYING_ENTROPY = 0.05
COPYING_SPREAD = 30.0

# What the choices of sharp attention are worth, from -1 to 1 (see worth.py). PROVISIONAL
WORKING_CHOICES = 0.25

# Share of a layer's ReLU neurons that fire for no token of the batch ("dying ReLU", Lu et al. 2019). Measured: 0.56 and
# less at 128 tokens, in 24 layers.
DEAD_SHARE = 0.9
DEAD_MIN_TOKENS = 64  # fewer tokens leave healthy neurons unused, too

# Share of the queries in a sample that may attend to nothing: padding rows may, a whole sample may not.
MASKED_OUT_SHARE = 1.0

# ‖ΔW‖/‖W‖ of one optimiser step. Adam's first step moves each weight by the learning rate: measured 0.006 to 0.03 with
# Xavier's weights at 1e-3, and 0.2 with those that GPT-2 starts with at 6e-4. It is too much where it replaces the
# matrix, or where it is large and far beyond that of the other matrices.
REPLACING_UPDATE = 1.0
LARGE_UPDATE = 0.1
UNLIKE_THE_OTHERS = 30.0

# Share of a matrix's weights that have a gradient and yet do not change in a step: rounded away, or not trained at all.
STUCK_SHARE = 0.9
