"""Mixtures: the law itself, its KL between bounds that hold, and the component as part of the hidden state."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import hidiv as hd
from hidiv.errors import IncompatibleModels, InvalidEvidence, InvalidModel

DRAWS = {
    "gaussian": lambda rng, k: hd.Gaussian(rng.normal(size=k), std=np.exp(rng.normal(0, 0.5, k))),
    "laplace": lambda rng, k: hd.Laplace(rng.normal(size=k), np.exp(rng.normal(0, 0.5, k))),
    "gamma": lambda rng, k: hd.Gamma(np.exp(rng.normal(0.5, 0.5, k)), np.exp(rng.normal(0, 0.5, k))),
    "exponential": lambda rng, k: hd.Exponential(np.exp(rng.normal(0, 0.5, k))),
    "beta": lambda rng, k: hd.Beta(np.exp(rng.normal(0.5, 0.5, k)), np.exp(rng.normal(0.5, 0.5, k))),
    "poisson": lambda rng, k: hd.Poisson(np.exp(rng.normal(1, 1, k))),
    "geometric": lambda rng, k: hd.Geometric(rng.uniform(0.1, 0.9, k)),
    "binomial": lambda rng, k: hd.Binomial(np.full(k, 6), rng.uniform(0.1, 0.9, k)),
    "categorical": lambda rng, k: hd.Categorical(rng.dirichlet(np.ones(3), size=k)),
    "von_mises": lambda rng, k: hd.VonMises(rng.normal(size=k), np.exp(rng.normal(1, 0.5, k))),
}


def drawn(rng, n_states=2, parts=2, family="gaussian"):
    return hd.Mixture(
        rng.dirichlet(np.ones(parts), size=n_states), [DRAWS[family](rng, n_states) for _ in range(parts)]
    )


def wide(rng, n_states=2, parts=2):
    """Two columns, full covariances."""
    base = rng.normal(size=(parts, n_states, 2, 2))
    members = [hd.Gaussian(rng.normal(size=(n_states, 2)), cov=b @ b.transpose(0, 2, 1) + np.eye(2)) for b in base]
    return hd.Mixture(rng.dirichlet(np.ones(parts), size=n_states), members)


def expanded(model):
    """The same model with (state, component) as its state; one group."""
    mixture, k = model.emission, model.n_states
    parts = mixture.weights.shape[1]
    flat = mixture.weights.ravel()
    initial = np.repeat(model.initial, parts) * flat
    transition = np.repeat(np.repeat(model.transition, parts, axis=0), parts, axis=1) * flat
    of_state = [member.take([s]).parameters() for s in range(k) for member in mixture.components]
    emission = type(mixture.components[0])(**{key: np.concatenate([p[key] for p in of_state]) for key in of_state[0]})
    return hd.Model(initial, transition, emission)


def models(rng, draw=drawn, n_states=2):
    return [
        hd.Model(rng.dirichlet(np.ones(n_states)), rng.dirichlet(np.ones(n_states), size=n_states), draw(rng))
        for _ in range(2)
    ]


# The law.


def test_log_prob_is_the_log_of_the_weighted_sum():
    law = hd.Mixture([[0.3, 0.7], [1.0, 0.0]], [hd.Gaussian([0.0, 1.0], std=[1.0, 2.0]), hd.Laplace([3.0, 0], [1, 1])])
    x = np.array([-2.0, 0.0, 3.0, 200.0])
    terms = [stats.norm(0, 1).logpdf(x), stats.laplace(3, 1).logpdf(x)]
    np.testing.assert_allclose(law.log_prob(x)[:, 0], logsumexp(terms, axis=0, b=[[0.3], [0.7]]), rtol=1e-13)
    np.testing.assert_allclose(law.log_prob(x)[:, 1], stats.norm(1, 2).logpdf(x), rtol=1e-13)


def test_what_is_not_seen_is_summed_out_component_by_component():
    law = wide(np.random.default_rng(0))
    x = np.array([[0.3, np.nan], [np.nan, np.nan], [np.nan, -1.0]])
    first, second = law.select([0]), law.select([1])
    found = law.log_prob(x)
    np.testing.assert_allclose(found[0], first.log_prob(x[:1, :1])[0], rtol=1e-13)
    assert found[1].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(found[2], second.log_prob(x[2:, 1:])[0], rtol=1e-13)


def test_intervals():
    law = hd.Mixture([[0.3, 0.7]], [hd.Gaussian([0.0], std=[1.0]), hd.Gaussian([5.0], std=[0.5])])
    lower, upper = np.array([[-1.0], [4.0], [-np.inf]]), np.array([[1.0], [np.inf], [np.inf]])
    mass = 0.3 * np.diff(stats.norm(0, 1).cdf([-1, 1]))[0] + 0.7 * np.diff(stats.norm(5, 0.5).cdf([-1, 1]))[0]
    above = 0.3 * stats.norm(0, 1).sf(4) + 0.7 * stats.norm(5, 0.5).sf(4)
    found = law.log_weight(np.full((3, 1), np.nan), lower, upper)[:, 0]
    np.testing.assert_allclose(found, [np.log(mass), np.log(above), 0.0], rtol=1e-13)


def test_draws_come_from_the_components_in_their_shares():
    law = hd.Mixture(
        [[0.25, 0.75], [1.0, 0.0]], [hd.Gaussian([-9.0] * 2, std=[1.0] * 2), hd.Gaussian([9.0] * 2, std=[1.0] * 2)]
    )
    x = law.sample(np.repeat([0, 1], 4000), np.random.default_rng(3))
    assert abs((x[:4000] < 0).mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 4000)
    assert (x[4000:] < 0).all()


# The KL of the mixture itself.


@pytest.mark.parametrize("family", DRAWS)
def test_bounds_hold_around_the_integral(family):
    rng = np.random.default_rng([17, len(family)])
    slow = family in ("beta", "gamma")  # masses without a closed form
    for parts in ((2, 2),) if slow else ((1, 1), (2, 2), (3, 2)):
        p, q = (drawn(rng, 1 if slow else 2, n, family) for n in parts)
        value, found = p.kl(q), p.bounds(q)
        # The integral is good to 1e-12; for symbols and one component bounds meet.
        slack = (1e-8 if family == "beta" else 1e-11) * value + 1e-13
        assert (found.lower <= value + slack).all()
        assert (value <= found.upper + slack).all()
        assert (found.lower > 0.97 * value).all() or family == "von_mises"
        if parts == (1, 1):
            np.testing.assert_allclose(
                value, p.components[0].kl(q.components[0]), rtol=1e-8 if family == "beta" else 1e-11
            )
            np.testing.assert_allclose(found.upper, value, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("family", ["gaussian", "poisson", "categorical"])
def test_the_integral_is_the_mean_over_draws(family):
    rng = np.random.default_rng(4)
    p, q = drawn(rng, 2, 2, family), drawn(rng, 2, 3, family)
    mean, std_error = p.kl_estimate(q, 20_000, seed=1)
    assert (np.abs(mean - p.kl(q)) < 5 * std_error).all()
    assert (std_error < 0.05).all()


def test_two_columns_have_bounds_and_an_estimate():
    rng = np.random.default_rng(6)
    for _ in range(5):
        p, q = wide(rng), wide(rng, parts=3)
        found, (mean, std_error) = p.bounds(q), p.kl_estimate(q, 5000, seed=2)
        assert (found.lower <= mean + 5 * std_error).all()
        assert (mean - 5 * std_error <= found.upper).all()
        assert (found.lower > 0).all()
    with pytest.raises(IncompatibleModels, match="integrated over one column, got 2"):
        p.kl(q)


def test_components_in_another_order_or_split_are_the_same_law():
    rng = np.random.default_rng(9)
    p = drawn(rng, 2, 2)
    turned = hd.Mixture(p.weights[:, ::-1], p.components[::-1])
    halves = hd.Mixture(np.repeat(p.weights / 2, 2, axis=1), [m for m in p.components for _ in range(2)])
    for same in (turned, halves):
        assert (np.abs(p.kl(same)) < 1e-14).all()
        assert (p.bounds(same).lower == 0).all()
    assert (p.bounds(turned).upper < 1e-12).all()
    assert (p.complete().kl(turned.complete()) > 0.01).all()


def test_supports():
    inside = hd.Mixture([[0.5, 0.5]], [hd.Exponential([1.0]), hd.Gamma([2.0], [1.0])])
    outside = hd.Mixture([[1.0, 0.0]], [hd.Beta([2.0], [2.0]), hd.Beta([1.0], [1.0])])
    assert outside.kl(hd.Mixture([[1.0]], [hd.Beta([1.0], [1.0])]))[0] > 0
    two, three = (hd.Mixture([[0.5, 0.5]], [hd.Categorical([a]), hd.Categorical([b])]) for a, b in
                  (([0.5, 0.5, 0.0], [0.2, 0.8, 0.0]), ([0.5, 0.5, 0.0], [0.0, 0.5, 0.5])))  # fmt: skip
    assert three.kl(two).tolist() == [np.inf]
    assert three.gaps(two) == ["values such as 2"]
    assert np.isfinite(two.kl(three)[0])
    assert three.bounds(two).lower.tolist() == three.bounds(two).upper.tolist() == [np.inf]
    assert inside.gaps(inside) == [None]


# The component as part of the hidden state.


def test_joint_divergence_is_that_of_states_with_components():
    rng = np.random.default_rng(1)
    p, q = models(rng)
    whole_p, whole_q = expanded(p), expanded(q)
    for tree in (hd.Tree.chain(7), hd.Tree.regular(2, 3), hd.Tree([-1, 0, 0, 1])):
        assert hd.joint_kl(p, q, tree).value == pytest.approx(hd.joint_kl(whole_p, whole_q, tree).value, rel=1e-12)
        assert hd.joint_renyi(p, q, tree, 0.5).value == pytest.approx(
            hd.joint_renyi(whole_p, whole_q, tree, 0.5).value, rel=1e-12
        )
    assert hd.joint_kl_rate(p, q).value == pytest.approx(hd.joint_kl_rate(whole_p, whole_q).value, rel=1e-12)
    assert hd.do_bound(p, q, 7).value == pytest.approx(hd.joint_kl(p, q, 7).value, rel=1e-12)


def test_what_is_compared_is_named_and_bounds_are_given_without_components():
    p, q = models(np.random.default_rng(2))
    found = hd.joint_kl(p, q, 7)
    assert found.status == "exact"
    assert "states, components and observations" in found.notes[0]
    lower, upper = (float(word) for word in found.notes[1].split(" nats")[0].split("between ")[1].split(" and "))
    itself = hd.joint_kl(*(hd.Model(m.initial, m.transition, hd.Silent(2)) for m in (p, q)), 7).value
    itself += sum(
        hd.joint_kl(p, q, 7).parts.states / p.emission.complete().kl(q.emission.complete()) * p.emission.kl(q.emission)
    )
    assert lower <= itself <= upper <= found.value * (1 + 1e-11)
    assert "states, components and observations" in hd.joint_kl_rate(p, q).notes[0]
    assert any("components" in note for note in hd.compare(p, q, 3, max_seconds=0.1).expected_posterior.notes)


def test_likelihoods_and_posteriors_sum_components_out():
    p, q = models(np.random.default_rng(3))
    whole_p, whole_q = expanded(p), expanded(q)
    _, x = hd.sample(p, 9, seed=4)
    x[3] = np.nan
    assert hd.log_likelihood(p, x) == pytest.approx(hd.log_likelihood(whole_p, x), rel=1e-12)
    marginals = hd.smooth(whole_p, x).marginals.reshape(9, 2, 2).sum(axis=2)
    np.testing.assert_allclose(hd.smooth(p, x).marginals, marginals, rtol=1e-11)
    unobserved = hd.posterior_kl(p, q, x, target="unobserved").value
    assert unobserved == pytest.approx(hd.posterior_kl(whole_p, whole_q, x, target="unobserved").value, rel=1e-11)
    assert hd.posterior_kl(p, q, x).value < unobserved


def test_evidence_of_every_form_agrees_with_components_as_states():
    p, q = models(np.random.default_rng(8))
    known = [{"between": [-1, 2]}, None, {"x": 0.5}, {"between": [None, 0]}, {"between": [3, None]}]
    evidence = hd.Evidence.from_list(known)
    args = [(expanded(p), expanded(q)), (p, q)]
    whole, own = (hd.posterior_kl(*pair, evidence, target="unobserved").value for pair in args)
    assert own == pytest.approx(whole, rel=1e-9)  # intervals are integrated
    assert hd.log_likelihood(p, evidence) == pytest.approx(hd.log_likelihood(expanded(p), evidence), rel=1e-12)


def test_no_evidence_is_the_joint_divergence():
    p, q = models(np.random.default_rng(5))
    nothing = hd.Evidence(x=[np.nan] * 6)
    assert hd.posterior_kl(p, q, nothing, target="unobserved").value == pytest.approx(
        hd.joint_kl(p, q, 6).value, rel=1e-12
    )


def test_near_mixtures_keep_their_digits():
    rng = np.random.default_rng(7)
    p = models(rng)[0]
    q = hd.Model(p.initial, p.transition, hd.Mixture(p.emission.weights, [
        hd.Gaussian(m.mean + 2.0**-30, std=m.std) for m in p.emission.components]))  # fmt: skip
    _, x = hd.sample(p, 20, seed=1)
    exact = hd.posterior_kl(expanded(p), expanded(q), x, target="unobserved").value
    assert hd.posterior_kl(p, q, x, target="unobserved").value == pytest.approx(exact, rel=1e-6, abs=1e-24)
    assert 0 < hd.joint_kl(p, q, 20).value == pytest.approx(hd.joint_kl(expanded(p), expanded(q), 20).value, rel=1e-12)


def test_monte_carlo_beside_it():
    p, q = models(np.random.default_rng(11))
    found = hd.montecarlo(p, q, 5, samples=3000, seed=0)
    assert abs(found.value - hd.joint_kl(p, q, 5).value) < 5 * found.std_error
    _, x = hd.sample(p, 5, seed=0)
    found = hd.montecarlo(p, q, 5, quantity="posterior", evidence=x, samples=3000, seed=0)
    assert abs(found.value - hd.posterior_kl(p, q, x).value) < 5 * found.std_error


def test_mixtures_of_symbols_are_symbols():
    """The observed divergence knows no components: it equals that of the probabilities summed."""
    rng = np.random.default_rng(12)
    p, q = models(rng, lambda rng: drawn(rng, 2, 2, "categorical"))
    plain = [
        hd.Model(m.initial, m.transition, hd.Categorical(np.einsum(
            "kc,ckm->km", m.emission.weights, np.stack([c.probs for c in m.emission.components]))))
        for m in (p, q)
    ]  # fmt: skip
    assert hd.observed_kl(p, q, 5).value == pytest.approx(hd.observed_kl(*plain, 5).value, rel=1e-12)
    np.testing.assert_allclose(p.emission.kl(q.emission), plain[0].emission.kl(plain[1].emission), rtol=1e-12)


def test_infinite_joint_divergences_name_the_component():
    first, second = (hd.Mixture([w], [hd.Gaussian([0.0], std=[1.0])] * 2) for w in ([0.5, 0.5], [1.0, 0.0]))
    p, q = (hd.Model([1.0], [[1.0]], m) for m in (first, second))
    found = hd.joint_kl(p, q, 3)
    assert found.value == np.inf
    assert "state 0 emits component 1 under p and never under q" in found.infinite[0]
    assert hd.joint_kl(q, p, 3).value == pytest.approx(3 * np.log(2), rel=1e-13)


def test_a_product_with_a_mixture():
    rng = np.random.default_rng(13)
    p, q = models(rng, lambda rng: hd.Product([drawn(rng), hd.Poisson(np.exp(rng.normal(size=2)))]))
    parts = [hd.Model(m.initial, m.transition, m.emission.families[0]) for m in (p, q)]
    counts = p.emission.families[1].kl(q.emission.families[1])
    assert hd.joint_kl(p, q, 1).value == pytest.approx(hd.joint_kl(*parts, 1).value + p.initial @ counts, rel=1e-12)
    assert "components" in hd.joint_kl(p, q, 4).notes[0]
    _, x = hd.sample(p, 4, seed=0)
    assert hd.posterior_kl(p, q, x).value > 0


# Files, and what is refused.


def test_files(tmp_path):
    rng = np.random.default_rng(14)
    made = models(rng) + models(rng)
    for i, model in enumerate(made):
        hd.save(model, tmp_path / f"{i}.json")
        assert hd.load(tmp_path / f"{i}.json") == model
    hd.save(hd.Collection(made), tmp_path / "all.npz")
    again = hd.Collection.load(tmp_path / "all.npz")
    assert [again[i] for i in range(4)] == made


G = hd.Gaussian([0.0, 1.0], std=[1.0, 1.0])


@pytest.mark.parametrize(
    ("weights", "components", "said"),
    [
        ([[0.5, 0.5], [0.5, 0.4]], [G, G], r"weights\[1\]: probabilities must sum to 1"),
        ([[1.0], [1.0]], [G, G], "components: must be a list of 1 family,"),
        ([[1.0], [1.0]], G, "components: must be a list of 1 family,"),
        ([[0.5, 0.5]] * 2, [G, "gaussian"], r"components\[1\]: must be an emission family"),
        ([[0.5, 0.5]] * 2, [G, hd.Gaussian([0.0], std=[1.0])], r"components\[1\]: must have 2 states"),
        ([[0.5, 0.5]] * 2, [G, hd.Mixture([[1.0]] * 2, [G])], "must not be a mixture itself"),
        ([[0.5, 0.5]] * 2, [G, hd.Poisson([1.0, 2.0])], r"components\[1\]: must be continuous like the first"),
        ([[0.5, 0.5]] * 2, [G, hd.Exponential([1.0, 2.0])], "got exponential, which is continuous from 0 on"),
        ([[1.0, 0.0]], [hd.Beta([2.0], [2.0]), hd.Gamma([2.0], [2.0])], "must be continuous from 0 to 1"),
        ([[0.5, 0.5]], [hd.Categorical([[1.0, 0.0]]), hd.Categorical([[1.0, 0.0, 0.0]])], "must be symbols 0 to 1"),
        (
            [[0.5, 0.5]] * 2,
            [G, hd.Gaussian(np.zeros((2, 2)), std=np.ones((2, 2)))],
            "must have the columns of the first",
        ),
    ],
)
def test_refused(weights, components, said):
    with pytest.raises(InvalidModel, match=said):
        hd.Mixture(weights, components)


def test_counts_beyond_one_component_are_counts_of_another():
    """Laws with and without a largest count mix: what is drawn has the probability that scipy gives it."""
    law = hd.Mixture([[0.3, 0.5, 0.2]], [hd.Binomial([3], [0.6]), hd.Poisson([4.0]), hd.Bernoulli([0.5])])
    x = np.arange(12.0)
    plain = 0.3 * stats.binom.pmf(x, 3, 0.6) + 0.5 * stats.poisson.pmf(x, 4.0) + 0.2 * stats.bernoulli.pmf(x, 0.5)
    np.testing.assert_allclose(np.exp(law.log_prob(x))[:, 0], plain, rtol=1e-12)
    np.testing.assert_allclose(law.component_laws(x[:, None])[:, 0, 1], 0.5 * stats.poisson.pmf(x, 4.0) / plain)
    drawn = law.sample(np.zeros(300, dtype=int), np.random.default_rng(3))
    assert drawn.max() > 3
    found = hd.fit(drawn, start=hd.Model([1.0], [[1.0]], law))
    assert found.log_likelihood > law.log_prob(drawn).sum()
    few = hd.Mixture([[0.5, 0.5]], [hd.Binomial([3], [0.6]), hd.Bernoulli([0.5])])
    with pytest.raises(InvalidEvidence, match="mixture observations are whole numbers from 0 to 3, got 4"):
        few.log_prob([4.0])


def test_refused_comparisons_and_evidence():
    rng = np.random.default_rng(15)
    p, q = models(rng)
    third = hd.Model(q.initial, q.transition, drawn(rng, 2, 3))
    with pytest.raises(IncompatibleModels, match="2 and 3 components, which cannot be paired"):
        hd.joint_kl(p, third, 4)
    assert hd.posterior_kl(p, third, [0.1, 0.5]).value > 0
    with pytest.raises(IncompatibleModels, match="2 and 1 components, which cannot be paired"):
        hd.joint_kl(p, hd.Model(q.initial, q.transition, G), 4)
    counts = hd.Model([1.0], [[1.0]], hd.Mixture([[0.5, 0.5]], [hd.Poisson([1.0]), hd.Poisson([2.0])]))
    with pytest.raises(InvalidEvidence, match="whole numbers"):
        hd.log_likelihood(counts, [0.5])
    with pytest.raises(InvalidEvidence, match="needs categorical emissions"):
        hd.log_likelihood(p, hd.Evidence.from_list([{"in": [0]}]))


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (hd.Beta([0.25], [0.25]), hd.Beta([0.5], [0.75])),
        (hd.Beta([0.25], [0.25]), hd.Beta([0.25], [3.75])),
        (hd.Beta([1.0], [0.1]), hd.Beta([1.0], [1.0])),
        (hd.Beta([0.05], [2.0]), hd.Beta([1.0], [2.0])),
        (hd.Gamma([0.1], [1.0]), hd.Gamma([2.0], [1.0])),
    ],
)
def test_laws_crowded_at_an_end(p, q):
    """As mixtures of one law with itself: much of them is nearer to the end than doubles next to it, or to 1e-100."""
    twice = [hd.Mixture([[0.5, 0.5]], [law, law]) for law in (p, q)]
    assert twice[0].gaps(twice[1]) == [None]
    np.testing.assert_allclose(twice[0].kl(twice[1]), p.kl(q), rtol=1e-12)


def test_laws_beyond_the_least_double_are_refused():
    one, two = (hd.Mixture([[0.5, 0.5]], [law, law]) for law in (hd.Beta([0.01], [1.0]), hd.Beta([1.0], [1.0])))
    with pytest.raises(hd.HidivError, match="beyond the range of doubles"):
        one.kl(two)


def test_an_end_is_no_gap():
    """A quantile that is rounded to 1, where the density of q is zero, made the observed divergence infinite."""
    p = hd.Mixture([[0.5, 0.5]], [hd.Beta([0.25], [0.25])] * 2)
    q = hd.Mixture([[2 / 3, 1 / 3]], [hd.Beta([0.25], [3.75]), hd.Beta([0.5], [2.0])])
    assert p.gaps(q) == [None]
    one, two = (hd.Model([1.0], [[1.0]], law) for law in (p, q))
    assert np.isfinite(hd.observed_kl(one, two, 3, seed=0, max_samples=256).value)


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.9])
@pytest.mark.parametrize(
    ("p", "q"),
    [
        (hd.Beta([0.25], [0.25]), hd.Beta([0.5], [0.75])),
        (hd.Beta([1.0], [0.1]), hd.Beta([1.0], [1.0])),
        (hd.Beta([0.05], [2.0]), hd.Beta([1.0], [2.0])),
        (hd.Gamma([0.1], [1.0]), hd.Gamma([0.3], [2.0])),
        (hd.Gamma([0.05], [1.0]), hd.Gamma([0.1], [1.0])),
    ],
)
def test_renyi_divergences_of_laws_crowded_at_an_end(p, q, alpha):
    twice = [hd.Mixture([[0.5, 0.5]], [law, law]) for law in (p, q)]
    np.testing.assert_allclose(twice[0].renyi(twice[1], alpha), p.renyi(q, alpha), rtol=1e-12)


def betas(weights, shapes):
    return hd.Mixture([weights], [hd.Beta([a], [b]) for a, b in shapes])


def gammas(weights, shapes):
    return hd.Mixture([weights], [hd.Gamma([a], [b]) for a, b in shapes])


@pytest.mark.parametrize(
    ("make", "p", "q", "alpha"),
    [
        (betas, ([0.3, 0.7], [(0.1, 0.4), (2.0, 0.3)]), ([0.6, 0.4], [(0.2, 0.2), (1.0, 3.0)]), 0.3),
        (betas, ([0.3, 0.7], [(0.1, 0.4), (2.0, 0.3)]), ([0.6, 0.4], [(0.2, 0.2), (1.0, 3.0)]), 0.95),
        (betas, ([0.3, 0.7], [(0.5, 0.6), (2.0, 0.7)]), ([0.6, 0.4], [(0.5, 0.5), (1.0, 3.0)]), 1.5),
        (gammas, ([0.3, 0.7], [(0.1, 2.0), (3.0, 1.0)]), ([0.5, 0.5], [(0.2, 1.0), (1.0, 1.5)]), 0.5),
        (gammas, ([0.3, 0.7], [(0.4, 2.0), (3.0, 1.5)]), ([0.5, 0.5], [(0.3, 1.0), (1.0, 1.2)]), 2.0),
    ],
)
def test_crowded_mixtures_against_thirty_digits(make, p, q, alpha):
    """Over the logarithm of the distance from each end, panel by panel."""
    mp = mpmath.mp.clone()
    mp.dps = 30

    def density(law, x, y):
        total = mp.mpf(0)
        for weight, (a, b) in zip(law[0], law[1], strict=True):
            a, b = mp.mpf(a), mp.mpf(b)
            if make is betas:
                total += weight * x ** (a - 1) * y ** (b - 1) / mp.beta(a, b)
            else:
                total += weight * b**a * x ** (a - 1) * mp.exp(-b * x) / mp.gamma(a)
        return total

    def power(x, y):
        return density(p, x, y) ** mp.mpf(alpha) * density(q, x, y) ** (1 - mp.mpf(alpha))

    half = [-mp.mpf(k) for k in (1400, 700, 400, 200, 100, 50, 25, 12, 6, 3, 1)]
    if make is betas:
        ends = [*half, mp.log(0.5)]
        z = mp.quad(lambda u: mp.exp(u) * power(mp.exp(u), 1 - mp.exp(u)), ends)
        z += mp.quad(lambda u: mp.exp(u) * power(1 - mp.exp(u), mp.exp(u)), ends)
    else:
        z = mp.quad(lambda u: mp.exp(u) * power(mp.exp(u), None), [*half, 0, 1, 2, 3, 4, 5, 6])
    truth = float(mp.log(z) / (mp.mpf(alpha) - 1))
    np.testing.assert_allclose(make(*p).renyi(make(*q), alpha), truth, rtol=2e-12)


def test_orders_whose_weight_lies_below_the_least_double_are_refused():
    one, two = (hd.Mixture([[0.5, 0.5]], [law, law]) for law in (hd.Gamma([0.05], [1.0]), hd.Gamma([0.1], [1.0])))
    with pytest.raises(hd.HidivError, match="beyond the range of doubles"):
        one.renyi(two, 1.5)


@pytest.mark.parametrize("far", [1.7e308, -1.7e308])
def test_components_at_the_ends_of_the_doubles_are_bounded_without_a_warning(far):
    p, q = (
        hd.Mixture([[0.5, 0.5]], [hd.Gaussian([far], std=[0.25]), hd.Gaussian([at], std=[0.25])]) for at in (0.0, 1.0)
    )
    found = p.bounds(q)  # a warning fails a test
    assert 0 < found.lower[0] <= found.upper[0] <= 0.5 * 8.0 * (1 + 1e-11)


def test_bounds_where_a_weight_has_no_inverse():
    p = hd.Mixture([[0.5, 0.5]], [hd.Poisson([0.25]), hd.Poisson([1000.0])])
    q = hd.Mixture([[4.94065646e-316, 1.0]], [hd.Poisson([1000.0]), hd.Poisson([0.25])])
    found = p.bounds(q)
    assert 0.0 < found.lower[0] <= found.upper[0] < np.inf
