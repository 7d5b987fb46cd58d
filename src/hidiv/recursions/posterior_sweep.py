"""D( p(S, hidden X | E) || q(S, hidden X | E) ) on any tree: the log-ratio of the upward messages is propagated,
never the difference of two likelihoods (definitions (2.2))."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.recursions.boolean_messages import first_gap, posterior_support, upward_support
from hidiv.recursions.count_rows import CountTables
from hidiv.recursions.kernels import kernel, ranged_kernel
from hidiv.recursions.normal_rows import NormalLaws, NormalRatio
from hidiv.recursions.tables import Law, Layout, MakeRows, PairTables, Places, Tables, add_to_parents
from hidiv.recursions.terms import exact_sum, local_divergence, log_of, log_sum
from hidiv.types import Array, Flags, IntArray


@dataclass(frozen=True, eq=False)
class Posterior:
    """value; both log-likelihoods; by_node (n,), which sums to the value, when asked for.

    infinite: the first (node, parent state, state) p reaches and q forbids, parent state -1 at the root; value is +inf.
    impossible: ("p" or "q", node), the first node in upward order where the evidence fails; nothing else is set then.
    """

    value: float
    log_likelihood_p: float
    log_likelihood_q: float
    by_node: Array | None = None
    infinite: tuple[int, int, int] | None = None
    impossible: tuple[str, int] | None = None


@dataclass(frozen=True, eq=False)
class ConditionalRows:
    """The laws p(s | r, E) of some edges, by parent state r, compared with q's. All (L, R)."""

    log_mass: Array  # log n(r)
    log_ratio: Array  # lam'(r) = log of q's message over p's
    local: Array  # loc(r) = KL of the two rows
    inward: Array  # loc(r) + sum_s p(s|r) (residual + K)(s)
    own: Array  # loc(r) + sum_s p(s|r) residual(s)
    log_mass_q: Array  # q's message on p's scale, also where p has none


def compare_rows(
    log_row: Array,
    log_row_q: Array,
    row_ratio: Array,
    log_z: Array,
    log_z_q: Array,
    ratio: Array,
    residual: Array,
    inward: Array,
    alive: Flags,
) -> ConditionalRows:
    """log_row, log_row_q, row_ratio (L, R, K): transition rows; alive (L, R): those p reaches; the rest (L, K).

    m = log(q/p) of what is summed; loc as in `local_divergence`, with q's mass where p has none.
    """
    term = log_row + log_z[:, None, :]
    log_mass = np.where(alive, log_sum(term), -np.inf)
    here = (term > -np.inf) & alive[:, :, None]
    log_p = np.where(here, term - np.where(alive, log_mass, 0.0)[:, :, None], -np.inf)
    p = np.exp(log_p)
    m = np.where(here, row_ratio, 0.0) + np.where(here, ratio[:, None, :], 0.0)
    term_q = log_row_q + log_z_q[:, None, :]
    log_q = np.where(alive[:, :, None], term_q - np.where(alive, log_mass, 0.0)[:, :, None], -np.inf)
    mean, local = local_divergence(log_p, m, log_q)
    ratio_up = np.where(alive, mean + local, 0.0)
    own = np.where(alive, local + (p * residual[:, None, :]).sum(axis=2), 0.0)
    total = np.where(alive, own + (p * inward[:, None, :]).sum(axis=2), 0.0)
    log_mass_q = np.where(alive, log_mass + ratio_up, log_sum(term_q))
    return ConditionalRows(log_mass, ratio_up, np.where(alive, local, 0.0), total, own, log_mass_q)


FAINT = 1e-20  # nats a node: less may be rounding of weights that sum to one; profiles keep logarithms
NEAR = 1e-4  # the largest log-ratio of models so near that such rounding, which is squared, stays below 1e-40
SHOWN = 1024  # rows of a long chain that show how near two models are

PosteriorResult = tuple[float, float, float, Array | None, tuple[int, int, int], int, int]


