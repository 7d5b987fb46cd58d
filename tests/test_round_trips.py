"""What every public function gives back is a value: pickled, copied and deep-copied it equals itself, and is frozen."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from inspect import isfunction

import numpy as np
import pytest

import hidiv as hd
from hidiv.values import Sentences, hashable, same
from tests.files.examples import laws

P = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]), name="rain")
Q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
NORMAL = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Gaussian([0.0, 1.0], std=[1.0, 2.0]))
OTHER = hd.Model([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], hd.Gaussian([0.5, 1.0], std=[1.0, 2.0]))
ENDING = hd.Model([1.0, 0.0], [[0.8, 0.1], [0.2, 0.5]], hd.Silent(2), end=[0.1, 0.3])
X = [0, 2, 1, 1, 0]
IMAGE = np.random.default_rng(0).normal(size=(16, 16)).cumsum(axis=0)
Y = list(hd.sample(NORMAL, 12, size=4, seed=1)[1])

# Every public function, as a call whose result is looked at; several where results differ in kind.
RESULTS = {
    "agreement": [lambda: hd.agreement([P, Q], nodes=100, seed=1)],
    "aggregated_wasserstein": [lambda: hd.aggregated_wasserstein(NORMAL, OTHER)],
    "align": [lambda: hd.align(P, Q, 4)],
    "bayes_error": [lambda: hd.bayes_error(P, Q, 4)],
    "bhattacharyya": [lambda: hd.bhattacharyya(P, Q, 4)],
    "coemission": [lambda: hd.coemission(P, Q, 4)],
    "hellinger": [lambda: hd.hellinger(P, Q, 4)],
    "jensen_shannon": [lambda: hd.jensen_shannon(P, Q, 4)],
    "pairwise": [lambda: hd.pairwise([P, Q], 4, measure="product_kernel")],
    "product_kernel": [lambda: hd.product_kernel(P, Q, 4)],
    "sahraeian_yoon": [lambda: hd.sahraeian_yoon(P, Q)],
    "total_variation": [lambda: hd.total_variation(P, Q, 4)],
    "as_model": [lambda: hd.as_model(P)],
    "bootstrap_divergence": [lambda: hd.bootstrap_divergence(NORMAL, NORMAL, Y, Y, replicates=2, max_iter=2, seed=1)],
    "choose": [lambda: hd.choose(Y, None, (1, 2), n_init=1, max_iter=2, seed=0)],
    "cluster": [lambda: hd.cluster(np.array([[0, 1, 9], [1, 0, 9], [9, 9, 0]]), 2)],
    "compare": [lambda: hd.compare(P, Q, 5, evidence=X), lambda: hd.compare(P, Q)],
    "differ": [
        lambda: hd.differ([Y, Y], n_states=1, n_init=1, permutations=9, seed=0, max_iter=2),
    ],
    "divergence_interval": [lambda: hd.divergence_interval(NORMAL, OTHER, Y, Y, on=3, method="delta", seed=1)],
    "do_bound": [lambda: hd.do_bound(P, Q, 4)],
    "embed": [lambda: hd.embed(np.array([[0, 1, 9], [1, 0, 9], [9, 9, 0]]))],
    "entropy_profile": [lambda: hd.entropy_profile(P, X)],
    "equivalent": [lambda: hd.equivalent(P, Q), lambda: hd.equivalent(NORMAL, OTHER), lambda: hd.equivalent(P, P)],
    "fit": [lambda: hd.fit(Y, None, 2, n_init=1, max_iter=2, seed=0)],
    "fit_many": [lambda: hd.fit_many({"a": Y, "b": Y}, None, 1, n_init=1, max_iter=2, seed=0)],
    "influence": [lambda: hd.influence(P, X)],
    "inward": [lambda: hd.inward(P, Q, 4)],
    "joint_kl": [
        lambda: hd.joint_kl(P, Q, 4),
        lambda: hd.joint_kl(P, Q, hd.Tree.regular(2, 3), per_node=True),
        lambda: hd.joint_kl(ENDING, ENDING, hd.UNTIL_END),
        lambda: hd.joint_kl(P, hd.Model([1, 0], [[1, 0], [0, 1]], P.emission), 4).to("bits"),
    ],
    "joint_kl_rate": [lambda: hd.joint_kl_rate(P, Q)],
    "joint_renyi": [lambda: hd.joint_renyi(P, Q, 4, 0.5)],
    "log_likelihood": [lambda: hd.log_likelihood(P, X)],
    "match": [lambda: hd.match([P, Q])],
    "minimal": [lambda: hd.minimal(P)],
    "montecarlo": [lambda: hd.montecarlo(P, Q, 4, samples=10, seed=1)],
    "nearest": [lambda: hd.nearest([P], [P, Q], 4, 1)],
    "observed_kl": [
        lambda: hd.observed_kl(P, Q, 4),
        lambda: hd.observed_kl(P, Q, 9, method="certified"),
        lambda: hd.observed_kl(NORMAL, OTHER, 4, method="montecarlo", max_samples=64, seed=1),
        lambda: hd.observed_kl(NORMAL, OTHER, 4, method="variational"),
    ],
    "observed_kl_rate": [
        lambda: hd.observed_kl_rate(P, Q, width=1e-3),
        lambda: hd.observed_kl_rate(NORMAL, OTHER, method="montecarlo", max_samples=16, seed=1),
    ],
    "order": [lambda: hd.order(P)],
    "pairwise_kl": [lambda: hd.pairwise_kl([P, Q], 4)],
    "posterior_kl": [lambda: hd.posterior_kl(P, Q, X)],
    "posterior_kl_batch": [lambda: hd.posterior_kl_batch(P, Q, [X, X[:3]])],
    "reduce": [lambda: hd.reduce(P, 1, nodes=200, seed=1)],
    "sample": [lambda: hd.sample(P, 4, seed=1)],
    "sample_posterior": [lambda: hd.sample_posterior(P, X, seed=1)],
    "samples_to_tell_apart": [lambda: hd.samples_to_tell_apart(P, Q, 0.01)],
    "score": [lambda: hd.score(P, X)],
    "smooth": [lambda: hd.smooth(P, X)],
    "smoothed": [lambda: hd.smoothed(P, 0.1)],
    "standard_errors": [lambda: hd.standard_errors(NORMAL, Y)],
    "viterbi": [lambda: hd.viterbi(P, X)],
}
DATA = {
    "chain": lambda: hd.Tree.chain(10**12),
    "tree": lambda: hd.Tree([-1, 0, 0, 1], [0, 1, 1, 0], labels=["a", "b", "c", "d"]),
    "regular": lambda: hd.Tree.regular(2, 500),
    "model": lambda: P,
    "grouped": lambda: hd.Model([1, 0], [None, [[0.5, 0.5], [0.1, 0.9]]], [hd.Silent(2), hd.Poisson([1, 2])]),
    "ending": lambda: ENDING,
    "evidence": lambda: hd.Evidence([0, 2, float("nan")], allowed=[[True, True], [True, False], [True, True]]),
    "listed evidence": lambda: hd.Evidence.from_list([None, {"x": 1}, {"in": [0, 2], "states": [1]}]),
    "collection": lambda: hd.Collection([P, Q]),
    "until the end": lambda: hd.UNTIL_END,
    "bands": lambda: hd.wavelets.dual_tree(IMAGE, 2),
    "wavelet model": lambda: hd.wavelets.fit_bands(hd.wavelets.dual_tree(IMAGE, 2), max_iter=2),
}
# Nothing comes back, what comes back is tested with files, an object of another library, an index that has no equality.
ELSEWHERE = ("save", "load", "to_hmmlearn", "faiss_index", "read_conllu")
MAKERS = [make for makes in RESULTS.values() for make in makes] + list(DATA.values())


def state(value):
    """All that an object tells: numbers compare by more than equality of their values."""
    if isinstance(value, hd.Divergence):
        return value.to_dict(), value.by_node, repr(value)
    return np.asarray(value) if isinstance(value, hd.PairwiseMatrix) else value


def through_pickle(value):
    return pickle.loads(pickle.dumps(value))


def test_every_public_function_is_walked_over():
    """A public name that is in no list fails here."""
    assert {name for name in hd.__all__ if isfunction(getattr(hd, name))} == set(RESULTS) | set(ELSEWHERE)


@pytest.mark.parametrize("make", MAKERS)
def test_results_come_back_equal(make):
    value = make()
    for again in (through_pickle, copy.copy, copy.deepcopy):
        other = again(value)
        assert type(other) is type(value)
        assert same(state(other), state(value))
        assert type(value).__module__.partition(".")[0] != "hidiv" or repr(other) == repr(value)


@pytest.mark.parametrize("name", list(laws()))
def test_families_are_values(name):
    family, twin = laws()[name], laws()[name]
    assert family is not twin
    for other in (twin, through_pickle(family), copy.deepcopy(family)):
        assert other == family
        assert hash(other) == hash(family)
    assert family != hd.Silent(family.n_states + 1)


def test_models_are_keys():
    """Equal by value and hashed so: the name counts, -0.0 is 0.0."""
    twin = hd.Model.from_dict(P.to_dict())
    assert twin == P
    assert len({P, twin, Q, P.renamed("snow")}) == 3
    a, b = (hd.Model([1.0], [[1.0]], hd.Gaussian([zero], std=[1.0])) for zero in (0.0, -0.0))
    assert a == b
    assert hash(a) == hash(b)
    assert P != "rain"
    assert hd.Evidence([1, 2]) == hd.Evidence([1.0, 2.0])
    assert hash(hd.Evidence([1, 2])) == hash(hd.Evidence([1.0, 2.0]))
    assert hd.Evidence([1, 2]) != hd.Evidence([1, 3])
    assert hd.Evidence([1.0, float("nan")]) == hd.Evidence([1.0, float("nan")])


def test_what_was_frozen_stays_frozen():
    arrays = [
        through_pickle(P).initial,
        through_pickle(P).emission.probs,
        through_pickle(hd.Evidence([1.0, 2.0])).x,
        through_pickle(hd.Tree([-1, 0, 0])).parent,
        through_pickle(hd.Collection([P, Q])).initial,
        hd.joint_kl(P, Q, 4).by_node,
        through_pickle(hd.joint_kl(P, Q, 4)).by_node,
        hd.joint_kl(P, Q, 4).parts.rows,
        through_pickle(hd.joint_kl(P, Q, 4)).parts.rows,
    ]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    found = hd.observed_kl(P, Q, 4)
    assert isinstance(found.notes, tuple)
    assert isinstance(found.infinite, tuple)


def test_what_a_result_keeps_can_still_be_asked_for_after_a_pickle():
    found = through_pickle(hd.joint_kl(P, Q, 4))
    assert found.to("bits").parts == hd.joint_kl(P, Q, 4).to("bits").parts
    np.testing.assert_array_equal(found.to("bits").by_node, hd.joint_kl(P, Q, 4).to("bits").by_node)
    assert found.noted("more").parts == found.parts


def test_other_processes_get_models_and_give_results():
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(hd.joint_kl, P, Q, 4).result()
    assert same(state(found), state(hd.joint_kl(P, Q, 4)))


def test_an_index_is_pickled():
    index = hd.faiss_index([P, Q], 4)
    for other in (through_pickle(index), copy.deepcopy(index)):
        assert hd.nearest([P], [P, Q], 4, 1, index=other) == hd.nearest([P], [P, Q], 4, 1, index=index)


def test_sentences_are_tuples_that_equal_lists():
    said = Sentences(["a", "b"])
    assert said == ("a", "b")
    assert said == ["a", "b"]
    assert said == ["a", "b"]
    assert said != ["a"]
    assert hash(said) == hash(("a", "b"))


def test_values_within_values():
    array = np.array([1.0, np.nan])
    for a, b, equal in (
        (array, array.copy(), True),
        (array, array[:1], False),
        (array, [1.0, np.nan], False),
        ({"a": array}, {"a": array.copy()}, True),
        ({"a": 1}, {"b": 1}, False),
        ((1, [array]), (1, [array.copy()]), True),
        (float("nan"), float("nan"), True),
        (np.array(["a"]), np.array(["a"]), True),
        (np.array([1.0 + 0j]), np.array([1.0 - 0j]), True),
    ):
        assert same(a, b) == equal
        assert not equal or hashable(a) == hashable(b)
