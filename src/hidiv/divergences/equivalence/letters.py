"""The observations of models as formal letters: what two models can show differently is decided letter by letter.

Symbols are letters. Of other families the distinct laws are the letters, which is exact where distinct laws are
linearly independent as functions: a sum of them that vanishes everywhere has no terms. A state's observation is then a
combination of letters: its law alone, or several with the weights of a mixture.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hidiv.emissions.families.categorical import check_alphabets
from hidiv.emissions.family import MOST_SYMBOLS, Family
from hidiv.errors import IncompatibleModels, refuse
from hidiv.types import Array, IntArray

DRAWS = 24  # of each law, at which laws are compared
RANK = 1e-12  # of a letter's length: smaller remainders are rounding


class Letters(NamedTuple):
    """The weight of every letter in every state, for several families of the same observations."""

    tables: tuple[Array, ...]  # (K_i, S) for family i
    rows: Array | None  # (S, F): the observation that a letter is; None where letters are laws


def letters_of(families: Sequence[Family], tolerance: float) -> Letters:
    """The letters of families that show the same observations; families without exact letters are refused."""
    parts: list[Family] = []
    mixed: list[tuple[int, int]] = []
    for family in families:
        members = family.members() if family.nested == "components" and family.alphabet() is None else (family,)
        mixed.append((len(parts), len(parts) + len(members)))
        parts.extend(members)
    unmixed = _unmixed(parts, tolerance)
    tables = []
    for family, (first, last) in zip(families, mixed, strict=True):
        if last - first == 1:
            tables.append(unmixed.tables[first])
        else:
            weights = np.asarray(family.weights)  # type: ignore[attr-defined]
            tables.append(np.einsum("kc,cks->ks", weights, np.stack(unmixed.tables[first:last])))
    return Letters(tuple(np.asarray(table) for table in tables), unmixed.rows)


def few(letters: Letters, most: int) -> Letters:
    """At most `most` letters: all of them, or as many as span them."""
    if letters.tables[0].shape[1] <= most:
        return letters
    kept = np.sort(spanning(np.concatenate(letters.tables).T))
    rows = None if letters.rows is None else letters.rows[kept]
    return Letters(tuple(table[:, kept] for table in letters.tables), rows)


def own_laws(family: Family, tolerance: float) -> Array:
    """(K, m): rows that are equal where the laws of two states are; of any family."""
    if not family.n_features:
        return np.zeros((family.n_states, 0))
    if family.alphabet() is not None:
        return family.symbol_table()
    (number,) = _classes([family], tolerance)
    return np.eye(int(number.max()) + 1)[number]


def _unmixed(parts: list[Family], tolerance: float) -> Letters:
    """The letters of families that are no mixtures."""
    if not parts[0].n_features:
        return Letters(tuple(np.ones((part.n_states, 1)) for part in parts), np.zeros((1, 0)))
    alphabets = [part.alphabet() for part in parts]
    if all(alphabet is not None for alphabet in alphabets):
        for one, two in pairwise(alphabet for alphabet in alphabets if alphabet is not None):
            check_alphabets(len(one), len(two))
        return Letters(tuple(part.symbol_table() for part in parts), alphabets[0])
    products = [part.members() for part in parts if part.nested == "families"]
    if products and len({tuple(m.n_features for m in members) for members in products}) == 1 == len(parts) // len(
        products
    ):
        return _crossed([letters_of(list(column), tolerance) for column in zip(*products, strict=True)])
    by_column = any(_listed(part) for part in parts) or bool(products)
    if by_column and parts[0].n_features > 1:
        columns = [[part.select([c]) for part in parts] for c in range(parts[0].n_features)]
        return _crossed([letters_of(column, tolerance) for column in columns])
    return _laws(parts, tolerance)


def _listed(part: Family) -> bool:
    """Whether a family's columns take finitely many values each, and are independent."""
    return part.density_adds_up and all(space.is_finite for space in part.column_spaces())


