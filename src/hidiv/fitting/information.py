"""The information of data on a model's coordinates, and the covariance of a fit: outer products or differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hidiv.emissions.weighted import spread
from hidiv.errors import counted
from hidiv.fitting.evidence_forest import EvidenceForest
from hidiv.inference.parameter_vector import ParameterBlock, blocks_of, moved
from hidiv.inference.score import ItemGradients, item_gradients
from hidiv.models.model import Model
from hidiv.types import Array, Flags

ENOUGH = 10  # trees for each coordinate, from which on outer products of their scores are used
STEP = 1e-4  # of the size of a parameter: differences of scores
EDGE = 1e-6  # a probability below is at its boundary, where estimates are not normal
LITTLE = (
    1e-3  # observations that a parameter rests on: below, it is that of a state that holds next to none of the data
)
SINGULAR = 1e-6  # share of the largest eigenvalue of the scaled information: below it a direction has none
BENT = 1e-3  # share of the largest eigenvalue that a negative one may have by rounding


@dataclass(frozen=True, eq=False)
class Covariance:
    """The covariance (P, P) of a fit's coordinates, how it was found, and what to know about it.

    Directions of which the data say nothing have variance 0 and are told in the notes.
    """

    blocks: list[ParameterBlock]
    matrix: Array
    method: str
    notes: tuple[str, ...]
    nodes: int  # of the data


def covariance_of(
    model: Model, forest: EvidenceForest, fixed: frozenset[str] = frozenset(), method: str = "auto"
) -> Covariance:
    """The inverse of the information: of outer products where there are many trees, of differences of scores else."""
    blocks = blocks_of(model, fixed)
    scores = forest_scores(model, forest, blocks)
    size = _sizes(blocks, forest)
    away = np.concatenate([_away_from_edges(block) for block in blocks])
    rank = int(away.sum()) - sum(map(_rows, blocks))
    if method == "auto":
        method = "outer products" if len(scores) >= ENOUGH * max(rank, 1) else "differences"
    notes = []
    if method == "outer products":
        centred = scores - scores.mean(axis=0)
        information = centred.T @ centred
    else:
        information = _observed(model, forest, blocks, size, away)
    informed = np.diagonal(information) * size**2 >= LITTLE
    matrix, found, bent = _inverse(information, size, away & informed)
    if bent:
        notes.append("the log-likelihood is not at a maximum: fit with a smaller tol, or from more starts")
    edges = sum(int(((block.value < EDGE) & block.free).sum()) for block in blocks if block.kind in ("rows", "unit"))
    if edges:
        verb = "probability is" if edges == 1 else "probabilities are"
        notes.append(f"{edges} {verb} next to 0 and held there: errors are those of the other parameters")
    silent = int((away & ~informed).sum())
    if silent:
        notes.append(f"the data say next to nothing about {counted(silent, 'parameter')}: held as they are")
    if found < rank and not edges and not silent:
        notes.append(f"the data say nothing about {counted(rank - found, 'direction')} of the parameters")
    return Covariance(blocks, matrix, method, tuple(notes), forest.n_nodes)


def _rows(block: ParameterBlock) -> int:
    """The number of rows that sum to one: of their coordinates, one is told by the others."""
    away = (block.value > EDGE) & (block.value < 1.0 - EDGE)
    return int(away.any(axis=-1).sum()) if block.kind == "rows" else 0


def _sizes(blocks: list[ParameterBlock], forest: EvidenceForest) -> Array:
    """(P,): what a step of each coordinate is measured by."""
    unit = float(spread(np.asarray(forest.evidence.x, dtype=np.float64)).max()) if forest.evidence.has_numbers else 1.0
    parts = []
    for block in blocks:
        value = block.value
        if block.kind == "rows":
            size = np.ones(value.shape)
        elif block.kind == "covariance":
            std = np.sqrt(np.diagonal(value, axis1=-2, axis2=-1))
            size = std[..., :, None] * std[..., None, :]
        elif block.kind == "real":
            size = np.full(value.shape, unit)
        elif block.kind == "number":
            size = np.ones(value.shape)
        elif block.kind == "unit":
            size = np.minimum(value, 1.0 - value)
        else:
            size = np.abs(value)
        parts.append(np.maximum(size, 1e-300)[block.free])
    return np.concatenate(parts)


def _away_from_edges(block: ParameterBlock) -> Flags:
    """(size,): which coordinates are not those of a probability next to 0 or 1."""
    if block.kind in ("rows", "unit"):
        inside = (block.value > EDGE) & (block.value < 1.0 - EDGE)
    else:
        inside = np.ones(block.value.shape, dtype=np.bool_)
    return np.asarray(inside[block.free])


def _observed(model: Model, forest: EvidenceForest, blocks: list[ParameterBlock], size: Array, free: Flags) -> Array:
    """(P, P): minus the second derivatives of the log-likelihood, by central differences of its score."""
    total = np.zeros((len(size), len(size)))
    for i in np.flatnonzero(free):
        step = np.zeros(len(size))
        step[i] = STEP * size[i]
        ahead, behind = (_score_at(moved(model, blocks, end), forest, blocks) for end in (step, -step))
        total[i] = (behind - ahead) / (2.0 * step[i])
    return 0.5 * (total + total.T)


def _score_at(model: Model, forest: EvidenceForest, blocks: list[ParameterBlock]) -> Array:
    """(P,): the score of all trees together, in the coordinates of a model beside that of the blocks."""
    there = {block.path: block for block in blocks_of(model)}
    return np.asarray(forest_scores(model, forest, [there[block.path] for block in blocks]).sum(axis=0))


def _inverse(information: Array, size: Array, free: Flags) -> tuple[Array, int, bool]:
    """A generalised inverse on the free coordinates, its rank, and whether any direction is bent the wrong way."""
    index = np.flatnonzero(free)
    matrix = np.zeros(information.shape)
    if not len(index):
        return matrix, 0, False
    scaled = information[np.ix_(index, index)] * np.outer(size[index], size[index])
    unit = np.sqrt(np.maximum(np.diagonal(scaled), 0.0))
    unit = np.where(unit > 0, unit, 1.0)
    values, vectors = np.linalg.eigh(scaled / np.outer(unit, unit))
    kept = values > SINGULAR * values[-1]
    factor = size[index] / unit
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    matrix[np.ix_(index, index)] = inverse * np.outer(factor, factor)
    return matrix, int(kept.sum()), bool((values < -BENT * values[-1]).any())


def forest_gradients(model: Model, forest: EvidenceForest) -> ItemGradients:
    """The gradients of the log-likelihood of every tree."""
    group = forest.group if model.n_groups > 1 else None
    return item_gradients(model, forest.evidence, forest.start, forest.parent, group)


def forest_scores(model: Model, forest: EvidenceForest, blocks: list[ParameterBlock]) -> Array:
    """(m, P): the score of every tree in the coordinates of the blocks."""
    return forest_gradients(model, forest).vectors(blocks)
