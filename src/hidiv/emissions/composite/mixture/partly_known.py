"""What is known of an observation, under two mixtures: ratio of its weights, and what stays hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hidiv.emissions.composite.mixture.marked import Marked, paired_components, weighted_sum
from hidiv.emissions.composite.mixture.ratios import are_paired, mixed_ratio
from hidiv.emissions.evidence import log_ratios
from hidiv.emissions.evidence.symbol_sets import by_distinct_row, set_divergence, set_ratio
from hidiv.recursions.terms import row_divergence
from hidiv.types import Array, Flags

if TYPE_CHECKING:
    from hidiv.emissions.composite.mixture.mixture import Mixture


def weight_ratio(
    p: Mixture, q: Mixture, x: Array, lower: Array | None, upper: Array | None, inside: Flags | None
) -> Array:
    """(R, K): as `log_ratios.weight_ratio`."""
    known, ratios = (x, lower, upper), None
    if are_paired(p, q):
        pairs = zip(p.components, q.components, strict=True)
        ratios = np.stack([log_ratios.weight_ratio(a, b, *known) for a, b in pairs], axis=2)
    value = mixed_ratio(p, q, ratios, p.component_laws(*known), p.log_weight(*known), q.log_weight(*known))
    if inside is None:
        return value
    symbols = p.as_symbols(), q.as_symbols()
    sets = by_distinct_row(inside, lambda rows: set_ratio(symbols[0].probs, symbols[1].probs, rows))
    return log_ratios.settled(*symbols, x, lower, upper, inside, log_ratios.added((value, sets)))


def residual(p: Mixture, q: Mixture, x: Array, lower: Array | None, upper: Array | None, inside: Flags | None) -> Array:
    """(R, K): as `log_ratios.residual`, of component and observation together."""
    known = x, lower, upper
    laws = [family.component_laws(*known) for family in (p, q)]
    each = [log_ratios.residual(a, b, *known) for _, a, b in paired_components(Marked(p), Marked(q))]
    value = row_divergence(*laws) + weighted_sum(laws[0], np.stack(each, axis=2))
    value = np.where(p.log_weight(*known) == -np.inf, 0.0, value)
    if inside is not None:
        # Component and symbol together are a symbol of a larger alphabet.
        restricted, tables = ~inside.all(axis=1), (p.marked_symbols().probs, q.marked_symbols().probs)
        sets = np.tile(inside[restricted], (1, len(p.components)))
        value[restricted] = by_distinct_row(sets, lambda rows: set_divergence(*tables, rows))
    return value
