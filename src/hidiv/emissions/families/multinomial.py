"""Counts of symbols in a fixed number of trials; the columns depend on each other, they sum to the trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from hidiv.emissions.family import Family, check_whole
from hidiv.emissions.gradients import Gradients, Items
from hidiv.emissions.numerics.deviance import times
from hidiv.emissions.parameters import counts, distributions
from hidiv.emissions.registry import FamilyPair, register
from hidiv.emissions.sample_space import Kind, SampleSpace, counts_up_to
from hidiv.emissions.statistics import Statistics
from hidiv.emissions.weighted import Weighted
from hidiv.errors import InvalidEvidence, InvalidModel, counted, refuse
from hidiv.recursions import terms
from hidiv.types import Array, Flags, IntArray

ROWS_OF_COUNTS = SampleSpace(Kind.VECTOR, words="rows of counts")


@dataclass(frozen=True, eq=False)
class Multinomial(Family):
    """Counts of symbols in a fixed number of trials.

    Parameters
    ----------
    trials : array_like
        (K,): whole numbers from 0; the counts of a row sum to them.
    probs : array_like
        (K, M): the probability of each symbol in each state; rows sum to one within 1e-8.

    Raises
    ------
    InvalidModel
        If a parameter has not that shape or range; the message names the entry.

    Notes
    -----
    P(X = x | S = s) = trials[s]! prod_m probs[s, m]^x_m / x_m!: e_s(x) of definitions (1.1). Counts that are not seen
    are summed over; intervals are refused.

    Examples
    --------
    >>> round(float(Multinomial([2], [[0.5, 0.5]]).kl(Multinomial([2], [[0.25, 0.75]]))[0]), 15)
    0.287682072451781
    """

    name: ClassVar[str] = "multinomial"
    trials: Array  # (K,)
    probs: Array  # (K, M)

    def __init__(self, trials: ArrayLike, probs: ArrayLike) -> None:
        object.__setattr__(self, "trials", counts("trials", trials, (1,)))
        object.__setattr__(self, "probs", distributions("probs", probs, (2,)))
        if len(self.trials) != len(self.probs):
            refuse(
                InvalidModel,
                "probs",
                f"needs a row for each of the {counted(len(self.trials), 'state')}",
                len(self.probs),
            )

    @property
    def n_features(self) -> int:
        return int(self.probs.shape[1])

    @property
    def is_scalar(self) -> bool:
        return False

    def parameters(self) -> dict[str, Array]:
        return {"trials": self.trials, "probs": self.probs}

    def select(self, columns: ArrayLike) -> Self:
        refuse(
            InvalidEvidence, "x", "some counts of a multinomial row, without the rest, have no law of their own",
            remedy="show all of a row or none",
        )  # fmt: skip

    @property
    def space(self) -> SampleSpace:
        return ROWS_OF_COUNTS

    def column_spaces(self) -> tuple[SampleSpace, ...]:
        return (counts_up_to(float(self.trials.max())),) * self.n_features

    @classmethod
    def begin(cls, n_states: int, x: Array | None, n_symbols: int) -> Self:
        """As many trials as every row that is wholly seen has."""
        if x is None:
            rule = f"{cls.name} cannot be fitted to evidence without values"
            refuse(InvalidModel, "emission", rule, remedy="use silent")
        totals = np.unique(x[~np.isnan(x).any(axis=1)].sum(axis=1))
        if len(totals) != 1 or not (np.isfinite(totals[0]) and totals[0] >= 0):
            refuse(
                InvalidModel, "emission", f"{cls.name} needs rows of counts that all have one sum", totals[:3].tolist(),
                "give a template, for example hd.Multinomial([5], [[0.5, 0.5]])",
            )  # fmt: skip
        return cls(np.repeat(totals, n_states), np.full((n_states, x.shape[1]), 1.0 / x.shape[1]))

    def check(self, x: Array) -> None:
        """Whole numbers, and totals that some state has: as many as its trials, or fewer while some are not seen."""
        check_whole(x, self.name, float(self.trials.max()))
        total, whole = np.nansum(x, axis=1), ~np.isnan(x).any(axis=1)
        bad = np.where(whole, ~np.isin(total, self.trials), total > self.trials.max())
        if bad.any():
            node = int(np.argmax(bad))
            wanted = ", ".join(f"{n:.0f}" for n in np.unique(self.trials))
            refuse(InvalidEvidence, f"x[{node}]", f"multinomial counts must sum to {wanted}", f"{total[node]:.0f}")

    def log_density(self, x: Array) -> Array:
        """The factor of each column; the first has that of the trials too, and says what does not sum to them."""
        value = times(x[:, None, :], self._log_probs()) - gammaln(x + 1.0)[:, None, :]
        fits = np.nansum(x, axis=1, keepdims=True) == self.trials
        value[:, :, 0] += np.where(fits, gammaln(self.trials + 1.0), -np.inf)
        return np.asarray(value)

    def log_mass(self, lower: Array, upper: Array) -> Array:
        """Of each count alone, which is binomial."""
        from hidiv.emissions.families.binomial import Binomial

        return Binomial(np.repeat(self.trials[:, None], self.n_features, axis=1), self.probs).log_mass(lower, upper)

    def log_weight(self, x: Array, lower: Array | None = None, upper: Array | None = None) -> Array:
        self.check(x)
        hidden = np.isnan(x)
        if lower is not None and upper is not None and (hidden & ((lower > -np.inf) | (upper < np.inf))).any():
            refuse_intervals()
        seen, rest = np.where(hidden, 0.0, x), self.trials - np.nansum(x, axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = gammaln(self.trials + 1.0) - gammaln(seen + 1.0).sum(axis=1)[:, None]
            value = value + times(seen[:, None, :], self._log_probs()).sum(axis=2)
            value = value + times(rest, np.log(hidden @ self.probs.T)) - gammaln(np.maximum(rest, 0.0) + 1.0)
        nothing = hidden.all(axis=1, keepdims=True)
        return np.where(nothing, 0.0, np.where(self._fits(hidden, rest), value, -np.inf))

    def draw(self, states: IntArray, rng: np.random.Generator) -> Array:
        return np.asarray(rng.multinomial(self.trials[states].astype(np.int64), self.probs[states]), dtype=np.float64)

    def ranges(self) -> dict[str, str]:
        return {"trials": "fixed", "probs": "rows"}

    def maximise(self, known: Weighted, fixed: frozenset[str] = frozenset()) -> Self:
        """Shares of the counts; trials that fell on counts not seen are shared out by the law so far."""
        if "probs" in fixed:
            return self
        counts = known.weight.T @ known.values
        part = np.flatnonzero(~known.seen.all(axis=1) & known.seen.any(axis=1))
        if part.size:
            hidden = (~known.seen[part]).astype(np.float64)
            rest = self.trials - known.values[part].sum(axis=1, keepdims=True)
            with np.errstate(divide="ignore", invalid="ignore"):
                share = known.weight[part] * rest / (hidden @ self.probs.T)
            counts += self.probs * (np.where(np.isfinite(share), np.maximum(share, 0.0), 0.0).T @ hidden)
        total = counts.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            return type(self)(self.trials, np.where(total > 0, counts / total, self.probs))

    def gradients(self, known: Weighted, items: Items) -> Gradients:
        """Counts over probabilities; the trials left for the columns not seen over the sum of their probabilities."""
        hidden, total = np.isnan(known.x), np.nansum(known.x, axis=1, keepdims=True)
        some = ~hidden.all(axis=1, keepdims=True) & (known.weight > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(hidden, 0.0, known.x)[:, None, :] / self.probs
            rest = (self.trials - total) / (hidden @ self.probs.T)
        slopes = np.where(hidden[:, None, :], rest[:, :, None], each)
        free = some[:, :, None] & (self.probs > 0)
        return {"probs": items.sum(np.where(free, known.weight[:, :, None] * slopes, 0.0))}

    def statistics(self) -> Statistics:
        """Only laws with the same trials make one exponential family: the trials are in the key."""
        key = (self.name, self.n_features, tuple(self.trials.tolist()))
        return Statistics(key, self.trials[:, None] * self.probs, self._log_probs())

    def _log_probs(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probs))

    def _fits(self, hidden: Flags, rest: Array) -> Flags:
        """(n, K): whether what is seen leaves a number of trials that the counts not seen can take."""
        return np.where(hidden.any(axis=1, keepdims=True), rest >= 0, rest == 0)


def refuse_intervals() -> NoReturn:
    """Counts within bounds would need sums over all rows."""
    refuse(
        InvalidEvidence, "lower", "intervals on multinomial counts have no closed form", remedy="give counts or none"
    )


def kl(p: Multinomial, q: Multinomial) -> Array:
    """Infinite where the trials differ: the two have no row in common."""
    return np.where(p.trials == q.trials, times(p.trials, terms.row_divergence(p.probs, q.probs)), np.inf)


def renyi(p: Multinomial, q: Multinomial, alpha: float) -> Array:
    return np.where(p.trials == q.trials, times(p.trials, terms.row_renyi(p.probs, q.probs, alpha)), np.inf)


def log_ratio(p: Multinomial, q: Multinomial, x: Array) -> Array:
    """Count by count where the trials agree; what is not seen as one more count, of the rest."""
    hidden = np.isnan(x)
    seen, rest = np.where(hidden, 0.0, x), p.trials - np.nansum(x, axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = times(seen[:, None, :], terms.log_ratio(p.probs, q.probs)).sum(axis=2)
        same = each + times(rest, terms.log_ratio(hidden @ p.probs.T, hidden @ q.probs.T))
        there_p, there_q = p.log_weight(x), q.log_weight(x)
        value = np.where((p.trials == q.trials) & np.isfinite(there_p) & np.isfinite(there_q), same, there_q - there_p)
    return np.where(hidden.all(axis=1, keepdims=True) | np.isnan(value), 0.0, value)


def gaps(p: Multinomial, q: Multinomial) -> list[str | None]:
    missing_values: list[str | None] = []
    for n, m, first, second in zip(p.trials, q.trials, p.probs, q.probs, strict=True):
        missing = (first > 0) & (second == 0) & (n > 0)
        if n != m:
            missing_values.append(f"counts that sum to {n:.0f}")
        else:
            missing_values.append(f"count {int(np.argmax(missing))} above 0" if missing.any() else None)
    return missing_values


def residual(
    p: Multinomial, q: Multinomial, x: Array, lower: Array | None, upper: Array | None, inside: Flags | None
) -> Array:
    """(R, K): KL of the counts not seen given the others, a multinomial law of the trials that are left."""
    from hidiv.emissions.evidence.log_ratios import where_possible
    from hidiv.emissions.evidence.symbol_sets import by_distinct_row, set_divergence

    hidden = np.isnan(x)
    left = np.where(hidden.any(axis=1, keepdims=True), p.trials - np.nansum(x, axis=1, keepdims=True), 0.0)
    each = by_distinct_row(hidden, lambda sets: set_divergence(p.probs, q.probs, sets))
    value = np.where((left > 0) & (p.trials != q.trials), np.inf, times(left, each))
    return where_possible(p, x, lower, upper, inside, value)


register(Multinomial, Multinomial, FamilyPair(kl, renyi, log_ratio, gaps, residual=residual))
