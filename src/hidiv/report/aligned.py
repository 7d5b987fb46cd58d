"""Which state of q goes with which of p: the orders of q's states that a page can show, aligned and as labelled.

Models with different numbers of states have no such order; their states are linked by what they show.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isinf
from typing import Any

import numpy as np

from hidiv.divergences.comparison import Comparison, Rates
from hidiv.divergences.joint.do_bound import bound
from hidiv.divergences.joint.kl import joint, joint_per_node
from hidiv.divergences.observed.support.finiteness import surely_finite
from hidiv.divergences.pair import Pair
from hidiv.divergences.posterior.expected import expected_posterior
from hidiv.divergences.posterior.kl import posterior_kl
from hidiv.divergences.result import Divergence
from hidiv.errors import HidivError
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.report.state_names import state_name


@dataclass(frozen=True, eq=False)
class Reading:
    """The pair with q's states in one order, and the divergences of that pair."""

    key: str  # "aligned" or "labelled"
    q: Model
    comparison: Comparison


def readings(p: Model, q: Model, comparison: Comparison, tree: Any, evidence: Any) -> list[Reading]:
    """The reading the page opens with, and the pair as labelled after it where that is another one."""
    labelled = Reading("labelled", q, comparison)
    alignment = comparison.alignment
    if alignment is None or alignment.as_labelled:
        return [labelled]
    order = alignment.permutation
    return [Reading("aligned", q.relabel(order), _aligned(p, q, comparison, tree, evidence)), labelled]


def _aligned(p: Model, q: Model, comparison: Comparison, tree: Any, evidence: Any) -> Comparison:
    """The same comparison of the aligned pair; what is observed does not depend on the order of hidden states."""
    assert comparison.alignment is not None
    pair = Pair.of(p, q, tree).relabelled(comparison.alignment.permutation)
    endless = pair.on(None) if comparison.rates.joint is not None else None
    rate = None if endless is None else endless.once(joint)
    return replace(
        comparison,
        joint=comparison.joint_aligned,
        joint_per_node=pair.once(joint_per_node),
        do_bound=pair.once(bound) if isinstance(tree, Tree) and comparison.do_bound is not None else None,
        expected_posterior=_rest(pair, comparison.joint_aligned, comparison.observed),
        posterior=None if comparison.posterior is None else posterior_kl(p, pair.q, evidence, tree),
        rates=Rates(rate, comparison.rates.observed, _rest(pair, rate, comparison.rates.observed)),
    )


def _rest(pair: Pair, whole: Divergence | None, observed: Divergence | None) -> Divergence | None:
    """joint - observed, where both are there and the observed one is finite."""
    if whole is None or observed is None or isinf(observed.value):
        return None
    return expected_posterior(whole, observed, isinf(whole.value) and surely_finite(pair, observed))


def pairing(p: Model, q: Model, comparison: Comparison) -> list[dict[str, Any]]:
    """Which state of q is paired with each of p, with the places where both are drawn."""
    if comparison.alignment is None or comparison.alignment.as_labelled:
        return []
    return [
        {"p": state_name(p, s), "q": state_name(q, t), "from": s, "to": t, "moved": s != t}
        for s, t in enumerate(comparison.alignment.permutation)
    ]


def matching(p: Model, q: Model) -> list[dict[str, Any]]:
    """Links from every state of the larger model to the nearest of the smaller; none where the laws do not compare."""
    if p.n_states == q.n_states or p.n_groups > 1 or q.n_groups > 1:
        return []
    left, right = p.emissions[0], q.emissions[0]
    rows, columns = np.repeat(np.arange(p.n_states), q.n_states), np.tile(np.arange(q.n_states), p.n_states)
    try:
        apart = left.take(rows).kl(right.take(columns)).reshape(p.n_states, q.n_states)
    except HidivError:
        return []
    nearest = [(s, int(np.argmin(apart[s]))) for s in range(p.n_states)]
    if p.n_states < q.n_states:
        nearest = [(int(np.argmin(apart[:, t])), t) for t in range(q.n_states)]
    return [
        {"p": state_name(p, s), "q": state_name(q, t), "from": s, "to": t, "moved": False, "apart": float(apart[s, t])}
        for s, t in nearest
    ]
