"""The posterior divergence of a long chain without tables: rows are weighed as the recursion comes to them."""

from __future__ import annotations

import numpy as np

from hidiv.divergences.posterior.pair_rows import pair_rows, weigher
from hidiv.errors import HidivError, InvalidEvidence
from hidiv.inference.long_chains import long_chain
from hidiv.inference.weights import check_end
from hidiv.models.evidence import Evidence
from hidiv.models.model import Model, by_group, check_groups
from hidiv.models.tree import Tree
from hidiv.recursions.normal_rows import NormalPair
from hidiv.recursions.posterior_sweep import Posterior, posterior_stream
from hidiv.recursions.terms import log_ratio
from hidiv.types import Array


def posterior_of_long_chain(p: Model, q: Model, evidence: Evidence, tree: Tree, unobserved: bool) -> Posterior | None:
    """Value and log-likelihoods; None where tables are the way: short or shared rows, zeros, impossible evidence."""
    chain = long_chain(p if len(p.emissions) >= len(q.emissions) else q, evidence, tree)
    if chain is None:
        return None
    for model, who in ((p, "p"), (q, "q")):
        check_groups(model, tree, who)
        check_end(model, tree)
    weigh = weigher(p, q)
    normal, counts, chunk = None, None, chain.at_once
    fast = None if weigh is None else weigh.fast
    if isinstance(fast, NormalPair) and chain.rows.plain and not unobserved:
        normal, chunk = (np.ascontiguousarray(chain.rows.x), fast.p, fast.q, fast.between), chain.in_cache
    elif fast is None and weigh is not None and chain.rows.plain and not unobserved:
        try:
            tables = weigh.count_tables(chain.rows.x)
        except InvalidEvidence:  # whose message is to name the node
            return None
        if tables is not None:
            counts, chunk = tables[0], chain.in_cache
    shifts: dict[int, tuple[float, float]] = {}

    def make(first: int, end: int) -> tuple[Array, Array, Array | None]:
        parts = pair_rows(p, q, chain.part(first, end), tree, unobserved, weigh)
        shifts[first] = _sum(parts.shift_p), _sum(parts.shift_q)
        return parts.p, parts.ratio, parts.residual

    groups = max(len(p.transitions), len(q.transitions))
    first, second = by_group(p.transitions, groups), by_group(q.transitions, groups)
    try:
        result = posterior_stream(
            tree.n_nodes, tree.group if groups > 1 else None, (p.initial, first), (q.initial, second),
            (log_ratio(p.initial, q.initial), log_ratio(first, second)), make, chunk, normal, counts,
        )  # fmt: skip
    except HidivError:  # whose message is to name the node
        return None
    if result is None:
        return None
    value, log_p, log_q = result
    out_p, out_q = (sum(shift[side] for shift in shifts.values()) for side in (0, 1))
    return Posterior(value, log_p + out_p, log_q + out_q)


def _sum(shift: Array | None) -> float:
    return 0.0 if shift is None else float(shift.sum(dtype=np.longdouble))
