"""Whatever stands for a model, wherever a model is expected: found by type, without importing its library."""

from __future__ import annotations

import subprocess
import sys
from inspect import isfunction
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM

import hidiv as hd
from hidiv.adapters.as_model import LIBRARIES, as_models, library_of
from hidiv.adapters.foreign import covariances
from hidiv.errors import InvalidModel
from tests.peers.drawn import laws


def theirs(seed):
    rng = np.random.default_rng(seed)
    model = CategoricalHMM(2)
    model.startprob_, model.transmat_, model.emissionprob_ = laws(rng, 2), laws(rng, 2, 2), laws(rng, 2, 3)
    model.n_features = 3
    return model


P, Q = theirs(0), theirs(1)
X = [0, 2, 1, 1, 0]


def alike(a, b):
    """All states equally far apart."""
    return np.ones((a.n_states, b.n_states))


def saved(model):
    """What a file of it says."""
    with TemporaryDirectory() as folder:
        hd.save(model, Path(folder) / "a.json")
        return hd.load(Path(folder) / "a.json").to_dict()


# Every public function that takes a model, as a call on two of them.
CALLS = {
    "joint_kl": lambda p, q: float(hd.joint_kl(p, q, 6)),
    "joint_kl_rate": lambda p, q: float(hd.joint_kl_rate(p, q)),
    "joint_renyi": lambda p, q: float(hd.joint_renyi(p, q, 6, 0.5)),
    "posterior_kl": lambda p, q: float(hd.posterior_kl(p, q, X)),
    "posterior_kl_batch": lambda p, q: hd.posterior_kl_batch(p, q, [X, X[:3]]),
    "observed_kl": lambda p, q: float(hd.observed_kl(p, q, 4)),
    "observed_kl_rate": lambda p, q: float(hd.observed_kl_rate(p, q, width=1e-3)),
    "montecarlo": lambda p, q: float(hd.montecarlo(p, q, 4, samples=20, seed=1)),
    "do_bound": lambda p, q: float(hd.do_bound(p, q, 6)),
    "inward": lambda p, q: hd.inward(p, q, 6),
    "align": lambda p, q: hd.align(p, q, 6).value,
    "sample": lambda p, q: hd.sample(p, 6, seed=1)[1],
    "sample_posterior": lambda p, q: hd.sample_posterior(p, X, seed=1),
    "log_likelihood": lambda p, q: hd.log_likelihood(p, X),
    "smooth": lambda p, q: hd.smooth(p, X).marginals,
    "viterbi": lambda p, q: hd.viterbi(p, X)[1],
    "influence": lambda p, q: hd.influence(p, X),
    "entropy_profile": lambda p, q: hd.entropy_profile(p, X),
    "Collection": lambda p, q: [model.to_dict() for model in hd.Collection([p, q])],
    "as_model": lambda p, q: hd.as_model(p).to_dict(),
    "to_hmmlearn": lambda p, q: hd.to_hmmlearn(p).emissionprob_,
    "compare": lambda p, q: float(hd.compare(p, q, 4).joint),
    "pairwise_kl": lambda p, q: np.asarray(hd.pairwise_kl([p, q], 6)),
    "nearest": lambda p, q: hd.nearest([p], [p, q], 6, 1)[1],
    "faiss_index": lambda p, q: hd.nearest([p], [p, q], 6, 1, index=hd.faiss_index([p, q], 6))[1],
    "bootstrap_divergence": lambda p, q: (
        hd.bootstrap_divergence(p, q, X * 4, X * 4, replicates=2, null=False, seed=1).value
    ),
    "fit": lambda p, q: hd.fit(X, start=p, max_iter=3).history,
    "save": lambda p, q: saved(p),
    "smoothed": lambda p, q: hd.smoothed(p, 0.1).to_dict(),
    "samples_to_tell_apart": lambda p, q: str(hd.samples_to_tell_apart(p, q)),
    "agreement": lambda p, q: hd.agreement([p, q], nodes=200, seed=1).to_dict(),
    "aggregated_wasserstein": lambda p, q: float(hd.aggregated_wasserstein(p, q, ground=alike)),
    "bayes_error": lambda p, q: float(hd.bayes_error(p, q, 4)),
    "bhattacharyya": lambda p, q: float(hd.bhattacharyya(p, q, 4)),
    "coemission": lambda p, q: float(hd.coemission(p, q, 4)),
    "hellinger": lambda p, q: float(hd.hellinger(p, q, 4)),
    "jensen_shannon": lambda p, q: float(hd.jensen_shannon(p, q, 4)),
    "product_kernel": lambda p, q: float(hd.product_kernel(p, q, 4)),
    "sahraeian_yoon": lambda p, q: float(hd.sahraeian_yoon(p, q)),
    "total_variation": lambda p, q: float(hd.total_variation(p, q, 4)),
    "differ": lambda p, q: hd.differ([[X, X[:4], X[1:]], [X[2:], X, X]], model=p, permutations=19, seed=1).p_value,
    "divergence_interval": lambda p, q: float(
        hd.divergence_interval(p, q, [X] * 20, [X] * 20, divergence="joint", replicates=5, seed=1).value
    ),
    "equivalent": lambda p, q: hd.equivalent(p, q).to_dict(),
    "match": lambda p, q: hd.match([p, q]).to_dict(),
    "minimal": lambda p, q: hd.minimal(p).to_dict(),
    "order": lambda p, q: hd.order(p),
    "pairwise": lambda p, q: np.asarray(hd.pairwise([p, q], 6, measure="product_kernel")),
    "reduce": lambda p, q: hd.reduce(p, 1, nodes=500, seed=1).to_dict(),
    "score": lambda p, q: hd.score(p, X).to_dict(),
    "standard_errors": lambda p, q: hd.standard_errors(p, [X] * 10).to_dict(),
}
# Public functions that take no model.
OTHERS = ("choose", "cluster", "embed", "fit_many", "load", "read_conllu")
THERE = [name for name in hd.__all__ if name == "Collection" or (isfunction(getattr(hd, name)) and name not in OTHERS)]


