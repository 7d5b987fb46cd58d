"""The laws of one column in every state of two models, as curves over values or as bars of symbols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.sample_space import Kind
from hidiv.errors import HidivError
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.emissions.family import Family
    from hidiv.models.model import Model

POINTS = 161  # of a curve
DRAWS = 400  # in each state, to find where the values lie
BARS = 40  # symbols or counts that are drawn as bars


@dataclass(frozen=True, eq=False)
class Curves:
    """Densities or probabilities (K, n) of p and q at the values x, of one column."""

    column: str
    x: Array
    p: Array
    q: Array
    discrete: bool
    labels: tuple[str, ...] = ()  # of the symbols, if they have names


@dataclass(frozen=True, eq=False)
class Ellipses:
    """Means (K, 2) and covariances (K, 2, 2) of two Gaussian columns in every state of p and q."""

    columns: tuple[str, str]
    p: tuple[Array, Array]
    q: tuple[Array, Array]


def column_name(model: Model, column: int) -> str:
    """The name of a column, or "column 0"; "observation" where there is one without a name."""
    if model.column_names is not None:
        return model.column_names[column]
    return "observation" if model.n_features <= 1 else f"column {column}"


def curves(p: Model, q: Model, group: int = 0, most: int = 3) -> list[Curves]:
    """The columns that differ most, at most `most` of them, each as curves or bars."""
    left, right = (model.emissions[min(group, len(model.emissions) - 1)] for model in (p, q))
    drawn = []
    for column in most_different(left, right)[:most]:
        one, other = (family.select([column]) if family.n_features > 1 else family for family in (left, right))
        x, discrete = values(one, other)
        if not len(x):
            continue
        names = None if p.symbol_names is None else p.symbol_names[column]
        labels = tuple(names[int(v)] for v in x) if discrete and names is not None and len(names) >= len(x) else ()
        with np.errstate(over="ignore", under="ignore"):
            densities = [np.exp(family.log_prob(x[:, None])).T for family in (one, other)]
        drawn.append(Curves(column_name(p, column), x, densities[0], densities[1], discrete, labels))
    return drawn


def ellipses(p: Model, q: Model, group: int = 0) -> Ellipses | None:
    """The two columns that differ most of Gaussian emissions with two columns or more; None for other emissions."""
    left, right = (model.emissions[min(group, len(model.emissions) - 1)] for model in (p, q))
    if not (isinstance(left, Gaussian) and isinstance(right, Gaussian)) or left.n_features < 2:
        return None
    a, b = sorted(most_different(left, right)[:2])
    sides = []
    for family in (left, right):
        cov = family.cov if family.cov is not None else np.stack([np.diag(v) for v in family.variance])
        sides.append((np.asarray(family.mean)[:, [a, b]], np.asarray(cov)[:, [a, b]][:, :, [a, b]]))
    return Ellipses((column_name(p, a), column_name(p, b)), sides[0], sides[1])


def most_different(left: Family, right: Family) -> list[int]:
    """The columns, those first whose laws differ most; none where columns cannot be taken apart."""
    if left.n_features <= 1:
        return list(range(left.n_features))
    try:
        apart = [_apart(left.select([f]), right.select([f])) for f in range(left.n_features)]
    except (HidivError, TypeError, ValueError, IndexError):
        return []
    return sorted(range(left.n_features), key=lambda f: -apart[f])


def _apart(left: Family, right: Family) -> float:
    """The divergences of all states together; 0 where there is none in closed form or the states are not paired."""
    if left.n_states != right.n_states:
        return 0.0
    try:
        return float(np.sum(left.kl(right)))
    except HidivError:
        return 0.0


def values(left: Family, right: Family) -> tuple[Array, bool]:
    """Values at which to draw two laws of one column, and whether they are symbols or counts."""
    space = left.space
    if space.kind in (Kind.NOTHING, Kind.VECTOR):
        return np.empty(0), False
    if space.kind in (Kind.SYMBOLS, Kind.BIT):
        return np.arange(min(int(space.most) + 1, BARS), dtype=np.float64), True
    rng = np.random.default_rng(0)
    drawn = [
        family.sample(np.repeat(np.arange(family.n_states), DRAWS), rng).reshape(family.n_states, DRAWS)
        for family in (left, right)
    ]  # fmt: skip
    # Each state on its own, so that one wide state does not hide the others.
    ends = np.concatenate([np.quantile(one, [0.005, 0.995], axis=1) for one in drawn], axis=1)
    low, high = float(ends[0].min()), float(ends[1].max())
    if space.is_counts:
        first, last = int(low), int(high)
        step = max(1, (last - first) // BARS + 1)
        return np.arange(first, last + 1, step, dtype=np.float64), True
    if space.kind is Kind.ANGLE:
        return np.linspace(-np.pi, np.pi, POINTS), False
    room = 0.08 * (high - low) or 1.0
    floor = 0.0 if space.kind in (Kind.POSITIVE, Kind.UNIT) else -np.inf
    roof = 1.0 if space.kind is Kind.UNIT else np.inf
    grid = np.linspace(max(low - room, floor), min(high + room, roof), POINTS)
    inner = grid[(grid > floor) & (grid < roof)]
    # A narrow law would fall between the points: quantiles of every state are points too.
    inside = np.concatenate([np.quantile(one, [0.1, 0.3, 0.5, 0.7, 0.9], axis=1).ravel() for one in drawn])
    return np.unique(np.concatenate([inner, inside[(inside > inner[0]) & (inside < inner[-1])]])), False
