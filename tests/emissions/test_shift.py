"""Counts that start at a shift: laws of different shifts, states of different shifts, files, fits and mixtures."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.comparison.pairwise.observed_variational import fill_state_table
from hidiv.emissions.dicts import emission_to_dict
from hidiv.emissions.evidence.intervals import one_state
from hidiv.emissions.product_integrals import log_products
from tests.emissions.entries import ENTRIES
from tests.emissions.plain_laws import error, mp, mpf
from tests.emissions.plain_points import plain_divergences

LAST = 400
PAIRS = [
    (hd.Poisson([3.0], 2), hd.Poisson([4.5], 1)),
    (hd.Poisson([60.0], 7), hd.Poisson([66.0])),
    (hd.NegativeBinomial([2.5], [0.5], 3), hd.NegativeBinomial([2.5], [0.4], 1)),
    (hd.NegativeBinomial([1.5], [0.5], 3), hd.NegativeBinomial([4.0], [0.45], 0)),
    (hd.Geometric([0.4], 2), hd.Geometric([0.3])),
    (hd.Geometric([0.4], 1), hd.NegativeBinomial([1.5], [0.35])),
    (hd.Binomial([4], [0.3], 2), hd.Binomial([9], [0.4], 1)),
    (hd.Binomial([4], [1 - 1e-9], 1), hd.Binomial([5], [1 - 1e-9])),
]


def law(family):
    """The plain law of one state, in 50 digits."""
    by, plain = float(family.shift[0]), ENTRIES[family.name].law(family.unshifted())
    return lambda x: plain(x - by) if x >= by else -mp.inf


def terms(family):
    log = law(family)
    last = int(family.support()[1].min()) if np.isfinite(family.support()[1]).all() else LAST
    return [(mpf(k), mp.exp(log(mpf(k))), log(mpf(k))) for k in range(int(family.shift[0]), last + 1)]


@pytest.mark.parametrize(("p", "q"), PAIRS, ids=lambda f: f"{f.name}-{f.shift[0]:.0f}")
def test_laws_of_different_shifts(p, q):
    kl, *orders = plain_divergences(terms(p), law(q), (0.3, 0.5, 2.0))
    assert error(p.kl(q)[0], kl) < 1e-12
    for alpha, expected in zip((0.3, 0.5, 2.0), orders, strict=True):
        assert error(p.renyi(q, alpha)[0], expected) < 1e-12
    x = np.arange(p.shift[0], p.shift[0] + 4)
    expected = [float(law(q)(mpf(at)) - law(p)(mpf(at))) for at in x]
    np.testing.assert_allclose(p.log_ratio(q, x)[:, 0], expected, rtol=1e-11, atol=1e-14)
    assert p.gaps(q) == [None]


@pytest.mark.parametrize(("p", "q"), PAIRS[:-2], ids=lambda f: f"{f.name}-{f.shift[0]:.0f}")
def test_mass_below_the_other_shift(p, q):
    """Named; orders below one are those of the other way round."""
    assert q.kl(p)[0] == q.renyi(p, 2.0)[0] == np.inf
    assert q.gaps(p) == [f"counts below {p.shift[0]:.0f}"]
    np.testing.assert_allclose(q.renyi(p, 0.5), p.renyi(q, 0.5), rtol=1e-12)
    assert q.log_ratio(p, [q.shift[0]])[0, 0] == -np.inf
    assert p.log_ratio(q, [q.shift[0]])[0, 0] == np.inf


def test_laws_without_a_count_in_common():
    p, q = hd.Binomial([2], [0.5], 5), hd.Binomial([3], [0.5])
    assert p.kl(q)[0] == p.renyi(q, 0.5)[0] == np.inf
    assert p.gaps(q) == ["counts above 3"]
    assert hd.Binomial([4], [1.0], 1).kl(hd.Binomial([5], [1.0]))[0] == 0.0  # both give 5 and nothing else


def test_a_slow_order_is_infinite_with_shifts_too():
    p, q = hd.Geometric([0.1], 1), hd.Geometric([0.5])
    assert p.renyi(q, 2.0)[0] == np.inf


def test_states_and_columns_with_shifts_of_their_own():
    p = hd.Poisson([[1.0, 2.0], [3.0, 4.0]], shift=[[0, 1], [2, 0]])
    q = hd.Poisson([[1.5, 2.5], [2.0, 5.0]], shift=[[0, 0], [2, 0]])
    columns = [
        hd.Poisson([1.0, 3.0], [0, 2]).kl(hd.Poisson([1.5, 2.0], [0, 2])),
        hd.Poisson([2.0, 4.0], [1, 0]).kl(hd.Poisson([2.5, 5.0])),
    ]
    np.testing.assert_allclose(p.kl(q), sum(columns), rtol=1e-14)
    assert q.gaps(p) == ["counts below 1 in column 1", None]
    x = np.array([[1.0, 1.0], [3.0, np.nan], [0.0, 0.0]])
    one, two = p.select([0]), p.select([1])
    np.testing.assert_allclose(p.log_prob(x), one.log_prob(x[:, :1]) + two.log_prob(x[:, 1:]))
    assert (p.log_prob(x) == -np.inf).tolist() == [[False, True], [False, False], [True, True]]
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(p.log_ratio(q, x[:2]), np.nan_to_num(q.log_prob(x[:2]) - p.log_prob(x[:2])))
    assert p.log_ratio(q, x[2:]).tolist() == [[np.inf, 0.0]]
    drawn = p.sample(np.repeat([0, 1], 500), np.random.default_rng(1))
    assert drawn[:500].min(axis=0).tolist() == [0.0, 1.0]
    assert drawn[500:].min(axis=0).tolist() == [2.0, 0.0]


def test_one_shift_is_spread_over_states_and_columns():
    assert hd.Poisson(np.ones((2, 3)), 4).shift.tolist() == [[4.0] * 3] * 2
    assert hd.Poisson(np.ones((2, 3)), [4, 5]).shift.tolist() == [[4.0] * 3, [5.0] * 3]
    with pytest.raises(hd.HidivError, match=r"^shift: must be one number, one a state or of the shape \(2,\)"):
        hd.Poisson([1.0, 2.0], [1, 2, 3])
    with pytest.raises(hd.HidivError, match=r"^shift\[1\]: must be a whole number from 0, got 1.5"):
        hd.Poisson([1.0, 2.0], [1, 1.5])


def test_intervals_of_laws_with_shifts():
    """Ratio and KL within an interval are those of its counts listed one by one."""
    for p, q in ((hd.Poisson([90.0], 40), hd.Poisson([91.0], 40)), (hd.Poisson([3.0], 2), hd.Poisson([4.0], 1))):
        x = np.arange(30.0 if p.shift[0] > 30 else 0.0, 121.0)
        found = one_state(p, q, x[:1], x[-1:])
        log_p, log_q = p.log_prob(x)[:, 0], q.log_prob(x)[:, 0]
        mass_p, mass_q = np.exp(log_p).sum(), np.exp(log_q).sum()
        inside = log_p > -np.inf
        given = np.exp(log_p[inside]) / mass_p
        expected = (given * (log_p[inside] - log_q[inside])).sum() - np.log(mass_p / mass_q)
        np.testing.assert_allclose(found.kl, [expected], rtol=1e-10)
        np.testing.assert_allclose(found.ratio, [np.log(mass_q / mass_p)], rtol=1e-9, atol=1e-13)


def test_files_say_shift_only_where_there_is_one():
    assert emission_to_dict(hd.Poisson([1.0, 2.0])) == {"family": "poisson", "rate": [1.0, 2.0]}
    assert emission_to_dict(hd.Poisson([1.0], 3)) == {"family": "poisson", "rate": [1.0], "shift": [3.0]}
    assert repr(hd.Poisson([1.0])) == "Poisson(rate=array([1.]))"


def test_saved_and_loaded(tmp_path):
    model = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Binomial([3, 4], [0.2, 0.5], [1, 0]))
    hd.save(model, tmp_path / "m.json")
    assert hd.load(tmp_path / "m.json") == model
    hd.save(hd.Collection([model, model]), tmp_path / "c.npz")
    assert hd.load(tmp_path / "c.npz")[1] == model


@pytest.mark.parametrize(
    "template",
    [
        hd.Poisson([2.0, 9.0], [1, 4]),
        hd.NegativeBinomial([2.0, 4.0], [0.5, 0.3], [1, 4]),
        hd.Geometric([0.6, 0.1], [1, 4]),
        hd.Binomial([5, 12], [0.2, 0.7], [1, 4]),
    ],
    ids=lambda f: f.name,
)
def test_a_fit_keeps_the_shift(template):
    """Every step of it climbs, and the estimates are those of the counts less the shift."""
    model = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], template)
    _, x = hd.sample(model, 3000, seed=2)
    fitted = hd.fit(x, None, 2, template, n_init=1, seed=1, max_iter=30)
    assert fitted.model.emission.shift.tolist() == [1.0, 4.0]
    assert (np.diff(fitted.history) > -1e-6).all()
    assert fitted.log_likelihood > hd.log_likelihood(model, x)
    assert template.n_free() == hd.Poisson([1.0, 1.0]).n_free() * len(template.unshifted().ranges()) - (
        2 if template.name == "binomial" else 0
    )


def test_mixtures_of_laws_with_shifts():
    """The KL of a mixture is the sum over its counts, jumps at the shifts included."""
    p = hd.Mixture([[0.3, 0.7]], [hd.Poisson([200.0]), hd.Poisson([30.0], 150)])
    q = hd.Mixture([[0.4, 0.6]], [hd.Poisson([210.0]), hd.Poisson([32.0], 150)])
    x = np.arange(600.0)
    log_p, log_q = p.log_prob(x)[:, 0], q.log_prob(x)[:, 0]
    np.testing.assert_allclose(p.kl(q)[0], (np.exp(log_p) * (log_p - log_q)).sum(), rtol=1e-11)


def test_divergences_of_models():
    """Joint divergences name what is missing; with one shift they are those of counts from 0."""
    rows = [[0.9, 0.1], [0.2, 0.8]]
    p = hd.Model([0.5, 0.5], rows, hd.Poisson([1.0, 4.0], [2, 3]))
    q = hd.Model([0.5, 0.5], rows, hd.Poisson([2.0, 4.0], [2, 3]))
    zero_p, zero_q = (hd.Model([0.5, 0.5], rows, model.emission.unshifted()) for model in (p, q))
    assert float(hd.joint_kl(p, q, 10)) == float(hd.joint_kl(zero_p, zero_q, 10))
    lower = hd.Model([0.5, 0.5], rows, hd.Poisson([1.0, 4.0], [1, 3]))
    infinite = hd.joint_kl(lower, p, 10)
    assert float(infinite) == np.inf
    assert "state 0 emits counts below 2 under p and never under q" in repr(infinite)
    assert float(hd.joint_kl(p, lower, 10)) < np.inf
    matrix = np.asarray(hd.pairwise_kl([p, q, lower, zero_p], 10))
    expected = [[float(hd.joint_kl(a, b, 10)) for b in (p, q, lower, zero_p)] for a in (p, q, lower, zero_p)]
    np.testing.assert_allclose(matrix, expected, rtol=1e-11)


@pytest.mark.parametrize(
    "family",
    [
        hd.NegativeBinomial([2.0, 8.0], [0.4, 0.5]),
        hd.Binomial([2, 8], [0.4, 0.5]),
        hd.Poisson([2.0, 8.0], [3, 1]),
    ],
    ids=lambda f: f.name,
)
def test_tables_of_states_whose_laws_make_no_exponential_family(family):
    """Every state against every other: a size, a number of trials or a shift may differ between them."""
    table = np.empty((2, 2))
    fill_state_table(family, family, table)
    expected = [[family.take([s]).kl(family.take([t]))[0] for t in (0, 1)] for s in (0, 1)]
    np.testing.assert_allclose(table, expected, rtol=1e-11)


def test_an_observed_divergence_knows_where_laws_begin():
    rows = [[0.9, 0.1], [0.2, 0.8]]
    p, q = (hd.Model([0.5, 0.5], rows, hd.Poisson([1.0, 4.0], shift)) for shift in ([1, 3], [2, 3]))
    found = hd.observed_kl(p, q, 10, seed=1)
    assert float(found) == np.inf
    assert "p emits values that no state of q can have there" in repr(found)
    assert float(hd.observed_kl(q, p, 3, seed=1)) < float(hd.joint_kl(q, p, 3))


@pytest.mark.parametrize("name", ["poisson", "negative_binomial", "geometric", "binomial"])
def test_slopes_and_powers_move_with_the_law(name):
    """With one shift they are those of counts from 0; with several those of each state on its own."""
    plain = ENTRIES[name].draw(np.random.default_rng(3))
    later = type(plain)(**plain.parameters(), shift=[2, 0, 5])
    x = np.array([[5.0], [7.0], [6.0]])
    for s, by in enumerate((2, 0, 5)):
        slopes = plain.take([s]).log_slopes(x - by)
        assert slopes
        for key, slope in later.log_slopes(x).items():
            assert np.array_equal(slope[:, [s]], slopes[key])
    below = later.log_slopes(np.array([[1.0]]))
    assert all((slope[:, [0, 2]] == 0).all() for slope in below.values())
    rows = np.full((3, 3), 1 / 3)
    p, q = (hd.Model([0.2, 0.3, 0.5], rows, type(plain)(**plain.parameters(), shift=by)) for by in (0, 4))
    for key, value in hd.score(p, [1.0, 3.0, 2.0]).to_dict().items():
        assert hd.score(q, [5.0, 7.0, 6.0]).to_dict()[key] == value
    for beta in (0.5, 1.0):
        expected = log_products(plain, plain, beta)
        np.testing.assert_allclose(log_products(q.emission, q.emission, beta), expected, rtol=1e-12)
        x = np.arange(300.0) if name != "binomial" else np.arange(17.0)
        table = np.exp(beta * later.log_prob(x[x <= later.space.most]))
        np.testing.assert_allclose(np.exp(log_products(later, later, beta)), table.T @ table, rtol=1e-10)


def test_a_count_below_every_shift_is_impossible():
    model = hd.Model([1.0], [[1.0]], hd.Poisson([1.0], 2))
    with pytest.raises(hd.HidivError, match="node 1: model gives the evidence of this subtree probability 0"):
        hd.log_likelihood(model, [2, 1, 3])
    with pytest.raises(hd.HidivError, match=r"x\[1\]: binomial observations are whole numbers from 0 to 7, got 8.0"):
        hd.Binomial([5], [0.5], 2).log_prob([7, 8])
