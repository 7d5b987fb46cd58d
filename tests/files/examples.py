"""One law of every family, and models made of them, with numbers that are hard to write."""

from __future__ import annotations

import math

import hidiv as hd

TINY = 5e-324  # the smallest double
THIRD = 1 / 3


def laws() -> dict[str, object]:
    """Two states each."""
    return {
        "categorical": hd.Categorical([[0.1, 0.2, 0.7], [TINY, THIRD, 2 * THIRD]]),
        "bernoulli": hd.Bernoulli([[0.1, THIRD], [1.0, 0.0]]),
        "gaussian": hd.Gaussian([-0.0, math.pi], std=[1e-300, 1e300]),
        "gaussian by variance": hd.Gaussian([[0.1, TINY], [1, 2]], var=[[0.1, 0.2], [0.3, 4]]),
        "gaussian by covariance": hd.Gaussian([[0.1, 2], [1, 2]], cov=[[[2, 0.1], [0.1, 1]], [[1, THIRD], [THIRD, 1]]]),
        "poisson": hd.Poisson([THIRD, 1e5]),
        "exponential": hd.Exponential([[0.1], [3]]),
        "gamma": hd.Gamma([0.1, 2], [THIRD, 7]),
        "geometric": hd.Geometric([0.1, 1.0]),
        "binomial": hd.Binomial([3, 10], [0.1, THIRD]),
        "negative_binomial": hd.NegativeBinomial([0.5, 3], [0.1, THIRD]),
        "laplace": hd.Laplace([-0.0, 1], [0.1, 2]),
        "log_normal": hd.LogNormal([0.1, 1], [THIRD, 2]),
        "generalized_gaussian": hd.GeneralizedGaussian([0.1, 1], [THIRD, 2]),
        "von_mises": hd.VonMises([0.1, 1], [THIRD, 2]),
        "beta": hd.Beta([0.1, 1], [THIRD, 2]),
        "silent": hd.Silent(2),
        "product": hd.Product([hd.Poisson([0.1, 2]), hd.Gaussian([[0.1, 2], [3, 4]], std=[[1, 2], [THIRD, 4]])]),
    }


def models() -> dict[str, hd.Model]:
    """A homogeneous model of every family, a grouped one, one with holes, one with an end."""
    initial, transition = [0.1, 0.9], [[THIRD, 2 * THIRD], [1 - 1e-17, TINY]]
    found = {name: hd.Model(initial, transition, law, name=f"{name} é\n\U0001f600") for name, law in laws().items()}
    some = [laws()[name] for name in ("gaussian", "laplace", "silent")]
    found["groups"] = hd.Model(initial, [None, transition, [[0, 1], [1, 0]]], some, state_names=["low", "high"])
    found["end"] = hd.Model(initial, [[0.5, 0.25], [0.1, 0.2]], some[0], end=[0.25, 0.7], name="")
    return found


def same_bits(a: object, b: object) -> bool:
    """Equal down to the sign of zeros: floats as they are in memory."""
    if isinstance(a, float) and isinstance(b, float):
        return a.hex() == b.hex()
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same_bits(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same_bits(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and a == b
