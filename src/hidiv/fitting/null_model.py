"""The null hypothesis of the p-value: one model for both data sets, and models fitted to each of them from there."""

from __future__ import annotations

import numpy as np

from hidiv.errors import ImpossibleEvidence
from hidiv.fitting.draft import draft_of
from hidiv.fitting.em import Options, begin, climb
from hidiv.fitting.evidence_forest import EvidenceForest, joined
from hidiv.fitting.expected_counts import expectation, problem_of
from hidiv.fitting.fit import refit
from hidiv.fitting.fit_result import FitResult
from hidiv.fitting.maximisation import maximisation
from hidiv.fitting.simulation import redrawn
from hidiv.models.model import Model


def pooled_model(p: Model, q: Model, known_p: EvidenceForest, known_q: EvidenceForest, options: Options) -> Model:
    """The model of both data sets together, the better by BIC of the climbs from p and from q."""
    both = joined(known_p, known_q)
    return min((_refitted(model, both, options) for model in (p, q)), key=lambda result: result.bic).model


def _refitted(model: Model, known: EvidenceForest, options: Options) -> FitResult:
    """The fit to all of the data from a model of one part, whose zeros are filled if it excludes the other part."""
    try:
        return refit(model, known, options)
    except ImpossibleEvidence:
        start, problem = draft_of(model), problem_of(known, model)
        counts = expectation(start, problem, options.threads)  # of the trees it can produce
        filled = maximisation(start, problem, counts, max(1.0, options.pseudo_count), options.fixed)
        return refit(filled.finished(model), known, options)


def fitted_apart(law: Model, known_p: EvidenceForest, known_q: EvidenceForest, options: Options) -> tuple[Model, Model]:
    """A model of each data set, both climbed from the model of the two together.

    Data and draws are fitted in the same way, so that starts, maxima and the numbering of states are alike.
    """
    start = climbed(law, joined(known_p, known_q), options)
    return climbed(start, known_p, options), climbed(start, known_q, options)


def fitted_apart_by_chance(
    law: Model, known_p: EvidenceForest, known_q: EvidenceForest, options: Options, rng: np.random.Generator
) -> tuple[Model, Model]:
    """`fitted_apart` for data sets of the same shapes, both drawn from the one model."""
    return fitted_apart(law, redrawn(law, known_p, rng), redrawn(law, known_q, rng), options)


def climbed(model: Model, known: EvidenceForest, options: Options) -> Model:
    """The model that a climb from another one reaches."""
    problem = problem_of(known, model)
    return climb(begin(draft_of(model), problem, options), problem, options, None, True).model.finished(model)
