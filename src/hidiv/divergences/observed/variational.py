"""A deterministic approximation of the observed divergence on any tree, any numbers of states (definitions (5.7)).

V_u(a, b) stands for the divergence of the subtree of u given state a of p and state b of q at u; what the states of the
children mix is approximated as for mixtures, by comparing every pair of states. It is no bound.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np

from hidiv.divergences.observed.interval import NotApplicable
from hidiv.divergences.result import Divergence
from hidiv.errors import OutOfRange, refuse
from hidiv.models.tree import Tree
from hidiv.recursions.levels import by_level
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair
    from hidiv.emissions.family import Family
    from hidiv.models.model import Model


SETTLED = 1e-15  # relative change of the increment below which a long chain only adds the same again

PATIENCE = 100_000  # levels of a chain that goes on changing, as one with a period does


def applies(pair: Pair) -> str | None:
    """Any tree of known size; families that have no divergence from each other are refused by name."""
    return None


def run(pair: Pair, budget: Budget) -> Divergence:
    """The approximation with a note that it is no bound, and that it fails where it is negative."""
    assert isinstance(pair.tree, Tree)
    value = variational(pair.p, pair.q, pair.tree)
    if not isfinite(value):
        if isfinite(_at_root(pair.p, pair.q, pair.tree, unexplained(pair.p, pair.q), unexplained(pair.p, pair.p))):
            refuse(OutOfRange, "q", "is so far from p that no double holds the approximation")
        value = inf  # also where two infinities were subtracted on the way
    notes = ["variational recursion: deterministic, no bound"]
    if value < 0:
        notes.append("below 0, where no divergence can be: the approximation fails for this pair")
    return Divergence(
        value,
        "observed",
        "approximation",
        infinite=["p has observations that no state of q explains"] if value == inf else [],
        notes=notes,
        subject=pair.subject,
    )


def variational(p: Model, q: Model, tree: Tree) -> float:
    """The approximation at the root."""
    return _at_root(p, q, tree, emission_pairs(p, q), emission_pairs(p, p))


def _at_root(p: Model, q: Model, tree: Tree, pairs: Array, selves: Array) -> float:
    is_listed = tree.kind == "listed" or (tree.kind == "chain" and tree.group is not None)
    with np.errstate(over="ignore"):
        at_root, at_root_self = (_listed if is_listed else _by_level)(p, q, tree, pairs, selves)
    return float(mixed(p.initial, p.initial, at_root_self)) * -1.0 + float(mixed(p.initial, q.initial, at_root))


def emission_pairs(p: Model, q: Model) -> Array:
    """(G or 1, K_p, K_q): KL of every emission of p from every emission of q."""
    return _tables(p, q, lambda a, b: a.kl(b))


def unexplained(p: Model, q: Model) -> Array:
    """(G or 1, K_p, K_q): +inf where an emission of p shows what one of q cannot, 0 elsewhere, however far they are."""
    return _tables(p, q, lambda a, b: np.array([0.0 if gap is None else inf for gap in a.gaps(b)]))


def _tables(p: Model, q: Model, compare: Callable[[Family, Family], Array]) -> Array:
    left, right = (grid.ravel() for grid in np.indices((p.n_states, q.n_states)))
    tables = []
    for g in range(max(len(p.emissions), len(q.emissions))):
        a, b = (model.emissions[min(g, len(model.emissions) - 1)] for model in (p, q))
        tables.append(compare(a.take(left), b.take(right)).reshape(p.n_states, q.n_states))
    return np.stack(tables)


def mixed(row_p: Array, row_q: Array, v: Array) -> Array:
    """-sum_a row_p(a) log sum_b row_q(b) exp(-v(a, b)): what mixing leaves of v; row_p (..., K_p), row_q (..., K_q)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        reached = np.where(row_q[..., None, :] > 0, v, np.inf)
        least = reached.min(axis=-1, keepdims=True)
        shift = np.where(np.isfinite(least), least, 0.0)
        inner = shift[..., 0] - np.log((row_q[..., None, :] * np.exp(shift - reached)).sum(axis=-1))
        return np.asarray(np.where(row_p > 0, row_p * inner, 0.0).sum(axis=-1))


