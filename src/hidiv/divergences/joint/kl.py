"""The joint divergence of states and observations, exact on any tree (definitions (2.2), (3.1) and (3.2))."""

from __future__ import annotations

from functools import partial
from math import inf, isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.forest import over_forest, tree_alone
from hidiv.divergences.infinite import infinite
from hidiv.divergences.joint.local_terms import Local, reached_terms
from hidiv.divergences.joint.visits import Visits, expected_visits, visits_of
from hidiv.divergences.pair import Initial, Pair, Several, is_forest
from hidiv.divergences.result import Detail, Divergence, Parts
from hidiv.emissions.registry import kl_bounds
from hidiv.errors import OutOfRange, refuse
from hidiv.models.model import Model, by_group
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.recursions.inward import inward
from hidiv.recursions.state_laws import downward
from hidiv.types import Array

BY_NODE_LIMIT = 10**6  # nodes of a chain or regular tree that are listed for a profile


def joint_kl(
    p: Any,
    q: Any,
    tree: Tree | int | UntilEnd | Several,
    *,
    per_node: bool = False,
    per_tree: bool = False,
    initial: Initial = True,
) -> Divergence:
    """Joint divergence of states and observations, exact on any tree.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with equal numbers of states; states are paired by their labels.
    tree : Tree, int, UNTIL_END or list
        The tree, or the length of a chain; `hd.UNTIL_END` for models with end probabilities. A list of trees or
        lengths is a forest of independent trees, whose divergences add up.
    per_node : bool, default False
        Divide by the number of nodes; with UNTIL_END by the expected length.
    per_tree : bool, default False
        Divide by the number of trees of a forest.
    initial : bool or "stationary", default True
        Which laws of the first state are compared: those of the models; both stationary; with False q starts as p
        does, which leaves the initial laws out.

    Returns
    -------
    Divergence
        Exact. `.parts` splits it into initial law, transition rows and emission states; `.by_node` has the share of
        each node, those of a forest one tree after the other. +inf where p reaches a place to which q gives no mass;
        `.infinite` names it.

    Raises
    ------
    IncompatibleModels
        Where the models have different numbers of states, or do not belong on the tree.
    OutOfRange
        Where the value is finite and no double can hold it.

    Notes
    -----
    Definitions (2.2), (3.1), (3.2) and (3.3), and (3.5) with UNTIL_END. A chain or a regular tree costs O(log N)
    whatever its size. Where emissions are mixtures, the component is part of the hidden state; `.notes` then bounds
    the divergence without it.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.9], [0.6, 0.4]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.7], [0.6, 0.4]]))
    >>> hd.joint_kl(p, q, 100)
    joint divergence D(p || q) on a chain of 100 nodes = 18.3736509774 nats, exact
    >>> hd.joint_kl(p, q, [100, 50, 50], per_tree=True)
    joint divergence D(p || q) on 3 independent trees with 200 nodes together = 12.1869482207 nats per tree, exact
    """
    if is_forest(tree):
        models = Pair.models(p, q, by_states="joint", initial=initial)
        return over_forest(tree, lambda one: joint(models.on(one)), per_node=per_node, per_tree=per_tree)
    if per_tree:
        tree_alone()
    pair = Pair.on_tree(p, q, tree, by_states="joint", initial=initial)
    return joint_per_node(pair) if per_node else joint(pair)


def joint_kl_rate(p: Any, q: Any) -> Divergence:
    """Joint divergence per step along an endless chain, exact.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with equal numbers of states, one group and no end probabilities.

    Returns
    -------
    Divergence
        The limit of D_N / N, in nats per step. +inf if any place that p reaches, on the way too, has no mass under q.

    Raises
    ------
    IncompatibleModels
        Where the models have different numbers of states, several groups or end probabilities.

    Notes
    -----
    Definitions (3.4): the local terms weighted by the long-run law of p's states. The chain may be periodic or
    reducible.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
    >>> q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    >>> hd.joint_kl_rate(p, q)
    joint divergence D(p || q) rate = 0.568057850529 nats per step, exact
    """
    return joint(Pair.of(p, q, None, by_states="joint"))


def joint(pair: Pair) -> Divergence:
    """The joint divergence of a pair; its rate on an endless chain."""
    return _joint(pair, per_node=False)


def joint_per_node(pair: Pair) -> Divergence:
    """The joint divergence of a pair divided by the number of nodes."""
    return _joint(pair, per_node=True)


