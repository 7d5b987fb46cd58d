"""Blocks of states that no later observation tells apart: partition refinement, within a tolerance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hidiv.emissions.family import Family
from hidiv.models.model import Model
from hidiv.types import Array, Flags, IntArray


def refined(labels: IntArray, signature: Callable[[Array], Array], tolerance: float) -> IntArray:
    """(n,): the coarsest partition, finer than `labels`, whose blocks hold states of equal signatures.

    signature takes the indicators of the blocks (n, B) and gives the states' rows (n, m); rows are equal within the
    tolerance.
    """
    while True:
        blocks = indicators(labels)
        finer = _split(labels, signature(blocks), tolerance)
        if finer.max() + 1 == blocks.shape[1]:
            return finer
        labels = finer


def indicators(labels: IntArray) -> Array:
    """(n, B): 1 where a state is in a block."""
    return np.eye(int(labels.max()) + 1)[labels]


def _split(labels: IntArray, rows: Array, tolerance: float) -> IntArray:
    """Blocks split into states with equal rows, numbered by their first state."""
    finer = np.full(len(labels), -1, dtype=np.int64)
    count = 0
    for s in range(len(labels)):
        if finer[s] >= 0:
            continue
        same = (labels == labels[s]) & (finer < 0) & alike(rows, rows[s], tolerance).all(axis=1)
        finer[same] = count
        count += 1
    return finer


def alike(a: Array, b: Array, tolerance: float) -> Flags:
    """Where two probabilities differ relatively by at most the tolerance; only 0 is like 0."""
    return np.asarray(np.abs(a - b) <= tolerance * np.maximum(np.abs(a), np.abs(b)))


def lumped(model: Model, member: Array, share: Array, emissions: Sequence[Family]) -> Model:
    """The model whose state b is a block: entered as its states together, going on as their average.

    member (K, B): 1 where a state is in a block; share (K, B): the weights of the average, columns sum to one;
    emissions: the laws of the blocks.
    """
    transitions = [
        share.T @ t @ member if present else None
        for t, present in zip(model.transitions, model.has_transition, strict=True)
    ]
    names = None
    if model.state_names is not None:
        names = ["+".join(model.state_names[s] for s in np.flatnonzero(column)) for column in member.T]
    return Model(
        model.initial @ member, transitions, emissions, name=model.name, state_names=names,
        end=None if model.end is None else share.T @ model.end, symbol_names=model.symbol_names,
        column_names=model.column_names,
    )  # fmt: skip


def same_on_trees(p: Model, q: Model, tables: tuple[Array, ...], tolerance: float) -> bool:
    """Whether two models are the same process on all trees; tables (K, S), (K', S): their letters.

    What a subtree can show, as functions of the state above it, is closed under products (siblings are independent),
    so these functions are all that are constant on the blocks of a partition: the coarsest in which the states of a
    block give each letter in each block the same probability. The models are equal where their roots do too.
    """
    n, first = p.n_states + q.n_states, p.n_states
    transition = np.zeros((n, n))
    transition[:first, :first], transition[first:, first:] = p.transitions[0], q.transitions[0]
    letters = np.concatenate(tables)

    def following(blocks: Array) -> Array:
        return (transition @ (blocks[:, :, None] * letters[:, None, :]).reshape(n, -1)).reshape(n, -1)

    blocks = indicators(refined(np.zeros(n, dtype=np.int64), following, tolerance))
    roots = [
        (initial[:, None, None] * blocks[part][:, :, None] * letters[part][:, None, :]).sum(axis=0)
        for initial, part in ((p.initial, slice(first)), (q.initial, slice(first, None)))
    ]
    return bool(alike(roots[0], roots[1], tolerance).all())
