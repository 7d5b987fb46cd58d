"""Quick bounds of the observed divergence wherever it is asked for, and for any family (definitions (5.1)).

The first nodes bound it from below; the joint divergence in the best order of q's states, and on trees a variational
recursion, from above.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, inf
from typing import TYPE_CHECKING, Any

import numpy as np

from hidiv.divergences.observed.alphabets import finite_chain, has_symbols, symbol_probabilities, tree_law
from hidiv.divergences.observed.certified.chains import observed_chain
from hidiv.divergences.observed.certified.joint_bound import ROOM, SMALLEST, joint_above, room_above
from hidiv.divergences.observed.certified.refining import bounded
from hidiv.divergences.observed.enumerated.chain_words import enumerate_chain
from hidiv.divergences.observed.enumerated.tree_configurations import enumerate_tree
from hidiv.divergences.observed.interval import Interval, NotApplicable
from hidiv.divergences.observed.sampled.until_end_estimate import ending
from hidiv.divergences.observed.variational import emission_pairs, mixed
from hidiv.divergences.pair import closed
from hidiv.divergences.result import Divergence
from hidiv.errors import HidivError
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd
from hidiv.recursions.levels import by_level
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair
    from hidiv.models.model import Model

WORDS = 1 << 14  # of a block
_LEVELS = 4096  # of a recursion that is not flat by then
FIRST_SECONDS = 5.0  # for the bound from below on chains that end by themselves
FIRST_NODES = 200  # that it takes in
FIRST_WIDTH = 1e-3  # relative width of their divergence


def applies(pair: Pair) -> str | None:
    """Any place and any family, though chains that end by themselves need as many states in both models."""
    return None


def run(pair: Pair, budget: Budget) -> Divergence:
    """The divergence of the first nodes below, the smaller of the two bounds above; of a rate, `bounded` has better."""
    if isinstance(pair.tree, UntilEnd):
        return _until_end(pair, budget)
    if pair.tree is None:
        return bounded(Interval(0.0, pair.once(joint_above), {"method": "cheap bounds"}), pair, budget)
    ends = {
        SMALLEST: pair.once(joint_above),
        "variational recursion": variational_above(pair.p, pair.q, pair.tree) if closed(pair.p, pair.q) else inf,
    }
    best = min(ends, key=lambda name: ends[name])
    how = {"method": "cheap bounds", "upper": best, "lower": "divergence of the first nodes"}
    below = min(block_below(pair.p, pair.q, pair.tree), ends[best])
    return bounded(Interval(below, ends[best], how), pair, budget)


def variational_above(p: Model, q: Model, tree: Tree) -> float:
    """V(a, b) = KL(e_p(a) || e_q(b)) + sum_c M_c(a, b), M(a, b) = -sum_a' T_p(a, a') log sum_b' T_q(b, b') exp(-V).

    E_p log q(X) is at least what any guess of q's states from p's gives, H(X) at least H(X | S). M is monotone and
    shifts constants, so that a long chain goes on with its largest last change.
    """
    pairs = emission_pairs(p, q)
    is_listed = tree.kind == "listed" or (tree.kind == "chain" and tree.group is not None)
    with np.errstate(over="ignore"):  # an overflow: no bound
        value = (_listed_above if is_listed else _level_above)(p, q, tree, pairs)
    return room_above(value, min(tree.depth, _LEVELS))


def block_below(p: Model, q: Model, tree: Tree) -> float:
    """The divergence of the first nodes alone, as many as can be listed; 0 where observations are no symbols."""
    try:
        if tree.is_chain and p.n_groups == q.n_groups == 1:
            left, right = finite_chain(p), finite_chain(q)
            listed = enumerate_chain(left, right, _listable(left.n_symbols, tree.n_nodes))
        else:
            part = _first_nodes(tree, _listable(symbol_probabilities(p).shape[-1], min(tree.n_nodes, 64)))
            listed = enumerate_tree(tree_law(p, part), tree_law(q, part), part.parent)
    except (NotApplicable, HidivError):
        return 0.0
    return max(listed.value * (1.0 - ROOM) - 1e-14, 0.0)


def _listable(symbols: int, nodes: int) -> int:
    """How many nodes have few enough words."""
    count = 1
    while count < nodes and count < 64 and symbols ** (count + 1) <= WORDS:
        count += 1
    return count


def _first_nodes(tree: Tree, count: int) -> Tree:
    """A listed tree of the first nodes, whole levels of a regular one."""
    if tree.kind != "regular":
        return Tree(tree.parent[:count], None if tree.group is None else tree.group[:count])
    depth = 1
    while depth < tree.depth and Tree.regular(tree.children or 1, depth + 1).n_nodes <= count:
        depth += 1
    part = Tree.regular(tree.children or 1, depth)
    return Tree(part.parent, part.group)


def _level_above(p: Model, q: Model, tree: Tree, pairs: Array) -> float:
    """Chains and regular trees, level by level."""
    children, depth = tree.children or 1, tree.depth
    homogeneous = len(pairs) == len(p.transitions) == len(q.transitions) == 1
    v = pairs[-1]
    for level in range(depth - 1, 0, -1):
        t_p, t_q = (m.transitions[level if len(m.transitions) > 1 else 0] for m in (p, q))
        new = pairs[level - 1 if len(pairs) > 1 else 0] + children * _message(t_p, t_q, v)
        if homogeneous and children == 1 and depth - level >= _LEVELS and np.isfinite(new).all():
            return float(mixed(p.initial, q.initial, new)) + (level - 1) * float((new - v).max())
        v = new
    return float(mixed(p.initial, q.initial, v))


def _listed_above(p: Model, q: Model, tree: Tree, pairs: Array) -> float:
    """Any listed tree, all nodes of a level together."""
    group = np.zeros(tree.n_nodes, dtype=np.int64) if tree.group is None else tree.group
    zero = np.zeros_like(group)
    v = pairs[group if len(pairs) > 1 else zero]
    of_p, of_q = (group if len(m.transitions) > 1 else zero for m in (p, q))
    for nodes in reversed(by_level(tree.level, tree.parent)[1:]):
        message = _message(p.transitions[of_p[nodes]], q.transitions[of_q[nodes]], v[nodes])
        parents, starts = np.unique(tree.parent[nodes], return_index=True)
        v[parents] += np.add.reduceat(message, starts, axis=0)
    return float(mixed(p.initial, q.initial, v[0]))


def _message(transition_p: Array, transition_q: Array, v: Array) -> Array:
    """M(a, b), for stacks of transitions (..., K, K) and v (..., K_p, K_q)."""
    rows = np.broadcast_to(transition_p[..., :, None, :], (*v.shape[:-2], v.shape[-2], v.shape[-1], v.shape[-2]))
    return mixed(rows, transition_q[..., None, :, :], v[..., None, None, :, :])


def _until_end(pair: Pair, budget: Budget) -> Divergence:
    """Bounds until the end: those of the first nodes below, the joint divergence above.

    +inf where q cannot show, or end after, what p does; NotApplicable where nothing bounds it above.
    """
    chains = pair.once(ending)
    reason = chains.forbidden()
    if reason is not None:
        words = {"method": "support of words"}
        return Divergence(
            inf, "observed", "certified", inf, inf, infinite=[reason], certificate=words, subject=pair.subject
        )
    above = pair.once(joint_above)
    if above == inf:
        raise NotApplicable("nothing bounds chains of random length from above")
    below, length, shown = Interval(0.0, inf), 0, pair.p.emissions[0]
    if has_symbols(shown) or not shown.n_features:
        length = int(min(FIRST_NODES, max(4, ceil(3.0 * chains.visits.sum()))))
        effort = (budget if budget.max_seconds is not None else replace(budget, max_seconds=FIRST_SECONDS)).effort()
        below = observed_chain(*chains.chains, length, lambda first: first.width <= FIRST_WIDTH * first.lower, effort)
    lower = min(below.lower, above)
    how: dict[str, Any] = {
        "method": "first nodes below, smallest joint divergence over relabellings above",
        "nodes": length,
        "first_nodes": below.how,
    }
    return Divergence(
        0.5 * (lower + above), "observed", "certified", lower, above, certificate=how, subject=pair.subject,
        notes=["wide: only its ends are certain, the middle is no estimate"] if above - lower > 1e-9 else [],
    )  # fmt: skip
