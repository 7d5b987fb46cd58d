"""statsmodels' own log-likelihood is ours of its results; what depends on time or covariates is refused."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.tsa.api import MarkovAutoregression, MarkovRegression

import hidiv as hd
from hidiv.errors import InvalidModel
from tests.peers.drawn import laws


def series(seed, n=80):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) + np.repeat([0.0, 3.0, 0.0, 3.0], n // 4)


def parameters(rng, model):
    """Random parameters in the order statsmodels has them: transition, coefficients, variances."""
    regimes = model.k_regimes
    given = np.empty(model.k_params)
    given[model.parameters["regime_transition"]] = laws(rng, regimes, regimes)[:, :-1].T.ravel()
    given[model.parameters["exog"]] = rng.normal(size=given[model.parameters["exog"]].shape)
    given[model.parameters["variance"]] = rng.uniform(0.5, 2, size=given[model.parameters["variance"]].shape)
    return given


CASES = [
    {},
    {"switching_variance": True},
    {"switching_trend": False, "switching_variance": True},
    {"trend": "n", "switching_variance": True},
]


@pytest.mark.parametrize("options", CASES, ids=lambda options: ", ".join(options) or "plain")
@pytest.mark.parametrize("regimes", [2, 3])
def test_likelihood_at_random_parameters(options, regimes):
    y = series(regimes)
    model = MarkovRegression(y, regimes, **options)
    for seed in range(3):
        results = model.smooth(parameters(np.random.default_rng(seed), model))
        assert hd.log_likelihood(results, y) == pytest.approx(results.llf, rel=1e-12)
        marginals = hd.smooth(results, y).marginals
        assert np.abs(marginals - results.smoothed_marginal_probabilities).max() <= 1e-12


def test_the_first_state_has_moved_already():
    """The trap: the law it starts from is not the law of the first state, unless it is the stationary one."""
    y = series(0)
    model = MarkovRegression(y, 2, switching_variance=True)
    model.initialize_known([1.0, 0.0])
    results = model.filter(parameters(np.random.default_rng(0), model))
    initial = hd.as_model(results).initial
    assert results.initial_probabilities[0] == pytest.approx(1.0, abs=1e-15)
    assert initial[1] > 0.01
    assert hd.log_likelihood(results, y) == pytest.approx(results.llf, rel=1e-12)


def test_a_fitted_model():
    y = series(4)
    results = MarkovRegression(y, 2, switching_variance=True).fit(search_reps=0, em_iter=5, disp=False)
    assert hd.log_likelihood(results, y) == pytest.approx(results.llf, rel=1e-12)


def refused(model, params=None):
    return model.smooth(model.start_params if params is None else params)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda y: refused(MarkovRegression(y, 2, exog=np.sin(y))), "covariates"),
        (lambda y: refused(MarkovRegression(y, 2, trend="ct")), "a trend in time"),
        (lambda y: refused(MarkovRegression(y, 2, exog_tvtp=np.column_stack([np.ones(80), y]))), "vary with time"),
        (lambda y: refused(MarkovAutoregression(y, 2, order=1, switching_ar=False)), "depend on those before"),
        (lambda y: MarkovRegression(y, 2), "has no parameters yet"),
    ],
)
def test_what_cannot_be_represented_is_refused(build, said):
    with pytest.raises(InvalidModel, match=said):
        hd.as_model(build(series(1)))