def posterior(pair: PairTables, layout: Layout, by_node: bool = False) -> Posterior:
    """Value, log-likelihoods and, where `by_node`, the profile."""
    result = posterior_value(
        layout.n_nodes, layout.places, pair.p.arrays, pair.q.arrays, pair.ratios, pair.residual, by_node
    )  # fmt: skip
    value, log_p, log_q, profile, gap, failed_p, failed_q = result
    if failed_p >= 0 or failed_q >= 0:
        return Posterior(np.nan, np.nan, np.nan, impossible=("p", failed_p) if failed_p >= 0 else ("q", failed_q))
    if gap[0] >= 0:
        return Posterior(np.inf, np.nan, np.nan, infinite=gap)
    if not by_node and is_faint(value, layout.n_nodes) and are_apart(*pair.ratios):
        return posterior(pair, layout, by_node=True)
    return Posterior(value, log_p + pair.p.taken_out(layout), log_q + pair.q.taken_out(layout), profile)


def is_faint(value: Any, n_nodes: Any) -> Any:
    """Whether so small a value over so many nodes needs logarithms for its digits, of models apart; arrays too."""
    return (value > 0.0) & (value < FAINT * n_nodes)


def are_apart(*ratios: Array) -> bool:
    """Whether two models of these log-ratios differ by more than rounding squared can show."""
    return any(bool((np.abs(ratio) > NEAR).any()) for ratio in ratios)


@ranged_kernel
def posterior_value(
    n_nodes: int, places: Places, p: Law, q: Law, ratio: Law, residual: Array | None, by_node: bool, threads: int = 0
) -> PosteriorResult:
    """(value, both log-likelihoods, profile or None, infinite place, failing nodes of p and q); -1 for none."""
    layout = Layout(n_nodes, *places)
    pair = PairTables(Tables(*p), Tables(*q), *ratio, residual)
    none = (-1, -1, -1)
    if _all_is_possible(pair):
        return _finite_result(pair, layout, np.ones((n_nodes, pair.p.n_states), dtype=np.bool_), by_node)
    up, failed_p = upward_support(pair.p, layout)
    _, failed_q = upward_support(pair.q, layout)
    if failed_p is not None or failed_q is not None:
        return (
            np.nan,
            np.nan,
            np.nan,
            None,
            none,
            -1 if failed_p is None else failed_p,
            -1 if failed_q is None else failed_q,
        )
    reached = posterior_support(pair.p, layout, up)
    gap = first_gap(pair, layout, reached)
    if gap is not None:
        return np.inf, np.nan, np.nan, None, gap, -1, -1
    return _finite_result(pair, layout, reached, by_node)


def _all_is_possible(pair: PairTables) -> bool:
    """Whether neither model has a zero anywhere, as a rule: there is nothing to decide then."""
    return all(
        bool((law.initial > 0).all() and (law.transition > 0).all() and (law.log_weight > -np.inf).all())
        for law in (pair.p, pair.q)
    ) and (pair.residual is None or bool((pair.residual < np.inf).all()))


def _finite_result(pair: PairTables, layout: Layout, reached: Flags, by_node: bool) -> PosteriorResult:
    """What `posterior_value` returns where the divergence is finite."""
    kept = {name: np.zeros(reached.shape) for name in ("own", "log_mass", "log_z")} if by_node else None
    result = finite_posterior(pair, layout, reached, kept)
    profile = None if kept is None else profile_by_node(pair.p, layout, kept)
    return result.value, result.log_likelihood_p, result.log_likelihood_q, profile, (-1, -1, -1), -1, -1


@kernel
def posterior_stream(
    n_nodes: int,
    transition_of: IntArray | None,
    p: tuple[Array, Array],
    q: tuple[Array, Array],
    ratio: tuple[Array, Array],
    make: MakeRows,
    chunk: int,
    normal: tuple[Array, NormalLaws, NormalLaws, NormalRatio] | None = None,
    counts: CountTables | None = None,
) -> tuple[float, float, float] | None:
    """Value and log-likelihoods of a chain whose rows come from make(first, end), `chunk` nodes at a time.

    p, q, ratio: initial (K,) and transition (G, K, K). normal: x (n, F), and laws and their log-ratio of which a kernel
    makes the rows itself, but for parts with numbers that are none or far out; counts: the same for x and tables in
    which they are looked up.
    None where the chain has zeros or numbers out of range: tables are the way then.
    """
    weights, weight_ratio, residual = make(0, n_nodes)
    assert weight_ratio is not None
    laws = (*p, weights), (*q, weights + weight_ratio), (*ratio, weight_ratio)
    value, log_p, log_q, _, gap, *failed = posterior_value(n_nodes, (None, transition_of, None), *laws, residual, False)
    return None if gap[0] >= 0 or max(failed) >= 0 else (value, log_p, log_q)


