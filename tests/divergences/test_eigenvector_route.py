"""The supplement's eigenvector route to sum_{i<N-1} T^i k, coded here only: where it agrees, and where it fails."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import hidiv as hd
from tests.loading import within
from tests.oracle.joint_closed import chain, terms
from tests.strategies import LAW, pairs

EMISSION_P = {"family": "poisson", "rate": [1.0, 2.0, 4.0]}
EMISSION_Q = {"family": "poisson", "rate": [1.5, 0.5, 9.0]}
THIRD = [0.25, 0.25, 0.5]


def eigenvector_route(p, q, n_nodes):
    """k_0 + initial ( (N-1) k_1 v_1 + (I - R^(N-1)) (I - R)^(-1) (k - k_1 v_1) ), R = T without eigenvalue one.

    As printed, but for the claim that R is invertible: what must be is I - R.
    """
    initial, transition, start, step = (np.array(part, dtype=float) for part in terms(p, q))
    values, vectors = np.linalg.eig(transition)
    one = np.argmin(np.abs(values - 1))
    coordinates = np.linalg.solve(vectors, step.astype(complex))
    constant = coordinates[one] * vectors[:, one]
    values[one] = 0
    rest = vectors @ np.diag(values) @ np.linalg.inv(vectors)
    identity = np.eye(len(initial))
    left = identity - np.linalg.matrix_power(rest, n_nodes - 1)
    total = (n_nodes - 1) * constant + left @ np.linalg.solve(identity - rest, step - constant)
    return float((start + initial @ total).real)


def pair_of(transition):
    p = {"initial": THIRD, "transition": transition, "emission": EMISSION_P}
    return p, {"initial": THIRD, "transition": [THIRD, [0.5, 0.25, 0.25], [0.25, 0.5, 0.25]], "emission": EMISSION_Q}


def ours(pair, n_nodes):
    return hd.joint_kl(*(hd.Model.from_dict(model) for model in pair), hd.Tree.chain(n_nodes)).value


@pytest.mark.parametrize("n_nodes", [2, 10, 100, 10**6])
def test_agrees_on_a_generic_chain(n_nodes):
    pair = pair_of([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.125, 0.625]])
    assert within(eigenvector_route(*pair, n_nodes), ours(pair, n_nodes), 1e-12)


@LAW
@given(pairs(["categorical", "gaussian"], grain=4, sticky=False, max_states=2))
def test_agrees_on_any_chain_of_two_states_that_mixes(pair):
    assert within(eigenvector_route(*pair, 1000), ours(pair, 1000), 1e-12)


DEFECTIVE = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]
TINY = 2.0**-42
NEARLY_DECOMPOSABLE = [[1 - TINY, TINY, 0.0], [TINY, 0.5, 0.5 - TINY], [0.0, 0.5, 0.5]]


@pytest.mark.parametrize(
    ("transition", "n_nodes"),
    [
        pytest.param(DEFECTIVE, 100, id="defective: no basis of eigenvectors"),
        pytest.param(NEARLY_DECOMPOSABLE, 1000, id="nearly decomposable: a second eigenvalue 1e-12 from one"),
    ],
)
def test_fails_where_ours_holds(transition, n_nodes):
    pair = pair_of(transition)
    exact = chain(*pair, n_nodes)
    assert within(ours(pair, n_nodes), exact, 1e-14)
    try:
        other = eigenvector_route(*pair, n_nodes)
    except np.linalg.LinAlgError:  # some builds of LAPACK find the basis singular, others do not
        return
    assert not within(other, exact, 1e-9)
