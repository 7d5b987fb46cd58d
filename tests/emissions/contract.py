"""What every emission family promises, as checks on one entry; test_contract runs them over the whole registry."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from hidiv.emissions import registry
from hidiv.emissions.dicts import emission_from_dict, emission_to_dict
from hidiv.errors import InvalidEvidence, InvalidModel
from tests.emissions.plain_laws import error, mp, mpf
from tests.emissions.plain_points import carried, plain_divergences, segment

SEED = 20260
ORDERS = (0.3, 0.5)  # the integrals of these are finite for every pair drawn
NEAR_ORDERS = (0.3, 0.5, 2.0)
STEPS = (1e-3, 1e-6, 1e-9)
EPS = np.finfo(float).eps


def registered():
    """The pairs of families that compare, every family imported."""
    for name in registry.FAMILIES:
        registry.family_class(name)
    return list(registry._PAIRS)


def drawn(entry, seed=SEED):
    return entry.draw(np.random.default_rng(seed))


def near(entry, family, step, rng):
    """The same family with every parameter a relative step away (an absolute one for locations)."""
    if entry.near is not None:
        return entry.near(family, step, rng)
    if family.name == "product":
        from tests.emissions.entries import ENTRIES

        return type(family)([near(ENTRIES[member.name], member, step, rng) for member in family.families])
    values = dict(family.parameters())
    for key, value in values.items():
        if key in entry.kept or not isinstance(value, np.ndarray):
            continue
        by = step * rng.uniform(0.3, 1.0, value.shape) * rng.choice([-1.0, 1.0], value.shape)
        by = (by + by.transpose(0, 2, 1)) / 2 if value.ndim == 3 else by
        values[key] = value + by if key in entry.moved else value * (1 + by)
    return type(family)(**values)


def check_divergences(entry):
    """KL and Renyi divergences of unlike laws are those of plain sums and integrals."""
    p, q = drawn(entry), drawn(entry, SEED + 1)
    a, b = p.take([0]), q.take([0])
    kl, *orders = plain_divergences(carried(entry.law(a), entry.points(a, b)), entry.law(b), ORDERS)
    assert_close(p.kl(q)[0], kl, 1e-13)
    for alpha, expected in zip(ORDERS, orders, strict=True):
        assert_close(p.renyi(q, alpha)[0], expected, 1e-12)
    assert p.gaps(q) == [None] * 3


def check_near(entry):
    """The same for laws whose parameters hardly differ: relative, not absolute, accuracy; log-ratios too."""
    rng = np.random.default_rng(SEED)
    p = drawn(entry)
    a, x = p.take([0]), p.sample(np.zeros(8, dtype=int), rng)
    log_p = entry.law(a)
    for step in STEPS:
        q = near(entry, p, step, rng)
        b = q.take([0])
        log_q = entry.law(b)
        kl, *orders = plain_divergences(carried(log_p, entry.points(a, b)), log_q, NEAR_ORDERS)
        assert_close(p.kl(q)[0], kl, 1e-11)
        for alpha, expected in zip(NEAR_ORDERS, orders, strict=True):
            assert_close(p.renyi(q, alpha)[0], expected, 1e-11)
        expected = np.array([float(log_q(at) - log_p(at)) for at in points_of(x)])
        slack = 1e-12 * np.abs(expected).max(initial=0.0)
        np.testing.assert_allclose(p.log_ratio(q, x)[:, 0], expected, rtol=1e-12, atol=slack)


def check_renyi_tends_to_kl(entry):
    """From below and from above as the order tends to one; orders grow."""
    p, q = drawn(entry), drawn(entry, SEED + 1)
    kl, below, above = p.kl(q), p.renyi(q, 1 - 1e-7), p.renyi(q, 1 + 1e-7)
    slack = 1e-9 * kl  # rounding in log Z, over 1e-7
    assert (below <= kl + slack).all()
    assert (kl <= above + slack).all()
    np.testing.assert_allclose(below, kl, rtol=1e-5)


def check_itself(entry):
    """Nothing lies between a law and itself; divergences are not negative."""
    p, q = drawn(entry), drawn(entry, SEED + 2)
    x = p.sample([0, 1, 2], np.random.default_rng(SEED))
    assert p.kl(p).tolist() == [0.0] * 3
    assert p.renyi(p, 0.5).tolist() == p.renyi(p, 2.0).tolist() == [0.0] * 3
    assert not p.log_ratio(p, x).any()
    assert (p.kl(q) >= 0).all()
    assert (p.renyi(q, 0.3) >= 0).all()


def check_log_prob(entry):
    """Log-probabilities are those of the plain law, and of scipy; log-ratios are their differences."""
    p, q = drawn(entry), drawn(entry, SEED + 1)
    x = p.sample(np.arange(24) % 3, np.random.default_rng(SEED))
    value, other, ratio = p.log_prob(x), q.log_prob(x), p.log_ratio(q, x)
    assert value.shape == ratio.shape == (24, 3)
    assert np.isfinite(value).all()
    np.testing.assert_allclose(ratio, other - value, rtol=1e-11, atol=1e-12)
    for state in range(3):
        law, one = entry.law(p.take([state])), p.take([state])
        expected = [float(law(at)) for at in points_of(x)]
        np.testing.assert_allclose(value[:, state], expected, rtol=1e-13, atol=1e-14)
        for column, frozen in enumerate(entry.frozen(one) if entry.frozen else []):
            log = frozen.logpdf if hasattr(frozen, "pdf") and hasattr(frozen.dist, "pdf") else frozen.logpmf
            np.testing.assert_allclose(value[:, state], log(x if p.is_scalar else x[:, column]), rtol=1e-10, atol=1e-12)


def check_log_mass(entry):
    """Interval masses, in far tails and of tiny intervals too, are those of plain sums and integrals."""
    p = drawn(entry).take([0])
    whole = np.full((1, p.n_features), np.inf)
    np.testing.assert_allclose(p.log_mass(-whole, whole), 0.0, atol=4 * EPS)
    for low, high in entry.tails:
        value = p.log_mass(np.array([[low]]), np.array([[high]]))[0, 0, 0]
        expected = mp.log(plain_mass(entry, p, low, high))
        assert abs(value - expected) <= 1e-13 * max(abs(expected), mpf(1) / 100), (low, high, value, float(expected))
        assert p.log_mass(np.array([[1.0]]), np.array([[0.5]]))[0, 0, 0] == -np.inf  # nothing in between


def plain_mass(entry, p, low, high):
    """Sum over counts or symbols, else quadrature between the kinks; open ends are doubled out to."""
    law, points = entry.law(p), entry.points(p, p)
    if all(weight == 1 for _, weight in points):
        return mp.fsum(mp.exp(law(at)) for at, _ in points if low <= at <= high)
    centre = next((float(value[0]) for key, value in p.parameters().items() if key in entry.moved), 0.0)
    cuts = {low, high, *(c for c in (0.0, centre) if low < c < high)} - {-np.inf, np.inf}
    if not np.isfinite(low + high):
        side, start = (1.0, low) if high == np.inf else (-1.0, high)
        cuts |= {start + side * (abs(start) + 1.0) * (4.0**k - 1.0) / 64.0 for k in range(20)}
    ends = sorted(cuts)
    pieces = (segment(a, b) for a, b in pairwise(ends))
    return mp.fsum(w * mp.exp(law(x)) for piece in pieces for x, w in piece)


def check_sample(entry):
    """Samples lie in the sample space, have finite log-probability and the right distribution."""
    p = drawn(entry)
    states = np.arange(3000) % 3
    x = p.sample(states, np.random.default_rng(SEED))
    assert x.shape == ((3000,) if p.is_scalar else (3000, p.n_features))
    assert np.isfinite(p.log_prob(x)).all()
    for state in range(3 if entry.frozen else 0):
        one, seen = p.take([state]), x[states == state]
        (frozen,) = entry.frozen(one)
        mean, var = (float(m) for m in frozen.stats("mv")) if p.name != "von_mises" else (np.nan, np.nan)
        # Five standard errors; 1000 draws. Angles have no mean on the line.
        assert not abs(seen.mean() - mean) > 5 * np.sqrt(var / seen.size)
        cdf = np.sort(frozen.cdf(seen)) if hasattr(frozen.dist, "pdf") else None
        if cdf is not None and p.name != "von_mises":
            ranks = np.arange(1, seen.size + 1) / seen.size
            assert np.abs(cdf - ranks).max() < 2.0 / np.sqrt(seen.size)  # Kolmogorov: one in 1500 beyond


def check_statistics(entry):
    """Expected statistics times differences of natural parameters are the KL."""
    p, q = drawn(entry), drawn(entry, SEED + 1)
    first, second = p.statistics(), q.statistics()
    if first is None or second is None:
        assert first is second is None
        return
    assert first.key == second.key
    assert first.expected.shape == first.natural.shape
    np.testing.assert_allclose((first.expected * (first.natural - second.natural)).sum(axis=1), p.kl(q), rtol=1e-11)


def check_round_trip(entry):
    """Parameters rebuild the family bit for bit, through files too; take() takes states."""
    p = drawn(entry)
    x = p.sample([2, 0, 1, 1], np.random.default_rng(SEED))
    for again in (type(p)(**p.parameters()), emission_from_dict(emission_to_dict(p), "emission")):
        assert type(again) is type(p)
        assert emission_to_dict(again) == emission_to_dict(p)
        assert np.array_equal(again.log_prob(x), p.log_prob(x))
    taken = p.take([2, 0])
    assert taken.n_states == 2
    np.testing.assert_allclose(taken.log_prob(x), p.log_prob(x)[:, [2, 0]], rtol=1e-14)
    for value in p.parameters().values():
        assert not getattr(value, "flags", np.zeros(0).flags).writeable or not isinstance(value, np.ndarray)


def check_refusals(entry):
    """Bad parameters, and values outside the sample space, are refused in one sentence that names the place."""
    p = drawn(entry)
    arrays = {key: value for key, value in p.parameters().items() if isinstance(value, np.ndarray)}
    for key, value in arrays.items():
        wrong = [np.full(value.shape, np.nan), np.zeros((1, 1, 1, 1)), "no numbers", []]
        if key in entry.bad:
            wrong.append(np.concatenate([[np.full(value.shape[1:], entry.bad[key])], value[1:]]))
        if len(arrays) > 1:
            wrong.append(value[:2])
        for each in wrong:
            with pytest.raises(InvalidModel) as refusal:
                type(p)(**{**p.parameters(), key: each})
            assert refusal.value.args[0].split(":")[0].split("[")[0] in arrays
            assert "\n" not in str(refusal.value)
    if p.n_features:
        x = np.full((2, p.n_features), np.nan)
        x[1, 0] = np.inf
        with pytest.raises(InvalidEvidence, match=r"x\[1\]"):
            p.log_prob(x)


def check_missing(entry):
    """What is not seen contributes nothing."""
    p, q = drawn(entry), drawn(entry, SEED + 1)
    nothing = np.full((2, p.n_features), np.nan)
    assert p.log_prob(nothing).tolist() == p.log_ratio(q, nothing).tolist() == [[0.0] * 3] * 2


def check_columns(entry):
    """A scalar family with columns: independent, each as the scalar one; a column may be missing."""
    one, two = drawn(entry), drawn(entry, SEED + 1)
    if not one.is_scalar or one.name in ("categorical", "mixture"):
        return
    keys = one.parameters()
    both = type(one)(**{key: np.stack([keys[key], two.parameters()[key]], axis=1) for key in keys})
    assert (both.n_states, both.n_features, both.is_scalar) == (3, 2, False)
    other = both.take([1, 2, 0])
    x = both.sample([0, 1, 2], np.random.default_rng(SEED))
    expected = one.kl(one.take([1, 2, 0])) + two.kl(two.take([1, 2, 0]))
    np.testing.assert_allclose(both.kl(other), expected, rtol=1e-13)
    expected = one.renyi(one.take([1, 2, 0]), 0.5) + two.renyi(two.take([1, 2, 0]), 0.5)
    np.testing.assert_allclose(both.renyi(other, 0.5), expected, rtol=1e-13)
    np.testing.assert_allclose(both.log_prob(x), one.log_prob(x[:, 0]) + two.log_prob(x[:, 1]), rtol=1e-13)
    x[:, 0] = np.nan
    np.testing.assert_allclose(both.log_prob(x), two.log_prob(x[:, 1]), rtol=1e-13)
    np.testing.assert_allclose(both.log_ratio(other, x), two.log_ratio(two.take([1, 2, 0]), x[:, 1]), rtol=1e-13)
    np.testing.assert_allclose(both.select([1]).log_prob(x[:, 1:]), two.log_prob(x[:, 1]), rtol=1e-14)


CHECKS = [
    check_divergences,
    check_near,
    check_renyi_tends_to_kl,
    check_itself,
    check_log_prob,
    check_log_mass,
    check_sample,
    check_statistics,
    check_round_trip,
    check_refusals,
    check_missing,
    check_columns,
]


def points_of(x):
    """Observations as points of a plain law: an mpf, or a tuple of them."""
    if x.ndim == 1:
        return [mpf(float(value)) for value in x]
    return [tuple(mpf(float(value)) for value in row) for row in x]


def assert_close(value, expected, tolerance):
    """Relative error; 0 for 0, inf for inf."""
    if expected in (0, mp.inf):
        assert value == float(expected)
    else:
        assert error(value, expected) < tolerance
