"""`smoothed`: a model whose zeros are filled."""

from __future__ import annotations

from typing import Any

from hidiv.adapters.as_model import as_model
from hidiv.models.model import Model
from hidiv.models.zero_filling import with_weight


def smoothed(model: Any, weight: float) -> Model:
    """Fill the zeros of a model by mixing every law with the uniform one.

    A law of n entries becomes (1 - weight) law + weight / n.

    Parameters
    ----------
    model : Model or object of a supported library
        Whatever `hd.as_model` takes.
    weight : float
        The share of the uniform law, from 0 to 1.

    Returns
    -------
    Model
        The model without zeros, with the same names.

    Raises
    ------
    InvalidModel
        Where the weight is not a number from 0 to 1.

    See Also
    --------
    as_model : its `floor` does the same with weight n floor, so that no probability is below the floor.

    Notes
    -----
    Mixed are the initial law, every transition row (with its end), the rows of categorical and multinomial emissions,
    the weights of mixtures and, against its complement, the probability of Bernoulli, binomial, geometric and negative
    binomial emissions, which stays 1.1e-16 below 1. Other parameters stay as they are. Zeros that were meant (a
    left-to-right chain) are filled like those that underflow or a lack of data left. D(p || smoothed(q, w)) is finite
    where zeros of q made it infinite, and grows like log(1 / w): report the weight with the number.

    Examples
    --------
    >>> import hidiv as hd
    >>> q = hd.Model([1.0, 0.0], [[0.9, 0.1], [0.0, 1.0]], hd.Poisson([1.0, 4.0]))
    >>> hd.smoothed(q, 0.01).transition
    array([[0.896, 0.104],
           [0.005, 0.995]])
    """
    return with_weight(as_model(model), weight)
