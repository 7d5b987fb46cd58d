"""Do's upper bound on the observed divergence (2003), by his own formulas (definitions (5.2) and (5.3)).

Term by term it is the joint divergence; it is written apart so that the paper's proposition can be tested.
"""

from __future__ import annotations

from math import inf, isinf
from typing import Any

import numpy as np

from hidiv.adapters.as_model import as_models
from hidiv.divergences.joint.kl import check_joint, too_large
from hidiv.divergences.joint.local_terms import Local, local_divergences
from hidiv.divergences.joint.places import first_places, infinite_places
from hidiv.divergences.joint.visits import tree_size
from hidiv.divergences.remedy import advised
from hidiv.divergences.result import Divergence
from hidiv.divergences.subject import subject
from hidiv.errors import IncompatibleModels, refuse
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.levels import by_level
from hidiv.recursions.powers import power, summed_powers
from hidiv.types import Array


@advised
def do_bound(p: Any, q: Any, tree: Tree | int) -> Divergence:
    """Do's bound: an upper bound on the observed divergence that equals the joint one.

    Chain: KL(initial) + initial_p (sum_{t<N} T^(t-1) (d + e) + T^(N-1) e); tree: bounds flow from the leaves
    (definitions (5.2) and (5.3)). +inf where p reaches what q lacks.

    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    >>> hd.do_bound(p, q, 10)
    joint divergence D(p || q) on a chain of 10 nodes = 5.6628668946 nats, exact
    """
    p, q = as_models(p, q)
    checked = check_joint(p, q, tree)
    if not isinstance(checked, Tree):
        refuse(IncompatibleModels, "tree", "Do's bound needs a tree of known size", "UNTIL_END")
    local = local_divergences(p, q)
    reasons: list[str] = []
    if not local.is_finite:
        places = first_places(p, checked, len(local.rows), len(local.states))
        reasons, local = infinite_places(p, q, local, places), places.reached(local)
    value = inf if reasons else local.initial + float(p.initial @ _at_root(p, checked, local))
    return Divergence(
        value, "joint", infinite=reasons, subject=subject(p, q, checked),
        notes=["Do's bound: an upper bound on the observed divergence, equal to the joint one"],
    )  # fmt: skip


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
    if isinf(tree_size(tree)):
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
