"""Two data sets as if one law had made both: what the p-value of a divergence compares them with."""

from __future__ import annotations

import numpy as np

from hidiv.fitting.draft import draft_of
from hidiv.fitting.em import Options, begin, climb
from hidiv.fitting.expectation import problem_of
from hidiv.fitting.fit import refit
from hidiv.fitting.forest import Forest, joined
from hidiv.fitting.simulation import redrawn
from hidiv.models.model import Model


def one_law(p: Model, q: Model, known_p: Forest, known_q: Forest, options: Options) -> Model:
    """The model of both data sets together: the better by BIC of those climbed from p and from q."""
    both = joined(known_p, known_q)
    return min((refit(model, both, options) for model in (p, q)), key=lambda found: found.bic).model


def apart(law: Model, known_p: Forest, known_q: Forest, options: Options) -> tuple[Model, Model]:
    """A model of each data set, both climbed from the model of the two together.

    Data and draws go this one way, so that starts, tops and the numbering of states are alike for both.
    """
    start = climbed(law, joined(known_p, known_q), options)
    return climbed(start, known_p, options), climbed(start, known_q, options)


def apart_by_chance(
    law: Model, known_p: Forest, known_q: Forest, options: Options, rng: np.random.Generator
) -> tuple[Model, Model]:
    """The same for data sets of the same shapes, drawn from the one law."""
    return apart(law, redrawn(law, known_p, rng), redrawn(law, known_q, rng), options)


def climbed(model: Model, known: Forest, options: Options) -> Model:
    """The top that a climb from a model comes to."""
    problem = problem_of(known, model)
    return climb(begin(draft_of(model), problem, options), problem, options, None, True).model.finished(model)