def _joint(pair: Pair, per_node: bool) -> Divergence:
    """With its parts and profile, computed when they are asked for."""
    local, reasons = pair.once(reached_terms)
    subject, unit = pair.subject_and_unit()
    fields: dict[str, Any] = {
        "per": "node" if per_node else unit,
        "subject": subject,
        "detail": Detail(
            partial(_parts, pair.p, pair.tree, local, per_node), partial(_by_node, pair.p, pair.tree, local, per_node)
        ),
    }
    if reasons:
        return infinite(pair, "joint", reasons, **fields)
    return Divergence(joint_value(pair, per_node), "joint", notes=component_notes(pair, per_node), **fields)


def joint_value(pair: Pair, per_node: bool) -> float:
    """The number alone, without reasons and notes; +inf where p reaches a place without mass under q."""
    local, reasons = pair.once(reached_terms)
    if reasons:
        return inf
    if max(len(local.rows), len(local.states)) > 1 and isinstance(pair.tree, Tree) and pair.tree.kind != "regular":
        return _upward_value(pair.p, pair.tree, local) / (pair.tree.size if per_node else 1.0)
    parts = joint_parts(pair, per_node)
    value = parts.initial + parts.transition + parts.emission
    return value if np.isfinite(value) else too_large()


def joint_parts(pair: Pair, per_node: bool) -> Parts:
    """The divergence by initial law, transition rows and emission states."""
    return weighted(pair.once(reached_terms).local, pair.once(visits_of), per_node)


def _parts(p: Model, tree: Tree | UntilEnd | None, local: Local, per_node: bool) -> Parts:
    """The same from what a result keeps of its pair: one that kept all of it would hold on to every alignment."""
    return weighted(local, expected_visits(p, tree, len(local.rows), len(local.states)), per_node)


def weighted(local: Local, visits: Visits, per_node: bool) -> Parts:
    """Local divergences times expected visits; an infinite one stays so however rarely it is met."""
    scale = 1.0 if per_node else visits.n_nodes
    if isinf(scale):
        too_large()
    with np.errstate(over="ignore", invalid="ignore"):
        rows, states = (
            np.where(np.isinf(table), inf, scale * (weights * table))
            for table, weights in ((local.rows, visits.rows), (local.states, visits.states))
        )
    initial = local.initial if isinf(local.initial) else scale * visits.root * local.initial
    return Parts(initial, *(table[0] if len(table) == 1 else table for table in (rows, states)))


def too_large() -> float:
    """Refuse a finite divergence that no double can hold."""
    refuse(OutOfRange, "value", "is beyond the range of doubles on a tree this large", remedy="ask for per_node=True")


def _upward_value(p: Model, tree: Tree, local: Local) -> float:
    """The value on a listed tree with groups, by the inward quantities of Theorem 1."""
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


def _by_node(p: Model, tree: Tree | UntilEnd | None, local: Local, per_node: bool) -> Array | None:
    """(n,): the share of each node, or None where nodes are not listed.

    The root's is the initial term; any other node has the parent's law times the row terms. Both have the node's own
    law times the state terms besides.
    """
    if tree is None or isinstance(tree, UntilEnd) or (tree.kind != "listed" and tree.size > BY_NODE_LIMIT):
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


def component_notes(pair: Pair, per_node: bool) -> list[str]:
    """Notes of a finite joint divergence: what is compared, and bounds without components; none without mixtures."""
    made_of_families = [f for model in (pair.p, pair.q) for f in model.emissions if f.nested is not None]
    if not any(family.complete() is not family for family in made_of_families):
        return []
    lower, upper = _without_components(pair, per_node)
    return [
        "divergence of states, components and observations: the component of a mixture is part of the hidden state, "
        "paired by place",
        f"of states and observations alone it is between {lower:.12g} and {upper:.12g} nats, certified",
    ]


def _without_components(pair: Pair, per_node: bool) -> tuple[float, float]:
    """Bounds on the divergence of states and observations alone, that of the mixtures themselves."""
    local, visits = pair.once(reached_terms).local, pair.once(visits_of)
    lower, upper = np.zeros((2, *local.states.shape))
    for g, (a, b) in enumerate(pair.families()):
        lower[g], upper[g] = kl_bounds(a, b)
    rest = visits.root * local.initial + float((visits.rows * local.rows).sum())
    scale = 1.0 if per_node else visits.n_nodes
    with np.errstate(invalid="ignore"):
        below, above = (
            scale * (rest + float(np.where(visits.states > 0, visits.states * e, 0.0).sum())) for e in (lower, upper)
        )
    return below, above
