"""Second-order terms against 50 digits."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from hidiv.recursions.terms import h, local_divergence, log_ratio, phi, row_defect, row_divergence, row_renyi

SIZES = np.concatenate([10.0 ** np.arange(-300, 3, 0.7), [0.24999, 0.25, 0.2500001, 0.4999999, 0.5]])


@pytest.mark.parametrize(("ours", "truth", "domain"), [
    (h, lambda v: v - mp.log1p(v), np.concatenate([SIZES, -SIZES[SIZES < 1], -1 + 10.0 ** np.arange(-15, 0)])),
    (phi, lambda t: mp.expm1(t) - t, np.concatenate([SIZES, -SIZES])),
])  # fmt: skip
def test_relative_accuracy(ours, truth, domain) -> None:
    with mp.workdps(700):
        exact = np.array([float(truth(mp.mpf(float(v)))) for v in domain])
    tiny = np.abs(domain) < 1e-150  # the square underflows there, as it must
    assert (ours(domain[tiny]) <= 1e-290).all()
    assert ours(domain[~tiny]) == pytest.approx(exact[~tiny], rel=4e-15, abs=0)
    assert (ours(domain) >= 0).all()


def test_ends() -> None:
    assert h(np.array([0.0, -1.0, np.inf])).tolist() == [0, np.inf, np.inf]
    assert phi(np.array([0.0, -np.inf, np.inf])).tolist() == [0, np.inf, np.inf]
    assert log_ratio(np.array([0, 0, 1.0]), np.array([0, 1.0, 0])).tolist() == [0, np.inf, -np.inf]


def rows(rng: np.random.Generator, distance: float) -> tuple[np.ndarray, np.ndarray]:
    """A row of dyadic numbers that sum to one exactly, and one at a distance from it."""
    p = np.round(rng.dirichlet(np.ones(4)) * 2**20) / 2**20
    p[0] += 1 - p.sum()
    q = p.copy()
    step = np.round(min(distance, p[:2].min() / 2) * 2**50) / 2**50
    q[0] += step
    q[1] -= step
    return p, q


@pytest.mark.parametrize("distance", [0.3, 1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("seed", range(5))
def test_rows_keep_their_digits(distance: float, seed: int) -> None:
    p, q = rows(np.random.default_rng(seed), distance)
    with mp.workdps(60):
        pairs = [(mp.mpf(float(a)), mp.mpf(float(b))) for a, b in zip(p, q, strict=True)]
        kl = mp.fsum(a * mp.log(a / b) for a, b in pairs)
        assert float(row_divergence(p, q)) == pytest.approx(float(kl), rel=1e-14)
        for alpha in (0.3, 0.5, 2.0, 3.5):
            z = mp.fsum(a ** mp.mpf(alpha) * b ** (1 - mp.mpf(alpha)) for a, b in pairs)
            assert float(row_renyi(p, q, alpha)) == pytest.approx(float(mp.log(z) / (mp.mpf(alpha) - 1)), rel=1e-13)


def test_zeros() -> None:
    half, left, right = np.array([0.5, 0.5]), np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert float(row_divergence(left, half)) == pytest.approx(np.log(2), rel=1e-15)
    assert float(row_divergence(half, left)) == np.inf
    assert float(row_renyi(half, left, 0.5)) == pytest.approx(np.log(2), rel=1e-15)
    assert float(row_renyi(left, half, 2.0)) == pytest.approx(np.log(2), rel=1e-15)
    assert float(row_renyi(half, left, 2.0)) == np.inf
    assert float(row_renyi(left, right, 0.5)) == np.inf
    assert float(row_defect(half, left, 0.25)) == pytest.approx(1 - 0.5**0.25, rel=1e-15)


@pytest.mark.parametrize("small", [0.2, 1e-3, 1e-12, 1e-15, 1e-100, 1e-300])
def test_probabilities_far_below_and_above(small: float) -> None:
    p, q = np.array([0.5, 0.5]), np.array([small, 1 - small])
    with mp.workdps(400):
        half, rest = mp.mpf(0.5), mp.mpf(1 - small)
        down = half * mp.log(half / mp.mpf(small)) + half * mp.log(half / rest)
        up = mp.mpf(small) * mp.log(mp.mpf(small) / half) + rest * mp.log(rest / half)
        root = mp.sqrt(half * mp.mpf(small)) + mp.sqrt(half * rest)
    assert float(row_divergence(p, q)) == pytest.approx(float(down), rel=1e-14)
    assert float(row_divergence(q, p)) == pytest.approx(float(up), rel=1e-14)
    assert float(row_renyi(p, q, 0.5)) == pytest.approx(float(-2 * mp.log(root)), rel=1e-14)


def test_tiny_probabilities_do_not_overflow() -> None:
    p, q = np.array([1e-320, 1.0]), np.array([0.5, 0.5])
    assert float(row_divergence(p, q)) == pytest.approx(np.log(2), rel=1e-15)
    assert np.isfinite(row_renyi(p, q, 0.5))
    assert np.isfinite(row_renyi(q, p, 0.5))


def test_a_local_divergence_is_never_negative() -> None:
    """q's mass and the log-ratio come by different ways: where both are rounded, their terms must not cancel."""
    log_p, m = np.log([[1.0 - 1e-12, 1e-12]]), np.array([[0.0, 20.0]])
    mean, local = local_divergence(log_p, m, log_p + m - 30.0)
    assert mean[0] > 0
    assert local[0] > 0


def test_a_local_divergence_of_log_ratios_near_the_largest_double() -> None:
    """q's mass is read from log q there, which is finite, and nothing overflows on the way."""
    log_p = np.array([0.0, -1e9])
    mean, local = local_divergence(log_p, np.array([0.0, 1.7e308]), np.array([0.0, -2.0]))
    assert mean == 0.0
    assert local == pytest.approx(np.log1p(np.exp(-2.0)), rel=1e-15)