def finite_posterior(pair: PairTables, layout: Layout, reached: Flags, kept: dict[str, Array] | None) -> Posterior:
    """reached (n, K): states of positive posterior probability under p; q forbids none of them.

    Fills `kept`, if given: own terms (n, K), log_mass (n, K) and log_z (n, K) of every node.
    """
    n, k = reached.shape
    log_p, log_q = log_of(pair.p.transition), log_of(pair.q.transition)
    first_p, first_q = log_of(pair.p.initial), log_of(pair.q.initial)
    # Extended precision where there is one: a star adds up a hundred thousand logarithms.
    message, message_q, ratio, inward = (np.zeros((n, k), dtype=np.longdouble) for _ in range(4))
    scales: list[Array] = []
    ratios: list[Array] = []
    values: list[Array] = []

    def rows_of(nodes: NDArray[np.int64], row: Array, row_q: Array, row_ratio: Array, alive: Flags) -> ConditionalRows:
        which = layout.rows(nodes)
        at = np.arange(nodes.size)[:, None], np.where(reached[nodes], message[nodes], -np.inf).argmax(axis=1)[:, None]
        base, shift = message[nodes][at], ratio[nodes][at]
        scales.append(base.ravel())
        ratios.append(shift.ravel())
        log_z = pair.p.log_weight[which] + np.where(reached[nodes], message[nodes] - base, -np.inf).astype(np.float64)
        log_z_q = pair.q.log_weight[which] + (message_q[nodes] - base - shift).astype(np.float64)
        mine = np.where(reached[nodes], pair.weight_ratio[which] + ratio[nodes] - shift, 0.0).astype(np.float64)
        residual = np.zeros((nodes.size, k)) if pair.residual is None else pair.residual[which]
        residual = np.where(reached[nodes], residual, 0.0)
        rows = compare_rows(
            row, row_q, row_ratio, log_z, log_z_q, mine, residual, inward[nodes].astype(np.float64), alive
        )
        if kept is not None:
            kept["log_z"][nodes] = log_z
            kept["own"][nodes], kept["log_mass"][nodes] = rows.own, rows.log_mass
        return rows

    for nodes in layout.upward(k * k):
        which, parents = layout.transitions(nodes), layout.parents(nodes)
        alive = reached[parents]
        rows = rows_of(nodes, log_p[which], log_q[which], pair.transition_ratio[which], alive)
        # The smallest inward value is taken out: what stays is non-negative, so that nothing cancels.
        least = np.where(alive, rows.inward, np.inf).min(axis=1, keepdims=True)
        add_to_parents(message, parents, rows.log_mass)
        add_to_parents(message_q, parents, rows.log_mass_q)
        add_to_parents(ratio, parents, rows.log_ratio)
        add_to_parents(inward, parents, np.where(alive, rows.inward - least, 0.0))
        values.append(least.ravel())
    root = np.zeros(1, dtype=np.int64)
    top = rows_of(
        root, first_p[None, None], first_q[None, None], pair.initial_ratio[None, None], np.ones((1, 1), dtype=bool)
    )
    log_likelihood = exact_sum(np.concatenate([*scales, top.log_mass[0]]))
    log_ratio = exact_sum(np.concatenate([*ratios, top.log_ratio[0]]))
    value = exact_sum(np.concatenate([*values, top.inward[0]]))
    return Posterior(value, log_likelihood, log_likelihood + log_ratio)


def profile_by_node(p: Tables, layout: Layout, kept: dict[str, Array]) -> Array:
    """(n,): the local terms of each node, its parent weighted by its posterior marginal under p."""
    log_transition, log_initial = log_of(p.transition), log_of(p.initial)
    n, k = kept["own"].shape
    marginal = np.zeros((n, k))
    profile = np.zeros(n)
    profile[0] = kept["own"][0, 0]
    marginal[0] = np.exp(log_initial + kept["log_z"][0] - kept["log_mass"][0, 0])
    for nodes in layout.downward(k * k):
        weight = marginal[layout.parents(nodes)]
        profile[nodes] = (weight * kept["own"][nodes]).sum(axis=1)
        mass = kept["log_mass"][nodes]
        term = log_transition[layout.transitions(nodes)] + kept["log_z"][nodes][:, None, :]
        rows = np.exp(term - np.where(mass > -np.inf, mass, 0.0)[:, :, None])
        marginal[nodes] = (np.where(mass > -np.inf, weight, 0.0)[:, :, None] * rows).sum(axis=1)
    return profile
