"""Certified observed divergences and rates of two-state chains of normal numbers or counts (definitions (5.5), (5.6)).

For any V the rate of a cost lies between the smallest and the largest residual cost + L V - V: V is found by
collocation in the predicted log-odds of the filter, its residual is sampled with a proven quadrature error
(log_odds/number_rules.py) and, being analytic in a strip, bounded between the samples. On N nodes the residuals of
V_m = cost + L V_{m-1} are summed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hidiv.divergences.observed.certified.chains import recursed
from hidiv.divergences.observed.certified.joint_bound import cut_at_joint
from hidiv.divergences.observed.certified.log_odds.collocation import solved_rate
from hidiv.divergences.observed.certified.log_odds.number_operator import NumberOperator
from hidiv.divergences.observed.certified.log_odds.number_rules import has_rule
from hidiv.divergences.observed.certified.refining import bounded
from hidiv.divergences.observed.interval import Interval, difference, outward
from hidiv.divergences.observed.quadrature.two_state_chains import applies as fits
from hidiv.divergences.observed.quadrature.two_state_chains import doubled
from hidiv.divergences.pair import closed
from hidiv.models.model import Model
from hidiv.models.tree import Tree

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair
    from hidiv.divergences.result import Divergence

METHOD = "residual of a value function in the log-odds of the filter, with a proven quadrature error"


def applies(pair: Pair) -> str | None:
    """One or two states in both models, the same laws at every node, one normal number or count to a node."""
    p, q = pair.p.emissions[0], pair.q.emissions[0]
    proven = has_rule(p, q) and closed(pair.p, pair.q)
    return fits(pair) or (None if proven else f"{p.name} and {q.name} observations have no proven quadrature")


def run(pair: Pair, budget: Budget) -> Divergence:
    """Bounds of D_X on a chain of known length, or of the rate of an endless one."""
    length = pair.tree.n_nodes if isinstance(pair.tree, Tree) else None
    cross, entropy = (_cross_entropy(pair.p, doubled(law), length) for law in (pair.q, pair.p))
    return bounded(cut_at_joint(pair, budget, difference(cross, entropy)), pair, budget)


def _cross_entropy(p: Model, q: Model, length: int | None) -> Interval:
    """-E_p log q of `length` numbers, or a step of an endless chain, less the entropies of p's emissions."""
    operator = NumberOperator(p, q)
    if length is None:
        return solved_rate(operator, METHOD)
    lower, upper, how = recursed(operator, length - 1, operator.at_start)
    return outward(lower, upper, how | {"method": METHOD})
