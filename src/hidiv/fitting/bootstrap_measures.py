"""Divergences for a bootstrap, which needs hundreds: quick, and the same for the same pair."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from hidiv.divergences.alignment.align import align
from hidiv.divergences.joint.kl import joint_kl
from hidiv.divergences.observed.kl import observed_kl
from hidiv.divergences.observed.support.any_family import forbidden
from hidiv.errors import HidivError, refuse
from hidiv.fitting.em_steps import draft_of, expectation, problem_of
from hidiv.fitting.evidence_forest import EvidenceForest
from hidiv.fitting.simulation import redrawn
from hidiv.models.evidence import Evidence
from hidiv.models.model import Model
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UNTIL_END, UntilEnd
from hidiv.types import Array

Measure = Callable[[Any, Any], float]

FAR = -500.0  # log-ratio below which the term of a draw is 2 to the last digit
SEED = 0  # the same for every observed divergence, so that errors of the draws are much the same for all pairs
NODES = 20_000  # drawn for one observed divergence, about
FEWEST, MOST = 200, 1000  # trees drawn
LARGEST = 10**6  # nodes up to which a tree is drawn; larger ones are regular, with faster methods
RTOL = 1e-2  # of the value itself; takes as long as a few replicates
SECONDS = 5.0


def measures(divergence: str | Measure, on: Any, known: EvidenceForest, model: Model) -> tuple[Measure, Measure]:
    """Two functions of two models, for the value and for the replicates; picklable, for executors with processes.

    They differ for "observed" only, whose value is estimated more accurately than the replicates.
    """
    if callable(divergence):
        given = partial(_given, divergence)
        return given, given
    if divergence not in ("observed", "aligned", "joint"):
        refuse(
            HidivError, "divergence", 'must be "observed", "aligned", "joint" or a function of two models', divergence
        )
    tree = on
    if tree is None:
        tree = UNTIL_END if model.end is not None else first_tree(known)
    if divergence == "observed":
        if not model.n_features:
            remedy = 'give divergence="joint" or "aligned"'
            refuse(HidivError, "divergence", "models without observations have no observed divergence", remedy=remedy)
        place = tree if isinstance(tree, UntilEnd) else as_tree(tree)
        accurate = partial(_observed, tree=place)
        if isinstance(place, Tree) and place.n_nodes > LARGEST:
            return accurate, accurate
        return accurate, partial(drawn_observed, tree=place, shape=many(place, model.n_features))
    measure = partial(_joint if divergence == "joint" else _aligned, tree=tree)
    return measure, measure


def first_tree(known: EvidenceForest) -> Tree:
    """The first tree of a forest."""
    n = int(known.start[1])
    group = None if known.group is None else known.group[:n]
    return Tree.chain(n, group) if known.parent is None else Tree(known.parent[:n], group)


def _given(function: Measure, p: Model, q: Model) -> float:
    """What a function of the caller says, which may be infinite, but is a number."""
    found: Any = function(p, q)
    try:
        value = float(found)
    except (TypeError, ValueError):
        value = np.nan
    if np.isnan(value):
        refuse(HidivError, "divergence", "the function must give a number for every pair of models", found)
    return value


def _joint(p: Model, q: Model, tree: Any) -> float:
    """D(p || q) of states as labelled."""
    return float(joint_kl(p, q, tree))


def _aligned(p: Model, q: Model, tree: Any) -> float:
    """D(p || q) under the best relabelling of q."""
    return float(align(p, q, tree).value)


def _observed(p: Model, q: Model, tree: Any) -> float:
    """D(p || q) of the observations, for the value itself."""
    return float(observed_kl(p, q, tree, rtol=RTOL, seed=SEED, max_seconds=SECONDS))


def drawn_observed(p: Model, q: Model, tree: Tree | UntilEnd, shape: EvidenceForest) -> float:
    """The observed divergence from draws of both models, one of each for every tree of `shape` (`many`).

    With r = log p/q and m the mean law of the two, D is the mean over m of (p r - p + q) / m: never negative, small of
    the second order where the models are near, without heavy tails, and right where either model excludes what the
    other shows.
    """
    if isinstance(tree, Tree) and forbidden(p, q, tree) is not None:
        return np.inf
    rng = np.random.default_rng(SEED)
    ratio = np.concatenate([_log_ratio(p, q, redrawn(model, shape, rng)) for model in (p, q)])
    near = np.maximum(ratio, FAR)
    tilt = np.tanh(0.5 * near)  # (p - q) / (p + q)
    return float(((near - 2.0 * tilt) + tilt * near).mean())


def _log_ratio(p: Model, q: Model, drawn: EvidenceForest) -> Array:
    """(m,): log p(x)/q(x) of every tree of a forest."""
    one, two = (expectation(draft_of(model), problem_of(drawn, model), 1).log_likelihoods for model in (p, q))
    return np.asarray(one - two)


def many(tree: Tree | UntilEnd, columns: int) -> EvidenceForest:
    """A forest of many trees of one shape with all nodes seen; for chains that end the lengths are drawn later."""
    if isinstance(tree, UntilEnd):
        count, n = MOST // 2, 1
    else:
        n = tree.n_nodes
        count = int(np.clip(NODES // n, FEWEST, MOST)) // 2
    start = n * np.arange(count + 1)
    parent = group = None
    if isinstance(tree, Tree) and not tree.is_chain:
        parent = np.where(tree.parent < 0, -1, tree.parent + start[:-1, None]).ravel()
    if isinstance(tree, Tree) and tree.group is not None:
        group = np.tile(tree.group, count)
    return EvidenceForest(start, parent, group, Evidence(np.zeros((n * count, columns))))