@pytest.mark.parametrize("name", THERE)
def test_every_public_function_takes_a_model_of_another_library(name):
    """The same value as for our own model; a public name that is in no list fails here."""
    ours = [hd.as_model(P), hd.as_model(Q)]
    np.testing.assert_equal(CALLS[name](P, Q), CALLS[name](*ours))


@pytest.mark.parametrize("name", [name for name in THERE if name not in ("as_model", "to_hmmlearn", "save")])
def test_plain_dicts_do_too(name):
    ours = [hd.as_model(P), hd.as_model(Q)]
    np.testing.assert_equal(CALLS[name](*(model.to_dict() for model in ours)), CALLS[name](*ours))


@pytest.mark.parametrize("name", [name for name in THERE if name != "save"])
def test_fits_do_too(name):
    """A fit is saved as a fit; everywhere else it is its model."""
    ours = [hd.as_model(P), hd.as_model(Q)]
    fits = [hd.FitResult(model, -1.0, (-1.0,), True, 1, 1) for model in ours]
    np.testing.assert_equal(CALLS[name](*fits), CALLS[name](*ours))


def test_a_name_and_a_floor_are_given_at_the_edge():
    sparse = {
        "initial": [1.0, 0.0],
        "transition": [[1.0, 0.0], [0.5, 0.5]],
        "emission": {"family": "silent", "n_states": 2},
    }
    found = hd.as_model(sparse, name="rain", floor=0.01)
    assert found.name == "rain"
    np.testing.assert_allclose(found.initial, [0.99, 0.01], rtol=1e-15)
    np.testing.assert_allclose(found.transition, [[0.99, 0.01], [0.5, 0.5]], rtol=1e-15)
    named = hd.as_model(P, name="theirs")
    assert named.name == "theirs"
    assert named.renamed(None) == hd.as_model(P)


def test_plots_take_them_too():
    assert hd.plots.differences(P, Q).get_xlabel() == "to state"


def test_nothing_is_imported_to_know_a_library():
    code = (
        "import sys, hidiv as hd\n"
        "hd.as_model({'initial': [1.0], 'transition': [[1.0]], 'emission': {'family': 'poisson', 'rate': [1.0]}})\n"
        "try: hd.as_model(object())\n"
        "except hd.errors.InvalidModel: pass\n"
        f"print([name for name in {list(LIBRARIES)} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_unknown_class_of_a_known_library_is_refused(library, monkeypatch):
    """Made up, so that every library is there; the real ones have tests of their own."""
    monkeypatch.setitem(sys.modules, library, ModuleType(library))
    strange = type("Strange", (), {"__module__": f"{library}.somewhere"})
    assert library_of(strange()) == library_of((strange(), None)) == library
    with pytest.raises(InvalidModel, match=f"^{library} Strange: "):
        hd.as_model(strange())


@pytest.mark.parametrize("thing", [None, 3, "model.json", [P], (), (1, 2), object(), np.zeros(3)])
def test_what_is_no_model_at_all_is_refused(thing):
    with pytest.raises(InvalidModel, match="model: must be a hidiv Model, a dict"):
        hd.as_model(thing)


def test_a_refusal_says_which_side_it_is_about():
    with pytest.raises(InvalidModel, match="^q: hmmlearn CategoricalHMM: startprob_: is not set"):
        as_models(P, CategoricalHMM(2))


def test_covariances_of_single_precision_are_made_symmetric():
    skew = np.array([[[1.0, 0.5 + 1e-7], [0.5, 2.0]]])
    np.testing.assert_array_equal(covariances("cov", skew, (3,)), covariances("cov", skew.transpose(0, 2, 1), (3,)))
    with pytest.raises(InvalidModel, match="cov: must be symmetric within 1e-05"):
        covariances("cov", np.array([[[1.0, 0.6], [0.5, 2.0]]]), (3,))
    with pytest.raises(InvalidModel, match="cov: must be square"):
        covariances("cov", np.ones((1, 2, 3)), (3,))
