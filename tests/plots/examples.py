"""Results to draw: the paper's chains and trees, random models, a matrix."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

import numpy as np
from matplotlib.axes import Axes

import hidiv as hd

TREE = hd.Tree.regular(2, 3)
X = np.array(([0] * 10 + [1] * 10 + [2] * 10) * 4)[:100]
MATRIX = np.array([[0.0, 1.0, 8.0, 6.0], [2.0, 0.0, 7.0, 9.0], [5.0, 9.0, 0.0, 3.0], [9.0, 8.0, 1.0, 0.0]])
HELD = hd.PairwiseMatrix(MATRIX, "joint", "exact", False)
LINKAGE = np.array([[0.0, 1.0, 1.5, 2.0], [2.0, 3.0, 2.0, 2.0], [5.0, 4.0, 7.6, 4.0]])  # the second pair comes first


def pair(kind: str) -> tuple[hd.Model, hd.Model]:
    """The paper's two "chain" or "tree" models."""
    p, q = (
        hd.Model.from_dict(json.loads((files("hidiv.cli") / "models" / f"{kind}_{side}.json").read_text()))
        for side in "pq"
    )
    return p, q


def drawn(n_states: int, seed: int) -> hd.Model:
    """A model with random rows."""
    rng = np.random.default_rng(seed)
    emission = hd.Categorical(rng.dirichlet(np.ones(5), n_states))
    return hd.Model(np.full(n_states, 1 / n_states), rng.dirichlet(np.ones(n_states), n_states), emission)


@cache
def gallery() -> dict[str, Axes]:
    """One picture of every kind."""
    p, q = pair("chain")
    left, right = pair("tree")
    joint, trees = hd.joint_kl(p, q, 10), hd.joint_kl(left, right, TREE)
    wide = drawn(15, 1), drawn(15, 2)
    lengths = [5, 20, 60]
    series = {
        "joint": [hd.joint_kl(p, q, n) for n in lengths],
        "observed": [hd.observed_kl(p, q, n) for n in lengths],
        "joint by Monte Carlo": [hd.montecarlo(p, q, n, samples=200, seed=n) for n in lengths],
    }
    bushy, broad = hd.Tree.regular(3, 5), hd.Tree.regular(3, 7)
    plots = hd.plots
    return {
        "parts": plots.parts(joint),
        "parts by group": plots.parts(trees),
        "many parts": plots.parts(hd.joint_kl(*wide, 50), most=10),
        "transitions": plots.differences(p, q, joint),
        "symbols": plots.differences(p, q, joint, part="emission"),
        "Gaussians": plots.differences(left, right, trees, part="emission", group=1),
        "many states": plots.differences(*wide, hd.joint_kl(*wide, 50)),
        "chain": plots.profile(joint),
        "long chain": plots.profile(hd.posterior_kl(p, q, X)),
        "very long chain": plots.profile(hd.joint_kl(p, q, 5000)),
        "small tree": plots.profile(trees, TREE),
        "tree": plots.profile(hd.joint_kl(p, q, bushy), bushy),
        "large tree": plots.profile(hd.joint_kl(p, q, broad), broad),
        "lengths": plots.over_length(lengths, series, rate=[hd.joint_kl_rate(p, q), hd.observed_kl_rate(p, q)]),
        "convergence": plots.convergence(
            [hd.montecarlo(p, q, 10, samples=n, seed=n) for n in (100, 1000)], [joint, hd.observed_kl(p, q, 10)]
        ),
        "influence": plots.influence(hd.influence(p, X), name="theta_1"),
        "matrix": plots.pairwise(HELD, names=["a", "b", "c", "d"]),
        "dendrogram": plots.pairwise(HELD, names=["a", "b", "c", "d"], linkage=LINKAGE),
        "equivalence": plots.equivalence(hd.equivalent(p, q)),
        "minimal": plots.minimal(hd.minimal(drawn(3, 1))),
        "reduction": plots.reduction(hd.reduce(p, nodes=200, seed=1)),
        "agreement": plots.agreement(hd.agreement([p, q, p.relabel([1, 0])], nodes=400, seed=1)),
        "matching": plots.matching(hd.match([drawn(3, 1), drawn(3, 2), drawn(2, 3)])),
        "standard errors": plots.standard_errors(
            hd.standard_errors(hd.fit(X[:60], None, 2, "categorical", n_init=1, max_iter=9, seed=0))
        ),
        "emission errors": plots.standard_errors(
            hd.standard_errors(hd.fit(X[:60], None, 1, "categorical", n_init=1, max_iter=9, seed=0)), part="emission"
        ),
        "score": plots.score(hd.score(p, X)),
        "interval": plots.interval(
            hd.divergence_interval(p, q, [X[:30]] * 4, [X[40:60]] * 4, on=10, method="delta", seed=1)
        ),
        "bootstrap": plots.interval(
            hd.bootstrap_divergence(p, q, [X[:30]] * 4, [X[40:60]] * 4, on=4, replicates=9, null=False, seed=1)
        ),
        "choice": plots.choice(hd.choose(X[:60], None, (1, 2), "categorical", n_init=1, max_iter=9, seed=0)),
    }
