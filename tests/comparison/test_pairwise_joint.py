"""The matrix of joint divergences against one divergence at a time."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import HidivError, IncompatibleModels, InvalidModel, OutOfRange
from tests.comparison.many import FAMILIES, WITHOUT_STATISTICS, model, moved, one_by_one, worst

TREES = {
    "chain": (hd.Tree.chain(30), 1),
    "single node": (hd.Tree.chain(1), 1),
    "long chain": (hd.Tree.chain(10**9), 1),
    "regular": (hd.Tree.regular(2, 6), 1),
    "regular by level": (hd.Tree.regular(3, 4), 4),
    "listed": (hd.Tree([-1, 0, 0, 1, 1, 4]), 1),
    "listed with groups": (hd.Tree([-1, 0, 0, 1, 1, 4], [0, 1, 2, 1, 2, 2]), 3),
    "chain with groups": (hd.Tree.chain(5, [0, 1, 2, 2, 1]), 3),
    "a group too many": (hd.Tree.chain(5, [0, 1, 1, 1, 1]), 3),
}


def joint(tree):
    return lambda p, q: hd.joint_kl(p, q, tree).value


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family(family):
    rng = np.random.default_rng(1)
    ms = [model(rng, family) for _ in range(6)]
    found = hd.pairwise_kl(ms, 50)
    assert worst(found, one_by_one(joint(50), ms)) < 1e-11
    assert found.status == "exact"
    assert any("every pair computed directly" in note for note in found.notes) == (family in WITHOUT_STATISTICS)


@pytest.mark.parametrize("name", TREES)
def test_every_tree(name):
    tree, groups = TREES[name]
    rng = np.random.default_rng(2)
    ms = [model(rng, "gaussian", groups=groups) for _ in range(5)]
    expected = one_by_one(joint(tree), ms)
    assert worst(hd.pairwise_kl(ms, tree), expected) < 1e-11
    both = np.asarray(hd.pairwise_kl(ms, tree, symmetric=True))
    assert worst(both, expected + expected.T) < 1e-11
    assert (both == both.T).all()
    assert worst(hd.pairwise_kl(ms[:2], tree, ms), expected[:2]) < 1e-11
    assert worst(hd.pairwise_kl(ms[:2], tree, ms, symmetric=True), (expected + expected.T)[:2]) < 1e-11


def test_until_the_end():
    rng = np.random.default_rng(3)
    ms = [model(rng, "poisson", end=True) for _ in range(4)]
    expected = one_by_one(joint(hd.UNTIL_END), ms)
    assert worst(hd.pairwise_kl(ms, hd.UNTIL_END), expected) < 1e-11


def test_models_of_several_shapes():
    rng = np.random.default_rng(4)
    tree = hd.Tree([-1, 0, 0, 1, 1, 4], [0, 1, 2, 1, 2, 2])
    k = 2
    free = [model(rng, "gaussian", k) for _ in range(2)]
    tied = [model(rng, "gaussian", k, groups=3) for _ in range(2)]
    variance = hd.Model(free[0].initial, free[0].transition, hd.Gaussian([0.0, 1.0], var=[1.0, 2.0]))
    one_part = hd.Model(tied[0].initial, tied[0].transition, hd.Gaussian([0.0, 1.0], std=[1.0, 2.0]))
    ms = [free[0], tied[0], variance, one_part, tied[1], free[1]]
    expected = one_by_one(joint(tree), ms)
    assert worst(hd.pairwise_kl(ms, tree), expected) < 1e-11
    # Blocks of two rows and columns, so that shapes are mixed in every one of them.
    both = hd.pairwise_kl(ms, tree, symmetric=True, memory=256)
    assert worst(both, expected + expected.T) < 1e-11


@pytest.mark.parametrize("distance", [1e-1, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("tree", [hd.Tree.chain(100), hd.Tree.regular(2, 5)])
def test_close_models_keep_their_digits(distance, tree):
    rng = np.random.default_rng(5)
    base = model(rng, "categorical")
    ms = [base, *(moved(rng, base, distance) for _ in range(8))]
    found = hd.pairwise_kl(ms, tree)
    assert worst(found, one_by_one(joint(tree), ms)) < 1e-11
    assert (np.diag(np.asarray(found)) == 0).all()
    assert "models clustered around one: second-order product" in found.notes


def test_close_models_among_far_ones():
    rng = np.random.default_rng(6)
    far = [model(rng, "categorical") for _ in range(40)]
    ms = [*far, *(moved(rng, far[0], distance) for distance in (1e-2, 1e-4, 1e-6, 1e-9))]
    found = hd.pairwise_kl(ms, 100)
    assert worst(found, one_by_one(joint(100), ms)) < 1e-11
    assert any(note.endswith("pairs too close for the product, computed directly") for note in found.notes)


@pytest.mark.parametrize("family", ["gaussian", "gamma", "poisson", "bernoulli", "product"])
def test_clusters_of_other_families(family):
    rng = np.random.default_rng(7)
    base = model(rng, family)

    def near(law):
        described = law.parameters()
        if "families" in described:
            return type(law)([near(part) for part in law.families])
        return type(law)(**{key: v * (1 + 1e-4 * rng.uniform(-1, 1, v.shape)) for key, v in described.items()})

    ms = [hd.Model(base.initial, base.transition, near(base.emission)) for _ in range(8)]
    assert worst(hd.pairwise_kl(ms, 100), one_by_one(joint(100), ms)) < 1e-11


def with_zeros():
    """Models with holes in every part; the last cannot reach its second state at all."""
    rows, full = [[0.5, 0.5], [0.25, 0.75]], hd.Categorical([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
    return [
        hd.Model([0.5, 0.5], rows, full),
        hd.Model([1.0, 0.0], rows, full),
        hd.Model([0.5, 0.5], [[1.0, 0.0], [0.25, 0.75]], full),
        hd.Model([0.5, 0.5], rows, hd.Categorical([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])),
        hd.Model([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], hd.Categorical([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])),
    ]


@pytest.mark.parametrize("tree", [hd.Tree.chain(1), hd.Tree.chain(2), hd.Tree.chain(40), hd.Tree([-1, 0, 0, 1])])
def test_missing_support_is_infinite(tree):
    ms = with_zeros()
    expected = one_by_one(joint(tree), ms)
    assert np.isinf(expected).any()
    assert np.isfinite(expected[4]).any()
    assert worst(hd.pairwise_kl(ms, tree), expected) < 1e-11
    assert worst(hd.pairwise_kl(ms, tree, symmetric=True), expected + expected.T) < 1e-11


def test_a_place_too_rare_for_doubles_is_still_reached():
    rare, step = 1e-100, np.eye(6, k=1)
    step[-1, -1] = 1.0
    p_rows = (1 - rare) * np.eye(6) + rare * step
    law = np.full((6, 2), 0.5)
    sharp = law.copy()
    sharp[5] = [1.0, 0.0]
    p = hd.Model(np.eye(6)[0], p_rows, hd.Categorical(law))
    q = hd.Model(np.eye(6)[0], p_rows, hd.Categorical(sharp))
    expected = one_by_one(joint(7), [p, q])
    assert np.isinf(expected[0, 1])
    assert worst(hd.pairwise_kl([p, q], 7), expected) == 0


def test_zero_rates_and_counts():
    ms = [hd.Model([0.5, 0.5], [[0.5, 0.5]] * 2, hd.Poisson(rate)) for rate in ([0, 1], [2, 1], [0, 0], [1, 3])]
    expected = one_by_one(joint(9), ms)
    assert np.isinf(expected).any()
    assert worst(hd.pairwise_kl(ms, 9), expected) < 1e-11


def test_binomials_of_other_trials():
    law = [[0.5, 0.5]] * 2
    ms = [hd.Model([0.5, 0.5], law, hd.Binomial([n, n], [0.25, p])) for n, p in ((4, 0.5), (4, 0.75), (6, 0.5))]
    found = hd.pairwise_kl(ms, 9)
    assert worst(found, one_by_one(joint(9), ms)) < 1e-11
    assert any("every pair computed directly" in note for note in found.notes)


def test_large_means_do_not_spoil_small_divergences():
    ms = [hd.Model([1.0], [[1.0]], hd.Gaussian([1e6 + x], std=[1.0])) for x in (0, 1e-3, 1, 1e3)]
    assert worst(hd.pairwise_kl(ms, 20), one_by_one(joint(20), ms)) < 1e-11


def test_levels_may_count_otherwise():
    rng = np.random.default_rng(8)
    tree = hd.Tree.regular(2, 4)
    ms = [model(rng, "gaussian", groups=4) for _ in range(3)]
    counts = tree.level_counts()
    assert worst(hd.pairwise_kl(ms, tree, level_weights=counts), one_by_one(joint(tree), ms)) < 1e-11

    def by_level(p, q):
        nodes = hd.joint_kl(p, q, tree).by_node
        return sum(nodes[tree.level == level].sum() / counts[level] for level in range(4))

    assert worst(hd.pairwise_kl(ms, tree, level_weights="equal"), one_by_one(by_level, ms)) < 1e-11
    listed = hd.Tree(tree.parent, tree.level)
    assert worst(hd.pairwise_kl(ms, listed, level_weights="equal"), one_by_one(by_level, ms)) < 1e-11
    free = [model(rng, "poisson") for _ in range(3)]
    assert worst(hd.pairwise_kl(free, tree, level_weights="equal"), one_by_one(by_level, free)) < 1e-11


def test_it_is_used_like_an_array():
    rng = np.random.default_rng(9)
    ms = [model(rng, "poisson", name=f"m{i}") for i in range(3)]
    found = hd.pairwise_kl(ms, 10)
    plain = np.asarray(found)
    assert found.shape == (3, 3)
    assert len(found) == 3
    assert found[0, 1] == plain[0, 1]
    assert (found[1] == plain[1]).all()
    assert (found >= 0).all()
    assert (found - plain == 0).all()
    assert (2 * found + 1 == 2 * plain + 1).all()
    assert (found / 2 <= found).all()
    assert (found.T == plain.T).all()
    assert found.max() == plain.max()
    assert np.array(found, dtype=np.float32).dtype == np.float32
    assert np.allclose(found, plain)
    assert found.names == ("m0", "m1", "m2")
    assert repr(found) == "3 x 3 joint divergences in nats, D(row || column), exact"
    assert repr(hd.pairwise_kl(ms, 10, symmetric=True)).startswith("3 x 3 joint divergences in nats, Jeffreys")


def test_what_is_refused():
    rng = np.random.default_rng(10)
    two, three = model(rng, k=2), model(rng, k=3, name="big")
    ends = model(rng, k=2, end=True)
    for arguments, options, error, sentence in (
        (
            ([two, three], 5),
            {},
            IncompatibleModels,
            "models[1] 'big': has 3 states and models[0] has 2, so their joint",
        ),
        (([two], 5, [three]), {}, IncompatibleModels, "others[0] 'big': has 3 states"),
        (([two, ends], 5), {}, IncompatibleModels, "models[1]: has end probabilities; use tree=hd.UNTIL_END"),
        (([two], hd.UNTIL_END), {}, IncompatibleModels, "models[0]: has no end probabilities"),
        (([], 5), {}, InvalidModel, "models: at least one model is needed"),
        ((two, 5), {}, InvalidModel, "models: must be a list of models or a Collection, got Model"),
        (([two, 3], 5), {}, InvalidModel, "models[1]: model: must be a hidiv Model"),
        (
            ([model(rng, groups=3)], 5),
            {},
            IncompatibleModels,
            "models[0].transition: has 3 groups but the tree has none",
        ),
        (([two], 5), {"quantity": "all"}, HidivError, 'quantity: must be "joint", "aligned"'),
        (([two], 5), {"evidence": [1]}, HidivError, 'evidence: belongs to quantity="posterior"'),
        (([two], 5), {"samples": 5}, HidivError, 'samples: belongs to quantity="observed"'),
        (([two], 5), {"level_weights": [1, 2]}, HidivError, 'level_weights: must be "equal" or 5 numbers'),
        (([two], 5), {"level_weights": "even"}, HidivError, 'level_weights: must be "equal" or 5 numbers'),
        (([two], 5), {"executor": "threads"}, HidivError, 'executor: must be None, "serial", "processes" or a Dask'),
        (([two], 5), {"memory": 3}, HidivError, "memory: must be a number of bytes, at least 64, got 3"),
        (([two, two], hd.Tree.regular(2, 2000)), {}, OutOfRange, "value: is beyond the range of doubles"),
    ):
        with pytest.raises(error) as caught:
            hd.pairwise_kl(*arguments, **options)
        assert str(caught.value).startswith(sentence)
