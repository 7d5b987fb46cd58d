"""The paper's inward quantities K_{ua -> u}: the divergence of a subtree given the state above it (Theorem 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.adapters.as_model import as_models
from hidiv.divergences.joint.kl import inward_terms, root_states, too_large
from hidiv.divergences.joint.local_terms import Local, local_terms
from hidiv.divergences.pair import Pair
from hidiv.divergences.posterior.kl import check_posterior, pair_tables, refuse_if_impossible
from hidiv.inference.rows import evidence_and_tree
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.inward import inward as inward_recursion
from hidiv.recursions.inward_given import inward_given
from hidiv.recursions.levels import by_level
from hidiv.recursions.posterior_sweep import posterior
from hidiv.types import Array


def inward(p: Any, q: Any, tree: Tree | int, evidence: Any = None) -> Array:
    """Inward quantities K_u of the paper: the divergence of each subtree given the state of its parent.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with equal numbers of states.
    tree : Tree or int
        The tree, or the length of a chain.
    evidence : Evidence or array, optional
        What is known. The quantities are then those of everything that is not, and 0 for states that the evidence
        below rules out under p.

    Returns
    -------
    array of shape (n, K)
        Row u > 0 is K_u as a function of the parent's state; row 0 is r_0(s) + sum_c K_c(s). One row a level on a
        regular tree without evidence. +inf where, from that state on, p reaches a place without mass under q.

    Raises
    ------
    IncompatibleModels
        Where the models have different numbers of states, or do not belong on the tree.
    ImpossibleEvidence
        Where either model cannot produce the evidence.

    Notes
    -----
    Definitions (2.2). The joint divergence is KL(initial) + initial_p . row 0.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    >>> hd.inward(p, q, 3).round(4)
    array([[1.4701, 1.8481],
           [1.0741, 1.2602],
           [0.5316, 0.641 ]])
    """
    if evidence is not None:
        return _given(*as_models(p, q), tree, evidence)
    pair = Pair.on_tree(p, q, tree, by_states="joint")
    place = pair.known_tree("inward quantities need")
    local = pair.once(local_terms)
    finite = Local(0.0, *(np.where(np.isinf(table), 0.0, table) for table in (local.rows, local.states)))
    if place.kind == "regular":
        quantities = _regular(pair.p, place, finite)
    else:
        quantities = inward_recursion(place.parent, *inward_terms(pair.p, place, finite), root_states(place, finite))
    if not local.is_finite:
        quantities = np.where(_infinite(pair.p, place, local), np.inf, quantities)
    return quantities


def _given(p: Model, q: Model, tree: Tree | int, evidence: Any) -> Array:
    """(n, K): the quantities given evidence, node by node on any tree."""
    check_posterior(p, q, "unobserved", None)
    tables, layout = pair_tables(p, q, *evidence_and_tree(evidence, tree), "unobserved", None)
    refuse_if_impossible(p, q, posterior(tables, layout))
    return inward_given(tables, layout)


def _regular(p: Model, tree: Tree, local: Local) -> Array:
    """(depth, K): one row a level, children counted."""
    rows = np.zeros((tree.depth, p.n_states))
    below = np.zeros(p.n_states)
    for level in range(tree.depth - 1, -1, -1):
        d, e, transition = (
            table[level if len(table) > 1 else 0] for table in (local.rows, local.states, p.transitions)
        )
        with np.errstate(over="ignore", invalid="ignore"):
            rows[level] = e + below if level == 0 else d + transition @ (e + below)
            below = (tree.children or 1) * rows[level]
        if not np.isfinite(rows[level]).all():
            too_large()
    return rows


def _infinite(p: Model, tree: Tree, local: Local) -> NDArray[np.bool_]:
    """Which inward quantities are infinite: the same recursion in booleans."""
    regular = tree.kind == "regular"
    parent = np.arange(-1, tree.depth - 1) if regular else tree.parent
    group = (
        np.arange(tree.depth)
        if regular
        else tree.group
        if tree.group is not None
        else np.zeros(len(parent), dtype=np.int64)
    )
    d, e, allowed = (
        table[group if len(table) > 1 else np.zeros_like(group)]
        for table in (np.isinf(local.rows), np.isinf(local.states), p.transitions > 0)
    )
    infinite = np.zeros((len(parent), p.n_states), dtype=np.bool_)
    below = np.array(e)
    for nodes in reversed(by_level(np.arange(tree.depth) if regular else tree.level)[1:]):
        infinite[nodes] = d[nodes] | (allowed[nodes] & below[nodes][:, None, :]).any(axis=2)
        np.logical_or.at(below, parent[nodes], infinite[nodes])
    infinite[0] = below[0]
    return infinite
