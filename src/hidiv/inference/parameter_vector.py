"""A model's parameters as one vector of coordinates without constraints, and gradients in them.

Rows that sum to one (the initial law, transitions with their ends, rows of probabilities) have log-ratio coordinates:
p = exp(z) / sum exp(z), one for every positive entry; entries that are 0 stay 0 and have none. A covariance has its
diagonal and what is above it; every other parameter is its own coordinate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hidiv.emissions.family import ABSORBING, Family
from hidiv.models.model import Model
from hidiv.types import Array, Flags

Path = tuple[str | int, ...]  # ("initial",), ("transition",), ("emission", group, "mean"), or deeper in a product


@dataclass(frozen=True, eq=False)
class ParameterBlock:
    """One parameter of a model: where it is, its value, and what it may be (`Family.ranges`)."""

    path: Path
    value: Array
    kind: str

    @cached_property
    def free(self) -> Flags:
        """Which entries have a coordinate, in the shape of the value."""
        if self.kind == "rows":
            return np.asarray(self.value > 0)
        if self.kind == "covariance":
            return np.broadcast_to(np.triu(np.ones(self.value.shape[-2:], dtype=np.bool_)), self.value.shape)
        return np.asarray(~np.isin(self.value, ABSORBING.get(self.kind, ())))

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return int(np.count_nonzero(self.free))

    def project(self, gradient: Array) -> Array:
        """(m, *shape) derivatives in the entries -> (m, size) in the coordinates."""
        if self.kind == "rows":
            gradient = on_simplex(self.value, self.value * gradient)
        elif self.kind == "covariance":
            off = ~np.eye(self.value.shape[-1], dtype=np.bool_)
            gradient = np.where(off, gradient + gradient.swapaxes(-1, -2), gradient)
        return gradient[:, self.free]

    def moved(self, step: Array) -> Array:
        """The value after a step (size,) of the coordinates."""
        change = np.zeros(self.value.shape)
        change[self.free] = step
        if self.kind == "rows":
            grown = self.value * np.exp(change - change.max(axis=-1, keepdims=True))
            total = grown.sum(axis=-1, keepdims=True)
            return np.asarray(np.where(total > 0, grown / np.where(total > 0, total, 1.0), grown))
        if self.kind == "covariance":
            mirrored = np.where(np.eye(self.value.shape[-1], dtype=np.bool_), 0.0, np.swapaxes(change, -1, -2))
            return np.asarray(self.value + change + mirrored)
        return np.asarray(self.value + change)

    def spread(self, covariance: Array) -> Array:
        """(size, size) covariance of the coordinates -> the variance of each entry, in the shape of the value."""
        if self.kind != "rows":
            variance = np.zeros(self.value.shape)
            variance[self.free] = np.diagonal(covariance)
            if self.kind == "covariance":
                variance = np.maximum(variance, variance.swapaxes(-1, -2))
            return variance
        slopes = np.zeros((self.size, self.size))  # of the entries in the coordinates: p_i (1{i = j} - p_j) in a row
        p = self.value[self.free]
        row = np.argwhere(self.free)[:, :-1]
        same = (row[:, None, :] == row[None, :, :]).all(axis=2)
        slopes = np.where(same, -np.outer(p, p), 0.0) + np.diag(p)
        variance = np.zeros(self.value.shape)
        variance[self.free] = np.einsum("ij,jk,ik->i", slopes, covariance, slopes)
        return variance


def on_simplex(rows: Array, counts: Array) -> Array:
    """The gradient in log-ratio coordinates of rows (..., M) from counts, which are entries times derivatives."""
    return np.asarray(counts - rows * counts.sum(axis=-1, keepdims=True))


def blocks_of(model: Model, fixed: frozenset[str] = frozenset()) -> list[ParameterBlock]:
    """All parameters of a model that are not fixed; ends are the last column of the transitions."""
    blocks = []
    if "initial" not in fixed:
        blocks.append(ParameterBlock(("initial",), model.initial, "rows"))
    if "transition" not in fixed:
        blocks.append(ParameterBlock(("transition",), stacked_rows(model), "rows"))
    if "emission" not in fixed:
        for g, family in enumerate(model.emissions):
            blocks += [block for block in _of_family(family, ("emission", g)) if block.path[-1] not in fixed]
    return [block for block in blocks if block.size]


def stacked_rows(model: Model) -> Array:
    """(G, K, K), or (G, K, K + 1) with the ends."""
    if model.end is None:
        return model.transitions
    return np.concatenate([model.transitions, model.end[None, :, None]], axis=2)


def _of_family(family: Family, path: Path) -> Iterator[ParameterBlock]:
    ranges = family.ranges()
    for name, value in family.parameters().items():
        if name == family.nested:
            for i, member in enumerate(value):
                yield from _of_family(member, (*path, name, i))
        elif ranges.get(name, "positive") != "fixed":
            yield ParameterBlock((*path, name), np.asarray(value), ranges.get(name, "positive"))


def moved(model: Model, blocks: list[ParameterBlock], step: Array) -> Model:
    """The model after a step (P,) of the coordinates of its blocks."""
    initial, rows = model.initial, stacked_rows(model)
    emissions = list(model.emissions)
    first = 0
    for block in blocks:
        value = block.moved(step[first : first + block.size])
        first += block.size
        if block.path == ("initial",):
            initial = value
        elif block.path == ("transition",):
            rows = value
        else:
            g = int(block.path[1])
            emissions[g] = _with(emissions[g], block.path[2:], value)
    k = model.n_states
    transitions = [t[:, :k] if present else None for t, present in zip(rows, model.has_transition, strict=True)]
    end = None if model.end is None else rows[0, :, k]
    return Model(
        initial, transitions, emissions, name=model.name, state_names=model.state_names, end=end,
        symbol_names=model.symbol_names, column_names=model.column_names,
    )  # fmt: skip


def _with(family: Family, path: Path, value: Array) -> Family:
    """The family with another value of one parameter."""
    parameters: dict[str, Any] = dict(family.parameters())
    name = str(path[0])
    if len(path) == 1:
        parameters[name] = value
    else:
        members = list(parameters[name])
        members[int(path[1])] = _with(members[int(path[1])], path[2:], value)
        parameters[name] = members
    built: Family = type(family)(**parameters)
    return built
