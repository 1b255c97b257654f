import math

import pytest
import torch

from transformer_anatomy import effective_rank, random_baseline, singular_values, stable_rank, top_share


def test_a_baseline_is_the_mean_and_the_spread_of_the_figure_over_random_matrices():
    generator = torch.Generator().manual_seed(3)
    figures = effective_rank(torch.stack([torch.randn(6, 4, generator=generator) for _ in range(10)])).double()
    mean, std = random_baseline(effective_rank, (6, 4), n_samples=10, seed=3)
    torch.testing.assert_close(mean, figures.mean())
    torch.testing.assert_close(std, figures.std())


def test_square_matrices_follow_the_quarter_circle():
    """The singular values of n × n entries of variance 1 fill a quarter circle of radius 2·√n (Marchenko, Pastur 1967).

    Their squares then add up to n² and the largest is 4·n: a stable rank of n / 4, a little more at finite n.
    """
    n = 200
    values = torch.linspace(0, 2, 100_001, dtype=torch.float64)
    density = (4 - values**2).sqrt() / math.pi
    mean = torch.trapezoid(values * density, values)
    p = values / mean
    expected = n * math.exp(-torch.trapezoid(torch.special.xlogy(p, p) * density, values))
    assert random_baseline(effective_rank, (n, n)).mean.item() == pytest.approx(expected, rel=0.01)
    assert random_baseline(stable_rank, (n, n)).mean.item() == pytest.approx(n / 4, rel=0.05)
    expected = torch.sqrt(torch.tensor(n)) * mean
    torch.testing.assert_close(
        random_baseline(singular_values, (n, n)).mean.mean(), expected.double(), rtol=0.01, atol=0
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_product_is_measured_like_the_product_of_its_factors(seed):
    """Both ways draw from the same distribution; 5 standard errors of their difference bound it."""
    generator = torch.Generator().manual_seed(100 + seed)
    left, right = (torch.randn(200, 24, 4, generator=generator) for _ in range(2))
    direct = top_share(left @ right.transpose(-2, -1), 2).double()
    mean, std = random_baseline(lambda matrix: top_share(matrix, 2), (24, 4, 24), n_samples=200, seed=seed)
    assert abs(mean - direct.mean()) < 5 * math.hypot(std, direct.std()) / math.sqrt(200)
    single = random_baseline(lambda matrix: top_share(matrix, 2), (24, 24), n_samples=200, seed=seed)
    assert mean > single.mean + 10 * single.std


def test_a_wide_inner_axis_and_sizes_that_differ_are_products_too():
    assert random_baseline(singular_values, (3, 8, 5)).mean.shape == (3,)
    assert random_baseline(singular_values, (3, 5)).std.shape == (3,)
    assert random_baseline(effective_rank, (7, 1, 5)).mean.item() == pytest.approx(1)


def test_a_seed_gives_the_same_figures_and_leaves_other_random_numbers_alone():
    state = torch.get_rng_state()
    first = random_baseline(stable_rank, (4, 4))
    assert torch.equal(torch.get_rng_state(), state)
    assert first == random_baseline(stable_rank, (4, 4))
    assert first.mean != random_baseline(stable_rank, (4, 4), seed=1).mean


def test_a_measure_may_be_any_function_of_a_matrix():
    mean, std = random_baseline(lambda matrix: matrix.numel(), (2, 3))
    assert (mean.item(), std.item()) == (6, 0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: random_baseline(effective_rank, (4,)), ValueError, r"shape must be \(rows, columns\) or.*got \(4,\)"),
        (lambda: random_baseline(effective_rank, (1, 2, 3, 4)), ValueError, r"got \(1, 2, 3, 4\)"),
        (lambda: random_baseline(effective_rank, (0, 4)), ValueError, "each size in shape must be at least 1, got 0"),
        (lambda: random_baseline(effective_rank, (2.0, 4)), TypeError, "each size in shape must be a whole.*2.0"),
        (lambda: random_baseline(effective_rank, 4), TypeError, r"shape must be \(rows, columns\) or .*got 4"),
        (
            lambda: random_baseline(effective_rank, (4, 4), seed=None),
            TypeError,
            "seed must be a whole number, got None",
        ),
        (lambda: random_baseline(effective_rank, (4, 4), n_samples=1), ValueError, "n_samples must be at least 2"),
    ],
)
def test_what_no_matrix_can_be_drawn_for_is_refused_by_name(unchecked, call, error, message):
    with pytest.raises(error, match=message):
        call()
