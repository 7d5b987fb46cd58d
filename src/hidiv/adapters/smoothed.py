"""A model that rules nothing out."""

from __future__ import annotations

from typing import Any

from hidiv.adapters.as_model import as_model
from hidiv.models.model import Model
from hidiv.models.zero_filling import with_weight


def smoothed(model: Any, weight: float) -> Model:
    """The model with every probability mixed with the even law: (1 - weight) law + weight / n for a law of n entries.

    It fills zeros, those meant (a left-to-right chain), those that underflow or a lack of data left, all alike: the
    initial law, every transition row (with its end), the rows of categorical and multinomial emissions, the weights of
    mixtures and, against its complement, the probability of Bernoulli, binomial, geometric and negative binomial ones,
    which stays 1.1e-16 below 1. Other parameters stay as they are. D(p || smoothed(q, w)) is finite where q's zeros
    made it infinite, and grows like log(1 / w): say the weight beside the number. `as_model(q, floor=f)` does the same
    with weight n f, so that no probability is below f.

    >>> import hidiv as hd
    >>> q = hd.Model([1.0, 0.0], [[0.9, 0.1], [0.0, 1.0]], hd.Poisson([1.0, 4.0]))
    >>> hd.smoothed(q, 0.01).transition
    array([[0.896, 0.104],
           [0.005, 0.995]])
    """
    return with_weight(as_model(model), weight)
