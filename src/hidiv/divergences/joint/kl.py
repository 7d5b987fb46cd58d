"""The joint divergence of states and observations, exact on any tree (definitions (2.2), (3.1) and (3.2))."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf, isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.adapters.as_model import as_models
from hidiv.divergences.comparable import check_length, check_same_states
from hidiv.divergences.forest import Several, is_forest, over_forest, tree_alone
from hidiv.divergences.joint.components import component_notes, has_components
from hidiv.divergences.joint.local_terms import Local, local_divergences
from hidiv.divergences.joint.places import first_levels, first_places, infinite_places
from hidiv.divergences.joint.visits import Visits, by_group, expected_visits, tree_size
from hidiv.divergences.remedy import advised
from hidiv.divergences.result import Detail, Divergence, Parts
from hidiv.divergences.subject import subject
from hidiv.errors import IncompatibleModels, OutOfRange, refuse
from hidiv.models.groups import check_groups
from hidiv.models.model import Model
from hidiv.models.tree import Tree, as_tree
from hidiv.models.until_end import UntilEnd
from hidiv.recursions.gth import cesaro_law
from hidiv.recursions.inward import inward
from hidiv.recursions.state_laws import downward
from hidiv.types import Array

BY_NODE_LIMIT = 10**6  # nodes of a chain or regular tree that are listed for a profile


@advised
def joint_kl(
    p: Any,
    q: Any,
    tree: Tree | int | UntilEnd | Several,
    *,
    per_node: bool = False,
    per_tree: bool = False,
) -> Divergence:
    """D of the joint law of states and observations, exact (definitions (2.2), (3.1) and (3.2)).

    A chain or a regular tree costs O(log N) whatever its size; `per_node` divides by the number of nodes (by the
    expected length with UNTIL_END). A list of trees or lengths is a forest of independent trees, whose divergences add
    up; `per_tree` divides by their number, and `by_node` has their nodes one tree after the other. +inf where p reaches
    a place q gives no mass; `infinite` names it.

    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.9], [0.6, 0.4]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.7], [0.6, 0.4]]))
    >>> hd.joint_kl(p, q, 100)
    joint divergence D(p || q) on a chain of 100 nodes = 18.3736509774 nats, exact
    >>> hd.joint_kl(p, q, [100, 50, 50], per_tree=True)
    joint divergence D(p || q) on 3 independent trees with 200 nodes together = 12.1869482207 nats per tree, exact
    """
    p, q = as_models(p, q)
    if is_forest(tree):
        return over_forest(tree, lambda one: joint_kl(p, q, one), per_node=per_node, per_tree=per_tree)
    if per_tree:
        tree_alone()
    on = check_joint(p, q, tree)
    found = joint_of(p, q, on, per_node)
    return replace(found, notes=_notes(p, q, on, per_node)) if has_components(p, q) and not found.infinite else found


def joint_of(p: Model, q: Model, tree: Tree | UntilEnd, per_node: bool = False) -> Divergence:
    """The same for models and a tree that were checked, and without the notes on mixtures."""
    local = local_divergences(p, q)
    groups = len(local.rows), len(local.states)
    reasons: list[str] = []
    if not local.is_finite:
        places = first_places(p, tree, *groups)
        reasons, local = infinite_places(p, q, local, places), places.reached(local)
    parts = partial(joint_parts, p, tree, local, per_node)
    if reasons:
        value = inf
    elif max(groups) > 1 and isinstance(tree, Tree) and tree.kind != "regular":
        value = upward_value(p, tree, local) / (tree_size(tree) if per_node else 1.0)
    else:
        value = total(parts())
    return Divergence(
        value, "joint", infinite=reasons, per="node" if per_node else None, subject=subject(p, q, tree),
        detail=Detail(parts, partial(by_node, p, tree, local, per_node)),
    )  # fmt: skip


def _notes(p: Model, q: Model, tree: Tree | UntilEnd, per_node: bool) -> list[str]:
    """What a joint divergence of mixtures compares, and what is left without components."""
    local = local_divergences(p, q)
    if not local.is_finite:
        local = first_places(p, tree, len(local.rows), len(local.states)).reached(local)
    visits = expected_visits(p, tree, len(local.rows), len(local.states))
    return component_notes(p, q, local, visits, 1.0 if per_node else visits.n_nodes)


@advised
def joint_kl_rate(p: Any, q: Any) -> Divergence:
    """lim D_N / N of the joint divergence along a chain, exact for any chain (definitions (3.4)).

    Weighted by the long-run law of p's states; +inf if any place p reaches, on the way too, has no mass under q.

    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    >>> hd.joint_kl_rate(p, q)
    joint divergence D(p || q) rate = 0.568057850529 nats per step, exact
    """
    p, q = as_models(p, q)
    check_same_states(p, q, "joint")
    check_length(p, q, until_end=False)
    if p.n_groups > 1 or q.n_groups > 1:
        refuse(
            IncompatibleModels,
            "rate",
            "needs models with one group, the same at every step",
            f"{max(p.n_groups, q.n_groups)} groups",
            "use hd.joint_kl on a tree",
        )
    local = local_divergences(p, q)
    reasons: list[str] = []
    if not local.is_finite:
        places = first_levels(p, None)
        reasons, local = infinite_places(p, q, local, places), places.reached(local)
    law = cesaro_law(p.initial, p.transitions[0])[None, :]
    local, visits = Local(inf if isinf(local.initial) else 0.0, local.rows, local.states), Visits(1.0, 1.0, law, law)
    parts = weighted(local, visits, 1.0)
    return Divergence(
        inf if reasons else total(parts), "joint", infinite=reasons, per="step", subject=f"{subject(p, q)} rate",
        notes=[] if reasons else component_notes(p, q, local, visits, 1.0),
        detail=Detail(lambda: parts),
    )  # fmt: skip


def check_joint(p: Model, q: Model, tree: Any) -> Tree | UntilEnd:
    """Refuse what has no joint divergence; the tree as a Tree or UNTIL_END."""
    check_same_states(p, q, "joint")
    until_end = isinstance(tree, UntilEnd)
    check_length(p, q, until_end)
    if isinstance(tree, UntilEnd):
        return tree
    on = as_tree(tree)
    check_groups(p, on, "p")
    check_groups(q, on, "q")
    return on


def joint_parts(p: Model, tree: Tree | UntilEnd, local: Local, per_node: bool) -> Parts:
    """The divergence by initial law, transition rows and emission states."""
    visits = expected_visits(p, tree, len(local.rows), len(local.states))
    return weighted(local, visits, 1.0 if per_node else visits.n_nodes)


def weighted(local: Local, visits: Visits, scale: float) -> Parts:
    """Local divergences times expected visits; an infinite one stays so however rarely it is met."""
    if isinf(scale):
        too_large()
    with np.errstate(over="ignore", invalid="ignore"):
        rows, states = (
            np.where(np.isinf(table), inf, scale * (weights * table))
            for table, weights in ((local.rows, visits.rows), (local.states, visits.states))
        )
    initial = local.initial if isinf(local.initial) else scale * visits.root * local.initial
    return Parts(initial, *(table[0] if len(table) == 1 else table for table in (rows, states)))


def total(parts: Parts) -> float:
    """The parts together; finite parts whose sum no double holds are refused."""
    value = parts.initial + parts.transition + parts.emission
    return value if np.isfinite(value) else too_large()


def too_large() -> float:
    """Refuse a finite divergence that no double can hold."""
    refuse(OutOfRange, "value", "is beyond the range of doubles on a tree this large", remedy="ask for per_node=True")


def upward_value(p: Model, tree: Tree, local: Local) -> float:
    """Theorem 1 on a listed tree with groups: the inward quantities flow to the root."""
    quantities = inward(tree.parent, *inward_terms(p, tree, local), root_states(tree, local))
    return float(local.initial + p.initial @ quantities[0])


def root_states(tree: Tree, local: Local) -> Array:
    """(K,): the state divergences at the root."""
    return np.ascontiguousarray(local.states[tree.group[0] if len(local.states) > 1 and tree.group is not None else 0])


def inward_terms(p: Model, tree: Tree, local: Local) -> tuple[NDArray[np.int64], Array, Array]:
    """Group of each node, transition by group, and own(r) = d(r) + sum_s T(r, s) e(s) by group."""
    group = tree.group if tree.group is not None else np.zeros(tree.n_nodes, dtype=np.int64)
    groups = max(len(local.rows), len(local.states), len(p.transitions))
    transitions = by_group(p.transitions, groups)
    own = local.rows + np.einsum("grs,gs->gr", transitions, by_group(local.states, groups))
    if groups == 1:
        group = np.zeros_like(group)
    return group, transitions, np.ascontiguousarray(own)


def by_node(p: Model, tree: Tree | UntilEnd, local: Local, per_node: bool) -> Array | None:
    """(n,): root term and, below, the parent's law times the row divergence plus the own law times the state's."""
    if isinstance(tree, UntilEnd) or (tree.kind != "listed" and tree_size(tree) > BY_NODE_LIMIT):
        return None
    group = tree.group if tree.group is not None else np.zeros(tree.n_nodes, dtype=np.int64)
    laws = downward(p.initial, tree.parent, group if len(p.transitions) > 1 else np.zeros_like(group), p.transitions)
    states = _expected(laws, local.states[group if len(local.states) > 1 else np.zeros_like(group)])
    rows = _expected(laws[tree.parent[1:]], local.rows[group[1:] if len(local.rows) > 1 else np.zeros_like(group[1:])])
    profile = states
    profile[0] += local.initial
    profile[1:] += rows
    return profile / tree.n_nodes if per_node else profile


def _expected(laws: Array, terms: Array) -> Array:
    """sum_s law(s) term(s) for each node, where an infinite term counts only if the state has mass."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(laws == 0, 0.0, laws * terms).sum(axis=1))
