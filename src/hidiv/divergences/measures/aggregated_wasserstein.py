"""The aggregated Wasserstein distance of Chen, Ye and Li (2017) (definitions (10.6))."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_diag, csr_matrix, kron, vstack

from hidiv.arguments import number
from hidiv.divergences.measures.measure import Measure
from hidiv.divergences.measures.stationary_states import stationary_pair
from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.family import Family
from hidiv.errors import HidivError, IncompatibleModels, refuse
from hidiv.types import Array

Ground = Callable[[Family, Family], Any]  # (K,) and (K',) states -> (K, K') distances
TIE = 1e-6  # weight of squared distances, which choose among optimal plans

Rows = Literal["within", "across"]


def aggregated_wasserstein(
    p: Any, q: Any, alpha: float = 0.5, ground: Ground | None = None, *, rows: Rows = "within"
) -> Measure:
    """The aggregated Wasserstein distance: what it costs to carry the states and transitions of p over to q.

    Parameters
    ----------
    p, q : Model or fitted model of a supported library
        The two models, with any numbers of states and one group.
    alpha : float, default 0.5
        The weight of the transitions, in [0, 1]; the states have 1 - alpha.
    ground : function, optional
        ground(a, b) of two families gives (K, K') distances of their states, 0 for equal ones. Not needed for Gaussian
        emissions, which have the 2-Wasserstein distance.
    rows : {"within", "across"}, default "within"
        What carrying mass between two rows of transitions costs. Both rows are laws of the states of one model, so the
        distances among those states are meant ("within"). "across" takes the distances between the two models, as the
        authors' program does: it needs equal numbers of states in a common order, as it depends on the labels.

    Returns
    -------
    Measure
        At least 0, in the unit of the ground distance; finite for zeros, and free of labels.

    Raises
    ------
    IncompatibleModels
        Where the models have groups, or a ground distance is needed.

    Notes
    -----
    Chen, Ye and Li (2017), definitions (10.6). The transport plan of the stationary laws registers the states; of
    several optimal ones that with the least squared distances counts. Symmetric up to ties of that. Transport problems
    are solved by HiGHS in scipy.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], hd.Gaussian([0.0, 5.0], std=[1.0, 1.0]))
    >>> q = hd.Model([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], hd.Gaussian([5.0, 0.0], std=[1.0, 1.0]))
    >>> round(hd.aggregated_wasserstein(p, q).value, 10)
    0.5
    """
    weight = float(number("alpha", alpha))
    if not 0.0 <= weight <= 1.0:
        refuse(HidivError, "alpha", "must lie in [0, 1]", alpha)
    if rows not in ("within", "across"):
        refuse(HidivError, "rows", 'must be "within" or "across"', rows)
    pair, nu, other = stationary_pair("aggregated_wasserstein", p, q)
    if rows == "across" and not pair.same_states:
        refuse(IncompatibleModels, "rows", '"across" needs equal numbers of states', remedy='use rows="within"')
    a, b = pair.p.emissions[0], pair.q.emissions[0]
    apart = _distances(a, b, ground)
    # Distances along a line have many optimal plans; of those the one with the least squares registers the states.
    square = apart * apart / max(float(apart.max()), 1e-300)
    cheapest, plan = transport([nu, nu], [other, other], [apart, apart + TIE * square])
    states = float((cheapest * apart).sum())
    transitions = 0.0
    if weight > 0:
        to_q = _normalised(plan, 1)  # (K, K'): of a state of p, the states of q
        to_p = _normalised(plan, 0).T  # (K', K): of a state of q, the states of p
        here, there = pair.p.transitions[0], pair.q.transitions[0]
        moved_q, moved_p = to_p @ here @ to_q, to_q @ there @ to_p
        own, others = (_distances(a, a, ground), _distances(b, b, ground)) if rows == "within" else (apart, apart)
        left, right = [*moved_q, *here], [*there, *moved_p]
        costs = [others] * len(there) + [own] * len(here)
        used = np.concatenate([other, nu]) > 0
        chosen = [i for i in range(len(left)) if used[i]]
        plans = transport([left[i] for i in chosen], [right[i] for i in chosen], [costs[i] for i in chosen])
        shares = np.concatenate([other, nu])[chosen]
        transitions = float(sum(s * (x * costs[i]).sum() for s, x, i in zip(shares, plans, chosen, strict=True)))
    value = (1.0 - weight) * states + weight * transitions
    notes = [f"states {states:.10g}, transitions {transitions:.10g}"] if weight else []
    return Measure(max(value, 0.0), "aggregated Wasserstein distance", notes=notes, subject=pair.both)


def gaussian_distance(p: Gaussian, q: Gaussian) -> Array:
    """(K, K'): 2-Wasserstein distances of normal laws."""
    means = [np.reshape(f.mean, (f.n_states, -1)) for f in (p, q)]
    square = ((means[0][:, None] - means[1][None]) ** 2).sum(axis=2)
    if p.cov is None and q.cov is None:
        return np.asarray(np.sqrt(square + ((p.deviation[:, None] - q.deviation[None]) ** 2).sum(axis=2)))
    covariances = [f.cov if f.cov is not None else np.stack([np.diag(v) for v in f.variance]) for f in (p, q)]
    out = np.empty(square.shape)
    for s, one in enumerate(covariances[0]):
        root = _root(one)
        for t, two in enumerate(covariances[1]):
            between = np.linalg.eigvalsh(root @ two @ root)
            spread = np.trace(one) + np.trace(two) - 2.0 * np.sqrt(np.maximum(between, 0.0)).sum()
            same = np.array_equal(one, two)
            out[s, t] = np.sqrt(square[s, t] + (0.0 if same else max(float(spread), 0.0)))
    return out


def _root(matrix: Array) -> Array:
    """The square root of a symmetric matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _distances(p: Family, q: Family, ground: Ground | None) -> Array:
    """(K, K'): the ground distance, checked."""
    if ground is None:
        if not (isinstance(p, Gaussian) and isinstance(q, Gaussian)):
            rule = f"{p.name} emissions have no 2-Wasserstein distance here"
            refuse(IncompatibleModels, "ground", rule, remedy="give ground, a function of two families")
        return gaussian_distance(p, q)
    table = np.asarray(ground(p, q), dtype=np.float64)
    if table.shape != (p.n_states, q.n_states) or not (np.isfinite(table) & (table >= 0)).all():
        rule = f"must give a table {(p.n_states, q.n_states)} of distances from 0"
        refuse(HidivError, "ground", rule, f"shape {table.shape}")
    return table


def transport(left: list[Array], right: list[Array], costs: list[Array]) -> list[Array]:
    """Optimal transport plans of some pairs of laws, in one linear programme."""
    left = [np.maximum(law, 0.0) / np.maximum(law, 0.0).sum() for law in left]
    right = [np.maximum(law, 0.0) / np.maximum(law, 0.0).sum() for law in right]
    shapes = [cost.shape for cost in costs]
    constraints = block_diag([_marginals(*shape) for shape in shapes], format="csr")
    # The last column of each law follows from the others: left out, rounding cannot make the programme infeasible.
    masses = np.concatenate([np.concatenate([a, b[:-1]]) for a, b in zip(left, right, strict=True)])
    solved = linprog(
        np.concatenate([cost.ravel() for cost in costs]), A_eq=constraints, b_eq=masses, bounds=(0, None),
        method="highs",
    )  # fmt: skip
    if solved.x is None:
        refuse(HidivError, "transport", "the linear programme was not solved", solved.message)
    ends = np.cumsum([a * b for a, b in shapes])[:-1]
    return [np.maximum(x, 0.0).reshape(shape) for x, shape in zip(np.split(solved.x, ends), shapes, strict=True)]


def _marginals(rows: int, columns: int) -> csr_matrix:
    """The sums of rows and, but for the last, of columns of a plan that is listed row by row."""
    by_row = kron(np.eye(rows), np.ones((1, columns)))
    by_column = kron(np.ones((1, rows)), np.eye(columns)[:-1])
    return csr_matrix(vstack([by_row, by_column]))


def _normalised(plan: Array, axis: int) -> Array:
    """Rows or columns of a plan that sum to one; those without mass stay 0."""
    total = plan.sum(axis=axis, keepdims=True)
    return np.asarray(np.divide(plan, total, out=np.zeros_like(plan), where=total > 0))
