"""What the controls gain, that their means are what they are said to be, and what they do for close models."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import hidiv as hd
from hidiv.divergences.observed.sampled import cross_fitting
from hidiv.divergences.observed.sampled.chain_draws import ChainPair
from hidiv.divergences.observed.sampled.cross_fitting import (
    COLLINEAR,
    SHARE,
    ControlledDraws,
    LeftOut,
    controlled_mean,
    orthonormal,
)
from hidiv.divergences.observed.sampled.draws import joined
from hidiv.divergences.observed.sampled.standard_errors import plain_mean
from hidiv.divergences.observed.sampled.tree_estimate import TreePair
from tests.divergences.observed.models import P, Q, gaussian_pair, models


def cross_fitted(draws, controls, most):
    """The mean with the first independent controls, `most` of them; coefficients come from the other draws."""
    (basis, offset, _), *_ = orthonormal(controls, most)
    return LeftOut(draws, basis, offset).fitted(basis.shape[1])


@pytest.mark.parametrize("columns", [2, 60])
def test_a_basis_takes_no_more_memory_than_its_controls(columns):
    # Room for as many as a third of the draws was 25 gigabytes for 100,000 of them.
    controls = np.random.default_rng(1).normal(size=(30_000, columns))
    tracemalloc.start()
    try:
        orthonormal(controls, len(controls) // SHARE)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * controls.nbytes


def reduction(p, q, draws, length=100):
    """Variance of the log-ratio over that of the controlled estimate."""
    pair = ChainPair.of(p, q, hd.Tree.chain(length))
    batch = joined([pair.draw(500, np.random.default_rng(i)) for i in range(draws // 500)])
    return float(batch.plain.var() / controlled_mean(batch.base, batch.controls).draws.var())


def test_papers_chains_gain_a_million():
    assert reduction(P, Q, 1000) > 1e6
    assert reduction(Q, P, 1000) > 1e6


@pytest.mark.parametrize("kind", ["dirichlet", "sticky"])
def test_four_states_gain_a_thousand(kind):
    assert reduction(*models(kind, 1, 8, (4, 4)), 2500) > 1e3


def test_eight_sticky_states_gain_a_hundred():
    assert reduction(*models("sticky", 1, 16, (8, 8)), 3000) > 100


@pytest.mark.parametrize("states", [(2, 2), (2, 3), (3, 2), (3, 3)])
@pytest.mark.parametrize("length", [1, 2, 7, 20])
def test_controls_of_chains_have_mean_zero(states, length):
    p, q = models("dirichlet", 5, 4, states)
    assert_mean_zero(ChainPair.of(p, q, hd.Tree.chain(length)).draw(4000, np.random.default_rng(1)).controls)


def assert_mean_zero(controls):
    size = np.sqrt(len(controls) * controls.var(axis=0))
    off = np.abs(controls.sum(axis=0))
    assert (off <= 4.5 * size + 1e-9).all()
    assert (size > 0).any() or len(controls[0]) == 0


def test_controls_with_groups_have_mean_zero():
    """Transitions and emissions that change along the chain, and a tree."""
    rng = np.random.default_rng(0)

    def grouped(states):
        return hd.Model(
            rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), (2, states)),
            [hd.Categorical(rng.dirichlet(np.ones(3), states)) for _ in range(2)],
        )  # fmt: skip

    p, q = grouped(2), grouped(3)
    chain = hd.Tree.chain(6, group=[0, 1, 1, 0, 1, 0])
    batch = ChainPair.of(p, q, chain).draw(4000, np.random.default_rng(2))
    assert_mean_zero(batch.controls)
    exact = hd.observed_kl(p, q, chain, method="exact").value
    assert abs(plain_mean(batch.base).value - exact) < 4 * plain_mean(batch.base).std_error
    tree = hd.Tree([-1, 0, 0, 1, 1], group=[0, 1, 1, 0, 1])
    batch = TreePair(p, q, tree).draw(4000, np.random.default_rng(3))
    assert_mean_zero(batch.controls)
    exact = hd.observed_kl(p, q, tree, method="exact").value
    found = controlled_mean(batch.base, batch.controls)
    assert abs(found.value - exact) < 4 * found.std_error


FAMILIES = [
    (hd.Gaussian([0.0, 2.0], std=[1.0, 0.5]), hd.Gaussian([0.0, 1.0, 3.0], std=[1.0, 1.5, 1.0])),
    (hd.Gamma([0.5, 4.0], [1.0, 1.0]), hd.Exponential([1.0, 0.3])),
    (hd.Poisson([1.0, 6.0]), hd.Poisson([2.0, 5.0])),
    (hd.Binomial([5, 5], [0.2, 0.6]), hd.Binomial([7, 7], [0.3, 0.4])),
    (hd.Laplace([0.0, 1.0], [1.0, 2.0]), hd.Gaussian([0.0, 1.0], std=[1.0, 1.5])),
    (hd.VonMises([0.0, 1.0], [1.0, 5.0]), hd.VonMises([0.0, 1.0], [2.0, 9.0])),
    (hd.Beta([2.0, 3.0], [2.0, 5.0]), hd.Beta([2.5, 3.0], [2.0, 4.0])),
    (
        hd.Gaussian([[0.0, 2.0], [1.0, 1.0]], std=[[1.0, 1.0], [2.0, 1.0]]),
        hd.Gaussian([[0.0, 1.0], [0.0, 1.0]], std=[[1.0, 1.5], [1.0, 1.0]]),
    ),
    (hd.Bernoulli([[0.1, 0.8, 0.4], [0.6, 0.3, 0.5]]), hd.Bernoulli([[0.2, 0.7, 0.4], [0.5, 0.5, 0.5]])),
]  # fmt: skip


@pytest.mark.parametrize(("one", "two"), FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize("tree", [hd.Tree.chain(8), hd.Tree([-1, 0, 0, 1, 1])], ids=["chain", "tree"])
def test_any_family_agrees_with_the_plain_estimator(one, two, tree):
    rng = np.random.default_rng(4)
    p, q = (
        hd.Model(rng.dirichlet(np.ones(f.n_states)), rng.dirichlet(np.ones(f.n_states), f.n_states), f)
        for f in (one, two)
    )
    found = hd.observed_kl(p, q, tree, method="montecarlo", seed=5, max_samples=1500)
    plain = hd.montecarlo(p, q, tree, quantity="observed", samples=150, seed=6)
    assert abs(found.value - plain.value) < 4 * np.hypot(found.std_error, plain.std_error)
    assert found.std_error < plain.std_error


@pytest.mark.parametrize("tree", [hd.Tree.chain(50), hd.Tree.regular(2, 4)], ids=["chain", "tree"])
@pytest.mark.parametrize("family", ["categorical", "gaussian"])
def test_close_models_keep_their_relative_error(tree, family):
    """Standard error over value stays where it is while the difference goes to 1e-6 and beyond."""
    rng = np.random.default_rng(7)
    away = rng.dirichlet(np.ones(3), 2)
    relative, scaled = [], []
    for distance in (1e-2, 1e-4, 1e-6, 1e-8):
        if family == "categorical":
            p = P
            q = hd.Model(P.initial, P.transition, hd.Categorical((1 - distance) * P.emission.probs + distance * away))
        else:
            p = gaussian_pair()[0]
            q = hd.Model(P.initial, P.transition, hd.Gaussian([distance, 2.0], std=[1.0, 1.0 + distance]))
        found = hd.observed_kl(p, q, tree, method="montecarlo", seed=8, rtol=0, atol=0, max_samples=600)
        relative.append(found.std_error / found.value)
        scaled.append(found.value / distance**2)
    assert max(relative) < 0.2
    assert max(relative[1:]) < 3 * relative[0] + 1e-3
    assert scaled[1:] == pytest.approx([scaled[-1]] * 3, rel=5 * max(relative))


def test_exact_for_close_models_by_enumeration():
    q = hd.Model(P.initial, P.transition, hd.Categorical(P.emission.probs + 1e-7 * np.array([[1, -1, 0], [0, 1, -1]])))
    exact = hd.observed_kl(P, q, 8, method="exact").value
    found = hd.observed_kl(P, q, 8, method="montecarlo", seed=1, rtol=1e-4, atol=0)
    assert abs(found.value - exact) < 4 * found.std_error
    assert found.std_error < 2e-4 * exact


def test_equal_models_are_at_zero():
    assert hd.observed_kl(P, P, 30, method="montecarlo", seed=0).value == 0.0
    relabelled = hd.observed_kl(P, P.relabel([1, 0]), 30, method="montecarlo", seed=0)
    assert relabelled.value == pytest.approx(0, abs=1e-15)


def test_number_of_controls_and_collinear_ones():
    """At most a third of the draws; a copy of a control is dropped and changes nothing."""
    rng = np.random.default_rng(9)
    controls = rng.normal(size=(200, 90))
    draws = controls @ rng.normal(size=90) + 3 + 0.1 * rng.normal(size=200)
    assert controlled_mean(draws, controls).controls == 200 // SHARE == 66
    once = cross_fitted(draws, controls[:, :4], 20)
    noise = 1e-3 * COLLINEAR * rng.normal(size=(200, 4))
    twice = cross_fitted(draws, np.concatenate([controls[:, :4], controls[:, :4] + noise], axis=1), 20)
    assert twice.controls == 4
    assert twice.value == pytest.approx(once.value, rel=1e-12)


def test_cross_fitting_is_what_plain_least_squares_gives_draw_by_draw():
    rng = np.random.default_rng(10)
    controls = rng.normal(size=(50, 3)) @ np.array([[1.0, 0.9, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 1e-6]])
    draws = controls @ [1.0, -2.0, 1e6] + rng.normal(size=50)
    left = np.empty(50)
    for one in range(50):
        others = np.arange(50) != one
        design = np.column_stack([np.ones(49), controls[others]])
        left[one] = draws[one] - controls[one] @ np.linalg.lstsq(design, draws[others], rcond=None)[0][1:]
    found = cross_fitted(draws, controls, 3)
    assert found.draws == pytest.approx(left, rel=1e-8)  # the columns of the plain fit are badly scaled
    assert found.value == pytest.approx(left.mean(), rel=1e-9)
    assert found.std_error == pytest.approx(left.std(ddof=1) / np.sqrt(50), rel=1e-9)


def test_directions_are_orthogonal_where_only_products_are_taken(monkeypatch):
    """Coefficients are read off orthonormal columns, so that nearly dependent controls must leave such columns."""
    rng = np.random.default_rng(11)
    controls = rng.normal(size=(120, 6))
    controls = np.column_stack([controls, controls + 1e-5 * rng.normal(size=(120, 6))])
    monkeypatch.setattr(cross_fitting, "MANY", 0)
    (basis, offset, _), *_ = orthonormal(controls, 40)
    assert basis.shape[1] == 12
    assert basis.T @ basis == pytest.approx(np.eye(12), abs=1e-13)
    # What a direction is off by is what the same combination of controls has as its mean.
    by = np.linalg.lstsq(controls - controls.mean(axis=0), basis, rcond=None)[0]
    assert offset == pytest.approx(controls.mean(axis=0) @ by, rel=1e-6, abs=1e-9)


def test_the_spread_of_what_many_controls_leave_is_the_error_of_the_mean():
    """Forty controls for 128 draws: the intervals hold as often as they say, no more and no less."""
    rng = np.random.default_rng(12)
    off, errors, held = [], [], []
    for _ in range(600):
        controls = rng.normal(size=(128, 40))
        found = controlled_mean(controls @ np.ones(40) + rng.normal(size=128), controls)
        off.append(found.value)
        errors.append(found.std_error)
        held.append(abs(found.value) <= found.half_width())
    assert 0.9 < np.std(np.divide(off, errors)) < 1.1
    assert 0.93 <= np.mean(held) <= 0.975
    assert np.std(off) < 0.118  # five folds leave 0.121, all other draws 0.112


def test_a_control_that_is_off_does_not_spoil_those_after_it(monkeypatch):
    """What is left of it when those before are taken out is off; each of the others has a part of it that is not."""
    rng = np.random.default_rng(7)
    n, each = 600, 12
    before, after, missed = rng.normal(size=(n, each)), rng.normal(size=(n, each)), rng.normal(size=n)
    controls = np.column_stack([before, before.sum(axis=1) + 1e-3 * (missed + 0.5), after + 0.9 * missed[:, None]])
    draws = 5.0 + before.sum(axis=1) + after.sum(axis=1) + 10.8 * missed + 0.1 * rng.normal(size=n)
    found = controlled_mean(draws, controls)
    assert found.controls == 2 * each
    assert abs(found.value - 5.0) < 4 * found.std_error
    monkeypatch.setattr(cross_fitting, "LOST", 0)
    assert controlled_mean(draws, controls).std_error > 5 * found.std_error


def test_few_controls_lead_while_draws_are_few():
    rng = np.random.default_rng(8)
    controls = rng.normal(size=(400, 150))
    draws = controls @ np.r_[np.ones(10), np.full(140, 0.02)] + 3.0
    few = ControlledDraws(draws[:150], controls[:150], leading=10).mean(True)
    assert (few.controls, few.full) == (10, False)
    assert few.std_error < controlled_mean(draws[:150], controls[:150]).std_error
    controls = rng.normal(size=(1200, 150))
    many = ControlledDraws(controls.sum(axis=1) + rng.normal(size=1200), controls, leading=10)
    assert many.mean(True).full


def test_log_ratios_of_the_nearest_states_lead_where_vectors_are_drawn():
    """Each of them alone takes out more than their mixture does, before all controls can be used."""
    rng = np.random.default_rng(13)
    p, q = (
        hd.Model(
            rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6), 6),
            hd.Gaussian(rng.normal(size=(6, 8)), std=np.ones((6, 8))),
        )
        for _ in range(2)
    )  # fmt: skip
    pair = ChainPair.by_ratio(p, q, hd.Tree.chain(40))
    batch = pair.draw(600, np.random.default_rng(1))
    assert pair.leading == 6 + 2 * 6 + 2 * 5
    assert (np.abs(batch.controls.mean(axis=0)) <= 4.5 * batch.controls.std(axis=0) / np.sqrt(600)).all()
    led, mixed = (
        controlled_mean(batch.base, batch.controls[:, kept]).std_error
        for kept in (slice(pair.leading), np.r_[:6, 18 : pair.leading])
    )
    assert led < 0.95 * mixed
