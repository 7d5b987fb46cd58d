"""Means of draws, and their standard errors, which allow for events that were drawn too seldom or never."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.alphabets import by_formula
from hidiv.divergences.observed.support.any_family import log_weights
from hidiv.divergences.observed.variational import emission_pairs
from hidiv.divergences.pair import closed
from hidiv.models.model import Model
from hidiv.types import Array, IntArray

FAIR = 5.0  # standard errors that the sample mean of a control may be off
SETTLED = 20.0  # draws for each unit of kurtosis
UNSETTLED = 1.0  # errors of a variance that is not settled by which it is taken to be larger
NEGLIGIBLE = 1e-3  # share of a standard error
SURE = 1e-12  # counts that deviate from their means by less than this are constants
Z95 = 1.959963984540054  # two-sided 95 % of a normal law
HUGE = 1e50  # draws and controls above are taken in their own unit: their fourth powers overflow
DOUBTFUL = 3.0  # standard errors that the number of rare events may be off
FEW = 20  # events that are rare
DRAWN = 64  # observations of a state, where its divergence has no formula
MOST = 745.0  # nats of an observation: beyond, probabilities are zero


class Mean(NamedTuple):
    """Estimate, standard error, number of controls used, and the draws with their controls taken out."""

    value: float
    std_error: float
    controls: int
    draws: Array
    settled: bool = True  # the standard error can be trusted: no rare event seems to be missing among the draws
    full: bool = True  # more draws would bring no more controls
    counted: Array | None = None  # how much each draw counts in the mean, about 1: controls whose mean is off shift it

    def half_width(self) -> float:
        """Of the 95 % interval, by Student's law to second order."""
        return self.std_error * Z95 * (1.0 + (Z95**2 + 1.0) / (4.0 * max(len(self.draws) - 1 - self.controls, 1)))

    def scaled(self, unit: float) -> Mean:
        """The same of draws that are `unit` times as large."""
        return self._replace(value=unit * self.value, std_error=unit * self.std_error, draws=unit * self.draws)


def unit_of(draws: Array) -> float:
    """The size of numbers whose powers would overflow; 1 for all others."""
    largest = float(np.abs(draws).max(initial=0.0))
    return largest if HUGE < largest < np.inf else 1.0


def plain_mean(draws: Array, full: bool = True, settle: bool = True) -> Mean:
    """Without controls; where a few draws decide the spread it is taken to be at least the value.

    Without `settle` the error grows by what these leave open.
    """
    unit = unit_of(draws)
    if unit > 1.0:
        return plain_mean(draws / unit, full, settle).scaled(unit)
    spread = float(draws.std(ddof=1)) if len(draws) > 1 else np.inf
    value = float(draws.mean())
    fair = len(draws) >= SETTLED * kurtosis(draws)
    if not fair:
        spread = max(spread, abs(value)) if settle else spread * left_open(draws)
    return Mean(value, spread / sqrt(len(draws)), 0, draws, fair or not settle, full)


def left_open(draws: Array) -> float:
    """By how much a spread that a few draws decide is taken to be larger: its square has an error of its own."""
    return sqrt(1.0 + UNSETTLED * sqrt(kurtosis(draws) / len(draws)))


def kurtosis(draws: Array) -> float:
    """Fourth moment over the square of the second; 3 for a normal law."""
    draws = draws / unit_of(draws)  # the sum of the largest doubles is none
    centred = draws - draws.mean()
    largest = float(np.abs(centred).max(initial=0.0))
    if not 0.0 < largest < np.inf:
        return 3.0
    square = np.square(centred / largest)  # neither overflows nor vanishes
    second = float(square.mean())
    return float(square @ square) / len(draws) / second**2


def unseen(controls: Array) -> float:
    """The largest expected number, in one draw, of an event whose count is a control and that no draw has shown.

    Such a control is the same in all draws, less its mean.
    """
    if not controls.size:
        return 0.0
    first = controls[0]
    missing = np.where((controls == first).all(axis=0) & np.isfinite(first), np.abs(first), 0.0)
    return float(missing.max())