def _messages(transition_p: Array, transition_q: Array, v: Array, v_self: Array) -> tuple[Array, Array]:
    """M(a, b) of p against q and of p against itself, for stacks of transitions (..., K, K) and v (..., K_p, K_q)."""
    rows_p, rows_q = transition_p[..., :, None, :], transition_q[..., None, :, :]
    against = mixed(
        np.broadcast_to(rows_p, (*v.shape[:-2], v.shape[-2], v.shape[-1], v.shape[-2])),
        rows_q,
        v[..., None, None, :, :],
    )
    rows_self = transition_p[..., None, :, :]
    own = mixed(
        np.broadcast_to(rows_p, (*v_self.shape[:-2], *(v_self.shape[-1],) * 3)),
        rows_self,
        v_self[..., None, None, :, :],
    )
    diagonal = np.diagonal(own, axis1=-2, axis2=-1)
    with np.errstate(invalid="ignore"):
        return against - diagonal[..., :, None], own - diagonal[..., :, None]


def _by_level(p: Model, q: Model, tree: Tree, pairs: Array, selves: Array) -> tuple[Array, Array]:
    """Chains and regular trees, level by level; a long chain is cut short once every step adds the same."""
    children, depth = tree.children or 1, tree.depth
    v, v_self = pairs[-1], selves[-1]
    before: tuple[Array, Array] | None = None
    for level in range(depth - 1, 0, -1):
        t_p, t_q = (m.transitions[level if len(m.transitions) > 1 else 0] for m in (p, q))
        message, message_self = _messages(t_p, t_q, v, v_self)
        above = level - 1
        new = (
            pairs[above if len(pairs) > 1 else 0] + children * message,
            selves[above if len(selves) > 1 else 0] + children * message_self,
        )
        step = _step(v, new[0]), _step(v_self, new[1])
        v, v_self = new
        homogeneous = len(pairs) == len(p.transitions) == len(q.transitions) == 1
        if homogeneous and children == 1 and before is not None and _same(step, before):
            return v + above * step[0], v_self + above * step[1]
        if depth - level > PATIENCE:
            raise NotApplicable(f"the recursion did not settle within {PATIENCE} of {depth} levels")
        before = step
    return v, v_self


def _step(old: Array, new: Array) -> Array:
    """What a level added: 0 where both are infinite, +inf where that is new."""
    return np.asarray(np.where(np.isinf(old), 0.0, new - np.where(np.isinf(old), 0.0, old)))


def _same(step: tuple[Array, Array], before: tuple[Array, Array]) -> bool:
    """Whether two levels added the same; what is infinite follows from what was, so that it stays once it did."""
    return all(
        bool(np.isfinite(s).all() and np.isfinite(b).all()) and np.abs(s - b).max() <= SETTLED * (1.0 + np.abs(s).max())
        for s, b in zip(step, before, strict=True)
    )


def _listed(p: Model, q: Model, tree: Tree, pairs: Array, selves: Array) -> tuple[Array, Array]:
    """Any listed tree, all nodes of a level together."""
    group = np.zeros(tree.n_nodes, dtype=np.int64) if tree.group is None else tree.group
    zero = np.zeros_like(group)
    v, v_self = pairs[group if len(pairs) > 1 else zero], selves[group if len(selves) > 1 else zero]
    of_p, of_q = (group if len(m.transitions) > 1 else zero for m in (p, q))
    for nodes in reversed(by_level(tree.level, tree.parent)[1:]):
        message, message_self = _messages(
            p.transitions[of_p[nodes]], q.transitions[of_q[nodes]], v[nodes], v_self[nodes]
        )
        parents, starts = np.unique(tree.parent[nodes], return_index=True)
        v[parents] += np.add.reduceat(message, starts, axis=0)
        v_self[parents] += np.add.reduceat(message_self, starts, axis=0)
    return v[0], v_self[0]
