"""Laws of the joint rate: the limit of D_N / N, whatever the chain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import hidiv as hd
from tests.loading import within
from tests.oracle.joint_closed import chain
from tests.oracle.rate import rate
from tests.strategies import LAW, near_pairs, pairs


def built(pair):
    return [hd.Model.from_dict(model) for model in pair]


@LAW
@given(pairs())
def test_equals_the_oracle(pair):
    assert within(hd.joint_kl_rate(*built(pair)).value, rate(*pair), 1e-12)


@LAW
@given(pairs(["categorical"], zeros=True, max_states=4))
def test_equals_the_oracle_with_zeros(pair):
    """Zeros make chains periodic, transient, or several classes."""
    assert within(hd.joint_kl_rate(*built(pair)).value, rate(*pair), 1e-12)


@LAW
@given(near_pairs())
def test_equals_the_oracle_for_near_identical_models(pair):
    assert within(hd.joint_kl_rate(*built(pair)).value, rate(*pair), 1e-12)


@LAW
@given(pairs(grain=4, sticky=False))
def test_is_the_slope_of_the_divergence(pair):
    """Rows of at least 1/16 forget their start within a thousand steps."""
    p, q = built(pair)
    slope = (hd.joint_kl(p, q, 4000).value - hd.joint_kl(p, q, 2000).value) / 2000
    assert within(hd.joint_kl_rate(p, q).value, slope, 1e-12)


@LAW
@given(pairs())
def test_zero_on_itself_and_blind_to_labels(pair):
    p, q = built(pair)
    order = [*range(1, p.n_states), 0]
    assert hd.joint_kl_rate(p, p).value == 0
    assert within(hd.joint_kl_rate(p.relabel(order), q.relabel(order)).value, hd.joint_kl_rate(p, q).value, 1e-12)


def model(initial, transition):
    rng = np.random.default_rng(7)
    rows = rng.integers(1, 64, (len(initial), 2))
    probs = [[a / 64, 1 - a / 64] for a, _ in rows.tolist()]
    return {"initial": initial, "transition": transition, "emission": {"family": "categorical", "probs": probs}}


TINY = 2.0**-40
CHAINS = {
    "periodic": [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
    "one absorbing": [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0, 0, 1]],
    "two absorbing": [[1, 0, 0], [0.25, 0.25, 0.5], [0, 0, 1]],
    "slowly transient": [[1 - TINY, TINY / 2, TINY / 2], [0, 0.5, 0.5], [0, 0.25, 0.75]],
    "slowly transient to two": [[1, 0, 0], [TINY / 4, 1 - TINY, TINY * 3 / 4], [0, 0, 1]],
    "nearly decomposable": [[0.5, 0.5, 0], [0.5, 0.5 - TINY, TINY], [0, TINY, 1 - TINY]],
    "unequally nearly decomposable": [[1 - TINY, TINY, 0], [0.5 * TINY, 1 - TINY, 0.5 * TINY], [0, 0.25, 0.75]],
    "identity": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains_that_break_linear_solves(name):
    """GTH elimination has no subtraction, so gaps of 1e-12 cost no digits."""
    p = model([0.25, 0.5, 0.25], CHAINS[name])
    q = model([0.5, 0.25, 0.25], [[0.25, 0.25, 0.5], [0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
    p["emission"] = {"family": "poisson", "rate": [1.0, 2.0, 4.0]}
    q["emission"] = {"family": "poisson", "rate": [1.5, 0.5, 9.0]}
    assert within(hd.joint_kl_rate(*built((p, q))).value, rate(p, q), 1e-13)


@pytest.mark.parametrize("n_nodes", [2, 10, 1000, 10**6, 10**9, 10**12, 10**15])
@pytest.mark.parametrize("name", CHAINS)
def test_divergence_of_those_chains_at_any_length(name, n_nodes):
    p = model([0.25, 0.5, 0.25], CHAINS[name])
    q = model([0.5, 0.25, 0.25], [[0.25, 0.25, 0.5], [0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
    p["emission"] = {"family": "poisson", "rate": [1.0, 2.0, 4.0]}
    q["emission"] = {"family": "poisson", "rate": [1.5, 0.5, 9.0]}
    value = hd.joint_kl(*built((p, q)), hd.Tree.chain(n_nodes)).value
    assert within(value, chain(p, q, n_nodes), 1e-12)
    per_node = hd.joint_kl(*built((p, q)), hd.Tree.chain(n_nodes), per_node=True).value
    assert within(per_node, chain(p, q, n_nodes) / n_nodes, 1e-12)