def widened(mean: Mean, chance: float, reach: float, least: bool = True) -> Mean:
    """The mean with an error that allows for an event of this chance, never drawn, which changes a draw by `reach`.

    least: where that is less than the value, by the value.
    """
    reach = max(reach, abs(mean.value)) if least else reach
    if chance * reach <= NEGLIGIBLE * mean.std_error:
        return mean
    return mean._replace(std_error=float(np.hypot(mean.std_error, chance * reach)))


def drawn_counts(states: IntArray, parent: IntArray | None, n_states: int, group: IntArray | None = None) -> Array:
    """(n, K + G K K): the first state of draws (n, N), and how often each state follows each, by group where there are
    groups (N,); without parent on a chain.

    The drawn states are counted, not their posteriors, which are never exactly zero.
    """
    count = len(states)
    above = states[:, :-1] if parent is None else states[:, parent[1:]]
    code = n_states + above * n_states + states[:, 1:]
    width = n_states * (n_states + 1)
    if group is not None:
        code += n_states**2 * group[1:]
        width += n_states**2 * int(group.max())
    code = np.concatenate([states[:, :1], code], axis=1) + width * np.arange(count)[:, None]
    return np.bincount(code.ravel(), minlength=count * width).reshape(count, width).astype(np.float64)


def missed(counts: Array, means: Array, costs: Array, steps: int = 1) -> float:
    """What a draw lacks on average, at most: counts (n, E) of events, their means, and what one more may add.

    Events that never happened, or far less often than they should have, among these draws; the counts may be means
    over `steps`.
    """
    n = len(counts)
    if not n or not counts.size:
        return 0.0
    drawn = counts.mean(axis=0)
    off = np.abs(drawn - means)
    apart = counts - drawn
    variance = np.einsum("ij,ij->j", apart, apart) / n
    allowed = np.where(drawn * n * steps < FEW, DOUBTFUL, FAIR) * np.sqrt(variance / n)
    doubtful = off > allowed + 1e-9 * means
    return float(off[doubtful] @ costs[doubtful])


def event_costs(p: Model, q: Model, jumps: bool, apart: Array | None = None) -> Array:
    """(K + K K,): nats that one more first state or transition of p may add to a draw: what its state shows, in the
    state of q that fits best, and where no step is averaged beforehand what q's transitions cost (`jumps`).

    apart: as `visit_costs` takes it.
    """
    visits = visit_costs(p, q, apart)
    if jumps:
        parts = np.concatenate([np.ravel(q.initial), np.ravel(q.transitions)])
        visits = visits - np.log(parts[parts > 0].min())
    return np.tile(visits, 1 + p.n_states)


def visit_costs(p: Model, q: Model, apart: Array | None = None) -> Array:
    """(K,): nats by which an observation of each state of p tells p from q, q in the state that fits best.

    apart: the divergences of p's emissions from q's, where they are known already.
    """
    apart = emissions_apart(p, q) if apart is None else apart
    if apart is not None:
        costs = apart.min(axis=2)
    else:
        groups = range(max(len(p.emissions), len(q.emissions)))
        costs = np.stack([_drawn(p, q, min(g, len(p.emissions) - 1), min(g, len(q.emissions) - 1)) for g in groups])
    return np.asarray(np.minimum(np.nan_to_num(costs, nan=MOST, posinf=MOST), MOST).max(axis=0))


def emissions_apart(p: Model, q: Model) -> Array | None:
    """(G or 1, K, L): KL of every emission of p from every emission of q; None where there is no formula for it."""
    return emission_pairs(p, q) if closed(p, q) and by_formula(p, q) else None


def _drawn(p: Model, q: Model, at_p: int, at_q: int) -> Array:
    """The same by a few observations of each state, always the same ones."""
    one, two, states = p.emissions[at_p], q.emissions[at_q], np.repeat(np.arange(p.n_states), DRAWN)
    if not one.n_features:
        return np.zeros(p.n_states)
    x = one.draw(states, np.random.default_rng(0))
    with np.errstate(invalid="ignore"):
        own = log_weights(one, x)[np.arange(len(x)), states] - log_weights(two, x).max(axis=1)
    own = np.minimum(np.nan_to_num(own, nan=MOST, posinf=MOST, neginf=0.0), MOST)
    return np.asarray(np.maximum(own.reshape(p.n_states, DRAWN).mean(axis=1), 0.0))
