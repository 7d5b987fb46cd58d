"""The Renyi divergence of the joint law, by the same recursion on its logs (definitions (4.1))."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isinf
from numbers import Real
from typing import Any

import numpy as np

from hidiv.divergences.infinite import infinite, smoothing_helps
from hidiv.divergences.joint.kl import too_large
from hidiv.divergences.joint.local_terms import Local, Reached, by_family, reached, used_rows
from hidiv.divergences.pair import Pair
from hidiv.divergences.result import Divergence
from hidiv.errors import HidivError, refuse
from hidiv.models.model import Model, by_group
from hidiv.models.tree import Tree
from hidiv.models.zero_filling import with_weight
from hidiv.recursions.levels import by_level
from hidiv.recursions.powers import log_mean_exp, log_row_sums
from hidiv.recursions.terms import row_renyi
from hidiv.types import Array


def joint_renyi(p: Any, q: Any, tree: Tree | int, alpha: float) -> Divergence:
    """Renyi divergence of the joint law of states and observations, exact.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with equal numbers of states.
    tree : Tree or int
        The tree, or the length of a chain.
    alpha : float
        The order, in (0, 1) or above 1.

    Returns
    -------
    Divergence
        For alpha < 1 it is +inf only if the supports are disjoint; for alpha > 1 where p reaches a place without mass
        under q, or where the integral of an emission diverges.

    Raises
    ------
    HidivError
        Where alpha is 1 or not positive.
    IncompatibleModels
        Where the models have different numbers of states, or do not belong on the tree.

    Notes
    -----
    Definitions (4.1). The Bhattacharyya distance is half the value at 1/2.

    Examples
    --------
    >>> import hidiv as hd
    >>> p, q = (hd.Model([1.0], [[1.0]], hd.Gaussian([m], std=[1.0])) for m in (0.0, 1.0))
    >>> round(hd.joint_renyi(p, q, 3, 0.5).value, 12)
    0.75
    """
    if not isinstance(alpha, Real) or not (alpha > 0 and alpha != 1 and np.isfinite(alpha)):
        refuse(HidivError, "alpha", "must lie in (0, 1) or above 1", alpha, "at 1 the limit is hd.joint_kl")
    return renyi(Pair.on_tree(p, q, tree, by_states="joint"), float(alpha))


def renyi(pair: Pair, alpha: float) -> Divergence:
    """The Renyi divergence of a pair with equal numbers of states."""
    place = pair.known_tree("a Renyi divergence needs")
    local = _local_terms(pair, alpha)
    local, reasons = reached(pair, local) if alpha > 1 else Reached(local, [])
    log_z = inf if reasons else _log_z(pair.p, pair.q, place, local, alpha)
    if isinf(log_z) and not reasons:
        reasons = ["p and q have disjoint supports on this tree"]
    about = f"{pair.subject}, Renyi order {alpha:g},"
    if reasons:
        return infinite(pair, "joint", reasons, helps=_smoothing_helps(pair, alpha), subject=about)
    return Divergence(log_z / (alpha - 1.0) + 0.0, "joint", subject=about)


def _local_terms(pair: Pair, alpha: float) -> Local:
    """Renyi divergences of the initial laws, transition rows and emission states."""
    p, q = pair.p, pair.q
    return Local(
        float(row_renyi(p.initial, q.initial, alpha)),
        used_rows(p, q, row_renyi(p.transitions, q.transitions, alpha)),
        by_family(p, q, lambda a, b: a.renyi(b, alpha)),
    )


def _smoothing_helps(pair: Pair, alpha: float) -> bool:
    """Whether smoothing makes it finite: that fills zeros, but integrals that diverge go on doing so."""
    if not pair.once(smoothing_helps) or alpha < 1:
        return pair.once(smoothing_helps)
    filled = with_weight(pair.q, 0.5)
    return bool(np.isfinite(by_family(pair.p, filled, lambda a, b: a.renyi(b, alpha))).all())


@dataclass(frozen=True, eq=False)
class _Terms:
    """p^alpha q^(1-alpha) as log row sums and rows that sum to one, by group; log R of the emissions."""

    root: float
    root_law: Array  # (K,)
    rows: Array  # (G, K) log row sums
    laws: Array  # (G, K, K)
    states: Array  # (G, K) log R


def _log_z(p: Model, q: Model, tree: Tree, local: Local, alpha: float) -> float:
    """log of the integral of p^alpha q^(1-alpha) over states and observations; -inf for disjoint supports."""
    terms = _Terms(
        (alpha - 1.0) * local.initial, _tilted(p.initial, q.initial, alpha),
        (alpha - 1.0) * local.rows, _tilted(p.transitions, q.transitions, alpha), (alpha - 1.0) * local.states,
    )  # fmt: skip
    if len(local.rows) == len(local.states) == 1 and (tree.is_chain or tree.children == 1):
        at_root = _chain(terms, tree.depth)
    elif tree.kind == "regular":
        at_root = _regular(terms, tree)
    else:
        at_root = _listed(terms, tree)
    return float(terms.root + log_mean_exp(terms.root_law[None, :], at_root)[0][0])


def _tilted(p: Array, q: Array, alpha: float) -> Array:
    """p^alpha q^(1-alpha), rows scaled to sum to one; zeros where all of a row vanishes."""
    p, q = np.broadcast_arrays(p, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where((p == 0) | (q == 0), -inf, alpha * np.log(p) + (1.0 - alpha) * np.log(q))
    top = logs.max(axis=-1, keepdims=True)
    tilted = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
    total = tilted.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(tilted, total, out=np.zeros_like(tilted), where=total > 0))


def _chain(terms: _Terms, length: int) -> Array:
    """(K,): log Z below and at the root of a homogeneous chain, by powers of diag(R) A."""
    if length == 1:
        return np.asarray(terms.states[0])
    log_rows, laws = log_row_sums(terms.states[0] + terms.rows[0], terms.laws[0], length - 1)
    return np.asarray(log_rows + log_mean_exp(laws, terms.states[0])[0])


def _regular(terms: _Terms, tree: Tree) -> Array:
    """(K,): log Z at the root of a regular tree, level by level; children enter as a power."""
    children = tree.children or 1
    if isinf(tree.size):
        if max(np.abs(terms.rows).max(), np.abs(terms.states).max()) > 0:
            too_large()
        return np.asarray(terms.states[0])
    log_z = terms.states[-1]
    for level in range(tree.depth - 1, 0, -1):
        rows, laws = (table[level if len(table) > 1 else 0] for table in (terms.rows, terms.laws))
        message = rows + log_mean_exp(laws, log_z)[0]
        with np.errstate(over="ignore"):
            above = terms.states[level - 1 if len(terms.states) > 1 else 0] + children * message
        if (np.isinf(above) & np.isfinite(message) & np.isfinite(terms.states).all()).any():
            too_large()
        log_z = above
    return np.asarray(log_z)


def _listed(terms: _Terms, tree: Tree) -> Array:
    """(K,): log Z at the root of any listed tree, all nodes of a level together."""
    group = np.zeros(tree.n_nodes, dtype=np.int64) if tree.group is None else tree.group
    groups = max(len(terms.rows), len(terms.laws), len(terms.states))
    group = group if groups > 1 else np.zeros_like(group)
    rows, laws, states = (by_group(table, groups) for table in (terms.rows, terms.laws, terms.states))
    log_z = states[group]
    for nodes in reversed(by_level(tree.level)[1:]):
        nodes = nodes[np.argsort(tree.parent[nodes], kind="stable")]
        parents, starts = np.unique(tree.parent[nodes], return_index=True)
        messages = rows[group[nodes]] + log_mean_exp(laws[group[nodes]], log_z[nodes])[0]
        log_z[parents] += np.add.reduceat(messages, starts, axis=0)
    return np.asarray(log_z[0])