def _laws(parts: list[Family], tolerance: float) -> Letters:
    """One letter a distinct law; laws of finitely many counts are sums of their counts instead."""
    counts = [part for part in parts if _listed(part)]
    most = max((int(part.space.most) for part in counts), default=-1)
    others = [part for part in parts if part not in counts]
    for part in others:
        if not part.laws_independent:  # beta(2, 1) and beta(1, 2) mix to the uniform law
            rule = f"{part.name} laws may be sums of other {part.name} laws, so equality cannot be decided exactly"
            refuse(IncompatibleModels, "emission", rule, remedy="use hd.observed_kl, which bounds or estimates it")
    if most + 1 > MOST_SYMBOLS:
        rule = f"counts up to {MOST_SYMBOLS - 1} can be listed"
        refuse(IncompatibleModels, "emission", rule, most, "use hd.observed_kl")
    which = iter(_classes(others, tolerance)) if others else iter(())
    tables, n_laws, labels = [], 0, []
    for part in parts:
        label = None if part in counts else next(which)
        labels.append(label)
        n_laws = n_laws if label is None else max(n_laws, int(label.max()) + 1)
    values = np.arange(most + 1.0)[:, None]
    for part, label in zip(parts, labels, strict=True):
        table = np.zeros((part.n_states, most + 1 + n_laws))
        if label is None:
            own = values[: int(part.space.most) + 1]
            table[:, : len(own)] = np.exp(part.log_weight(own)).T
        else:
            table[np.arange(part.n_states), most + 1 + label] = 1.0
        tables.append(table)
    return Letters(tuple(tables), None if n_laws else values)


def _classes(parts: list[Family], tolerance: float) -> list[IntArray]:
    """(K_i,) for each family: the number of each state's law; laws with equal densities have the same number."""
    rng = np.random.default_rng(0)
    points = points_of(parts, DRAWS, rng)
    with np.errstate(invalid="ignore"):
        laws = np.concatenate([part.log_weight(points).T for part in parts])  # (n, P)
    number = np.full(len(laws), -1, dtype=np.int64)
    count = 0
    for i in range(len(laws)):
        if number[i] >= 0:
            continue
        with np.errstate(invalid="ignore"):
            apart = np.abs(laws - laws[i])
        apart[np.isneginf(laws) & np.isneginf(laws[i])] = 0.0
        # Rounding of a log-density is relative to it; far out it is a difference of large numbers.
        room = tolerance * (1.0 + np.abs(np.where(np.isneginf(laws[i]), 0.0, laws[i])))
        number[(apart <= room).all(axis=1) & (number < 0)] = count
        count += 1
    return np.split(number, np.cumsum([part.n_states for part in parts])[:-1])


def points_of(families: Sequence[Family], draws: int, rng: np.random.Generator) -> Array:
    """(P, F): observations drawn from every state of every family."""
    return np.concatenate([family.draw(np.repeat(np.arange(family.n_states), draws), rng) for family in families])


def _crossed(columns: list[Letters]) -> Letters:
    """Letters of independent columns together: every combination, or as many as span them where those are too many."""
    sizes = [len(table) for table in columns[0].tables]
    table = np.concatenate(columns[0].tables)
    rows = columns[0].rows
    for column in columns[1:]:
        other = np.concatenate(column.tables)
        first, second = (index.ravel() for index in np.indices((table.shape[1], other.shape[1])))
        table = table[:, first] * other[:, second]
        both = (rows, column.rows)
        rows = None if both[0] is None or both[1] is None else np.hstack([both[0][first], both[1][second]])
        (table,), rows = few(Letters((table,), rows), MOST_SYMBOLS)
    return Letters(tuple(np.split(table, np.cumsum(sizes)[:-1])), rows)


def spanning(vectors: Array, basis: Array | None = None) -> IntArray:
    """Which of the vectors (C, n) span them all, with those of an orthonormal basis (r, n): the longest remainders."""
    from scipy.linalg import qr

    length = np.linalg.norm(vectors, axis=1)
    rest = vectors / np.where(length > 0, length, 1.0)[:, None]
    if basis is not None:
        for _ in range(2):  # twice: once leaves what rounding put back
            rest = rest - (rest @ basis.T) @ basis
    triangle, order = qr(rest.T, mode="r", pivoting=True, check_finite=False)
    return np.asarray(order[: int((np.abs(np.diagonal(triangle)) > RANK).sum())], dtype=np.int64)
