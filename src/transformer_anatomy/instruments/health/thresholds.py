"""Where `examine` draws its lines, and why there.

Every figure compared with one of these has no unit and does not change when the loss is counted in other units. Beside
each stand the healthy model that comes nearest to it and the sick one that does, as `benchmarks/margins.py` measures
them: at the start and after 22 steps, on our encoder, `nn.TransformerEncoder`, BERT, GPT-2, ViT, a mixer, residual
networks and perceptrons of 3 to 16 layers and widths 24 to 192, none of which the lines were set on; and on `PATIENTS`
in other sizes. all-MiniLM-L6-v2 is in the tests.
"""

# How many times as large a stream leaves a stack in which no layer holds a norm. Healthy: 0.6 (a perceptron with ReLU).
# Sick: 16.5 (six layers without norm), and more with depth; two or three such layers are not told from healthy ones.
# Not asked of layers with norms: a trained pre-norm stream may grow as it likes, each branch sees it normed.
EXPLODING_STREAM_GROWTH = 10.0

# Gradient of the first layer over that of the last. Healthy: 58 (GPT-2 of 16 layers after 20 steps at 1e-3). Sick: 297
# in five pre-norm layers whose weights start ten times too large. Attention that copies single keys brings it
# to 99 and more and is another fault, too.
EXPLODING_LAYER_RATIO = 200.0

# The same ratio, from below. Healthy: 0.02 in a plain perceptron of six layers. Sick: six factors of 0.1 give 1e-6, and
# post-norm layers that have collapsed for want of warm-up 3e-4 and less.
VANISHING_LAYER_RATIO = 1e-3

# Gradient of one matrix, or of its third that makes queries or keys, over that of its layer. Healthy: 1.7e-5, in 14
# post-norm layers. Sick: queries and keys of tokens that are all alike (Noci et al. 2022), or of weights a hundred
# times too small, get 2.5e-7 and less.
VANISHING_MATRIX_RATIO = 5e-6

# 1 - mean cosine between different tokens of a sample. Healthy: 6.6e-5, in 14 post-norm layers. Sick: 6e-14 in 12 and
# 1e-9 within three layers without residual connections (Dong, Cordonnier and Loukas 2021); 3e-6 and less in 8 and 14
# post-norm layers that were trained at 1e-3 without warm-up and learned nothing. The 2e-7 of 24 post-norm layers at
# their start is no false alarm: asked to copy their input, they did not begin to in 500 steps of Adam with a warm-up of
# 300 steps to 1e-3, and did not in 150 without; 12 layers did, with warm-up, and never fell below 7e-4.
COLLAPSED_DISTANCE = 1e-5
DISTINCT_INPUT_DISTANCE = 1e-2  # tokens that came in alike have not collapsed inside

# Entropy of the first layer's attention over that of uniform attention, and the distance between the quartiles of a
# query's scores. Healthy at the start: 0.72 and 1.6, since 1/√d_head keeps the variance of a score at 1 (Vaswani et al.
# 2017, footnote 4), and a normal distribution of variance 1 has its quartiles 1.35 apart. Sick, without 1/√d_head: 0.39
# and 4.25 at a d_head of 8, 0.3 and 6 at 16. Only the first layer is held to it: a deeper one of a model that is made
# ready for another loss may be as sharp.
SATURATED_ENTROPY = 0.45
SATURATED_SPREAD = 4.0

# Any layer whose attention copies single keys and whose scores are far beyond what that takes. Sick, W_Q = W_K = 10·I:
# 0.01 and 100 to 170.
COPYING_ENTROPY = 0.05
COPYING_SPREAD = 30.0

# What the choices of sharp attention are worth, from -1 to 1 (see worth.py); above this they work, and being sharp is
# no fault. Healthy: 0.34 to 0.86 in heads that learned the token before or to repeat a block, at losses from 0.4 (there
# 0.34) down to 0.001. Sick: 0.12 and less, of either sign, in some sixty maps without 1/√d_head or with W_Q = W_K =
# 10·I, of 384 to 1536 queries each; in fewer queries chance reaches farther.
WORKING_CHOICES = 0.25

# Share of a layer's ReLU neurons that fire for no token of the batch ("dying ReLU", Lu et al. 2019). Healthy: 0.58 (8
# post-norm layers after 22 steps). Sick: 1.
DEAD_SHARE = 0.9
DEAD_MIN_TOKENS = 64  # fewer tokens leave healthy neurons unused, too

# Share of the queries in a sample that may attend to nothing: padding rows may, a whole sample may not.
MASKED_OUT_SHARE = 1.0

# ‖ΔW‖/‖W‖ of one optimiser step. Adam's first step moves each weight by the learning rate: 0.006 to 0.03 with Xavier's
# weights at 1e-3. Healthy: 0.29 (GPT-2's small first weights, 1e-3). Sick: 8 (a rate of 1). It is too much where it
# replaces the matrix, or where it is large and far beyond that of the other matrices.
REPLACING_UPDATE = 1.0
LARGE_UPDATE = 0.1
UNLIKE_THE_OTHERS = 30.0  # over the median. Healthy: 6.9. Sick: 1160, one rate 1000 times too large

# Share of a matrix's weights that have a gradient and yet do not change in a step: rounded away, or not trained at all.
STUCK_SHARE = 0.9
