"""Laws of one observation, for every family, with ordinary and extreme parameters."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.drawn import KINDS
from tests.laws.running import family_pairs, law, value_of

DEAR = ("mixture beta",)  # integrals of seconds: few examples of their own
ORDERS = st.sampled_from((0.3, 0.5, 2.0))


@law(40)
@given(family_pairs(tuple(kind for kind in KINDS if kind not in DEAR)), ORDERS)
def test_divergences(both, alpha):
    divergences_keep_their_laws(*both, alpha)


@law(1, share=0.05)
@given(family_pairs(DEAR), ORDERS)
def test_divergences_of_mixtures_of_betas(both, alpha):
    divergences_keep_their_laws(*both, alpha)


def divergences_keep_their_laws(p, q, alpha):
    """KL not below 0 and 0 on itself, infinite where there are gaps, and on the right side of the Renyi divergence."""
    kl, order, gaps = value_of(lambda: p.kl(q)), value_of(lambda: p.renyi(q, alpha)), p.gaps(q)
    own = value_of(lambda: p.kl(p))
    assert own is None or not own.any()
    assert order is None or (order >= -1e-14).all()  # rounding in the log of an integral near one
    if kl is not None:
        assert (kl >= 0).all()
        assert all(np.isinf(value) for value, gap in zip(kl, gaps, strict=True) if gap is not None)
        if order is not None:
            slack = 1e-9 * np.where(np.isfinite(kl), kl, 0.0) + 1e-14
            assert ((order <= kl + slack) if alpha < 1 else (kl <= order + slack)).all()


@law(40)
@given(family_pairs())
def test_draws_and_densities(both):
    p, q = both
    rng = np.random.default_rng(0)
    for family in both:
        x = value_of(lambda family=family: family.sample(np.arange(4) % family.n_states, rng))
        if x is not None:
            assert np.isfinite(x).all()
            value_of(lambda x=x: p.log_prob(x))
            value_of(lambda x=x: p.log_ratio(q, x))
    found = p.statistics()
    assert found is None or np.isfinite(found.expected).all()


@law(40)
@given(family_pairs())
def test_masses(both):
    p = both[0]
    if p.n_features != 1:
        return
    drawn = [value_of(lambda f=f: np.ravel(f.sample(np.zeros(3, dtype=int), np.random.default_rng(0)))) for f in both]
    ends = np.unique(np.concatenate([x for x in drawn if x is not None] or [[0.0]]))
    open_end = np.full((1, 1), math.inf)
    whole = value_of(lambda: p.log_mass(-open_end, open_end))
    assert whole is None or (np.abs(whole) <= 1e-14).all()
    for low, high in ([ends[:1], ends[-1:]], [ends[:-1], ends[1:]], [ends, ends]):
        if p.name == "von_mises" or (p.name == "mixture" and p.components[0].name == "von_mises"):
            high = np.minimum(high, low + math.pi)  # arcs
        value = value_of(lambda low=low, high=high: p.log_mass(low[:, None], high[:, None]))
        assert value is None or (value <= 0).all()
