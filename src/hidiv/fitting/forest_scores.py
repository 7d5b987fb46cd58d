"""The scores of all trees of a forest, in one pass."""

from __future__ import annotations

from hidiv.fitting.evidence_forest import EvidenceForest
from hidiv.inference.parameter_vector import ParameterBlock
from hidiv.inference.score import ItemGradients, item_gradients
from hidiv.models.model import Model
from hidiv.types import Array


def forest_gradients(model: Model, forest: EvidenceForest) -> ItemGradients:
    """The gradients of the log-likelihood of every tree."""
    group = forest.group if model.n_groups > 1 else None
    return item_gradients(model, forest.evidence, forest.start, forest.parent, group)


def forest_scores(model: Model, forest: EvidenceForest, blocks: list[ParameterBlock]) -> Array:
    """(m, P): the score of every tree in the coordinates of the blocks."""
    return forest_gradients(model, forest).vectors(blocks)
