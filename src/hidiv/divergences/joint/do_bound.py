"""Do's upper bound on the observed divergence (2003), by his own formulas (definitions (5.2) and (5.3)).

Term by term it is the joint divergence. It has its own code so that the paper's proposition can be tested.
"""

from __future__ import annotations

from math import isinf
from typing import Any

import numpy as np

from hidiv.divergences.infinite import infinite
from hidiv.divergences.joint.kl import too_large
from hidiv.divergences.joint.local_terms import Local, reached_terms
from hidiv.divergences.pair import Pair
from hidiv.divergences.result import Divergence
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.levels import by_level
from hidiv.recursions.powers import power, summed_powers
from hidiv.types import Array


def do_bound(p: Any, q: Any, tree: Tree | int) -> Divergence:
    """Do's upper bound on the observed divergence, which equals the joint one.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with equal numbers of states.
    tree : Tree or int
        The tree, or the length of a chain.

    Returns
    -------
    Divergence
        The bound, exact; its quantity is "joint". +inf where p reaches a place to which q gives no mass.

    Raises
    ------
    IncompatibleModels
        Where the models have different numbers of states, or do not belong on the tree.

    Notes
    -----
    Definitions (5.2) for a chain, KL(initial) + initial_p (sum_{t<N} T^(t-1) (d + e) + T^(N-1) e), and (5.3) for a
    tree, from the leaves up.

    References
    ----------
    M. N. Do, Fast approximation of Kullback-Leibler distance for dependence trees and hidden Markov models, IEEE Signal
    Processing Letters 10 (2003).

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    >>> hd.do_bound(p, q, 10)
    joint divergence D(p || q) on a chain of 10 nodes = 5.6628668946 nats, exact
    """
    return bound(Pair.on_tree(p, q, tree, by_states="joint"))


def bound(pair: Pair) -> Divergence:
    """Do's bound of a pair."""
    tree = pair.known_tree("Do's bound needs")
    notes = ["Do's bound is never below the observed divergence, and equals the joint one"]
    local, reasons = pair.once(reached_terms)
    if reasons:
        return infinite(pair, "joint", reasons, notes=notes)
    value = local.initial + float(pair.p.initial @ _at_root(pair.p, tree, local))
    return Divergence(value, "joint", subject=pair.subject, notes=notes)


def _at_root(p: Model, tree: Tree, local: Local) -> Array:
    """(K,): the bound given the state of the root."""
    homogeneous = len(local.rows) == len(local.states) == 1
    if homogeneous and (tree.is_chain or tree.children == 1):
        return _chain(p.transitions[0], local.rows[0], local.states[0], tree.depth)
    if tree.kind == "regular":
        return _regular(p, tree, local)
    return _listed(p, tree, local)


def _chain(transition: Array, rows: Array, states: Array, length: int) -> Array:
    """His equation (19): sum_{t=1}^{N-1} T^(t-1) (d + e) + T^(N-1) e."""
    return np.asarray(summed_powers(transition, rows + states, length - 1) + power(transition, length - 1) @ states)


def _regular(p: Model, tree: Tree, local: Local) -> Array:
    """His tree recursion where all children of a node are alike: bound = e + C (d + T bound below)."""
    if isinf(tree.size):
        too_large()
    bound = local.states[-1]
    for level in range(tree.depth - 1, 0, -1):
        d, transition = (table[level if len(table) > 1 else 0] for table in (local.rows, p.transitions))
        bound = local.states[level - 1 if len(local.states) > 1 else 0] + (tree.children or 1) * (
            d + transition @ bound
        )
    return np.asarray(bound)


def _listed(p: Model, tree: Tree, local: Local) -> Array:
    """His tree recursion on any tree: bound_u = e_u + sum over children c of (d_c + T_c bound_c)."""
    group = np.zeros(tree.n_nodes, dtype=np.int64) if tree.group is None else tree.group
    rows, states, transitions = (
        group if len(table) > 1 else np.zeros_like(group) for table in (local.rows, local.states, p.transitions)
    )
    bound = local.states[states]
    for nodes in reversed(by_level(tree.level)[1:]):
        nodes = nodes[np.argsort(tree.parent[nodes], kind="stable")]
        parents, starts = np.unique(tree.parent[nodes], return_index=True)
        below = local.rows[rows[nodes]] + np.einsum("nrs,ns->nr", p.transitions[transitions[nodes]], bound[nodes])
        bound[parents] += np.add.reduceat(below, starts, axis=0)
    return np.asarray(bound[0])
