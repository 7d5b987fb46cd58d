"""Distributions of torch, Pyro and TensorFlow Probability, read by the names of their classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hidiv.adapters.foreign import class_names, covariances, laws, numbers, plain, unknown
from hidiv.emissions.composite.mixture.mixture import Mixture
from hidiv.emissions.composite.product import Product
from hidiv.emissions.families.bernoulli import Bernoulli
from hidiv.emissions.families.beta import Beta
from hidiv.emissions.families.binomial import Binomial
from hidiv.emissions.families.categorical import Categorical
from hidiv.emissions.families.exponential import Exponential
from hidiv.emissions.families.gamma import Gamma
from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.families.geometric import Geometric
from hidiv.emissions.families.laplace import Laplace
from hidiv.emissions.families.log_normal import LogNormal
from hidiv.emissions.families.multinomial import Multinomial
from hidiv.emissions.families.negative_binomial import NegativeBinomial
from hidiv.emissions.families.poisson import Poisson
from hidiv.emissions.families.von_mises import VonMises
from hidiv.emissions.family import Family
from hidiv.errors import InvalidModel, counted, refuse
from hidiv.types import Array

Shape = tuple[int, ...]


def family_of(place: str, law: Any, n_states: int) -> Family:
    """The family of a distribution whose batch is the states: (K,), or (K, F) inside Independent."""
    inner = _inside(law)
    # Axes before that of the states (time, batch) are allowed where they have length 1.
    before = len(_shape(law)) - 1
    shape = _shape(inner)[max(before, 0) :]
    if before < 0 or any(n != 1 for n in _shape(law)[:-1]) or shape[0] != n_states or len(shape) > 2:
        refuse(
            InvalidModel, place, f"needs one law for each of the {counted(n_states, 'state')}", f"batch {_shape(law)}"
        )
    return _read(place, inner, shape)


def _read(place: str, law: Any, shape: Shape) -> Family:
    """The family of a law whose batch, flattened, has the shape (K,) or (K, F)."""
    read = next((READERS[name] for name in class_names(law) if name in READERS), None)
    if read is None:
        unknown(place, law, ["Independent", *READERS])
    return read(place, law, shape)


def _inside(law: Any) -> Any:
    """The distribution inside Independent; others as they are."""
    if "Independent" not in class_names(law):
        return law
    return law.base_dist if hasattr(law, "base_dist") else law.distribution


def _shape(law: Any) -> Shape:
    """The batch shape as a tuple of ints."""
    return tuple(int(n) for n in law.batch_shape)


def parameter(law: Any, name: str) -> Any:
    """A parameter, whichever way it was given: TensorFlow Probability has `probs_parameter()` for probs or logits."""
    method = getattr(law, f"{name}_parameter", None)
    value = method() if method is not None else getattr(law, name)
    logarithm = getattr(law, f"log_{name}", None)
    if value is None and logarithm is not None:
        return np.exp(np.asarray(plain(f"log_{name}", logarithm), dtype=np.float64))
    return value


def _filled(place: str, law: Any, name: str, shape: Shape) -> Array:
    """A parameter (K,) or (K, F); a scalar is repeated for all states."""
    value = numbers(f"{place}.{name}", parameter(law, name), range(6))
    return np.array(np.broadcast_to(value, _shape(law))).reshape(shape)


def _probs(place: str, law: Any, shape: Shape) -> Array:
    """Probabilities of symbols, (K, M) or (K, F, M)."""
    probs = laws(f"{place}.probs", parameter(law, "probs"), range(1, 7))
    return np.array(np.broadcast_to(probs, (*_shape(law), probs.shape[-1]))).reshape(*shape, probs.shape[-1])


def _symbols(place: str, law: Any, shape: Shape) -> Family:
    """A categorical law, or a product of F of them."""
    probs = _probs(place, law, shape)
    return Categorical(probs) if len(shape) == 1 else Product([Categorical(probs[:, f]) for f in range(shape[1])])


def _columns(family: Callable[..., Family], *names: str) -> Callable[[str, Any, Shape], Family]:
    """A reader for a family whose parameters have these names, in the order of its constructor."""
    return lambda place, law, shape: family(*(_filled(place, law, name, shape) for name in names))


def _normal(place: str, law: Any, shape: Shape) -> Family:
    """A normal law of independent columns."""
    return Gaussian(_filled(place, law, "loc", shape), std=_filled(place, law, "scale", shape))


def _negative_binomial(place: str, law: Any, shape: Shape) -> Family:
    """The negative binomial law; `probs` is the complement of `prob` here."""
    return NegativeBinomial(_filled(place, law, "total_count", shape), 1.0 - _filled(place, law, "probs", shape))


def _multinomial(place: str, law: Any, shape: Shape) -> Family:
    """A multinomial law; under Independent, a product of several."""
    trials, probs = _filled(place, law, "total_count", shape), _probs(place, law, shape)
    if len(shape) == 1:
        return Multinomial(trials, probs)
    return Product([Multinomial(trials[:, f], probs[:, f]) for f in range(shape[1])])


def _vectors(place: str, law: Any, shape: Shape) -> Family:
    """A normal law of vectors with its full covariance, whichever way it is parametrised."""
    if len(shape) > 1:
        refuse(InvalidModel, place, "vectors side by side cannot be read", f"batch {shape}")
    torch = hasattr(law, "covariance_matrix")
    full = covariances(f"{place}.covariance", law.covariance_matrix if torch else law.covariance(), range(2, 6))
    mean = numbers(f"{place}.loc", law.mean if torch else law.mean(), range(1, 5))
    size = full.shape[-1]
    mean = np.array(np.broadcast_to(mean, (*_shape(law), size))).reshape(*shape, size)
    return Gaussian(mean, cov=np.array(np.broadcast_to(full, (*_shape(law), size, size))).reshape(*shape, size, size))


def _mixture(place: str, law: Any, shape: Shape) -> Family:
    """A mixture of C laws of one family, whose batch is (K, C)."""
    if len(shape) > 1:
        refuse(InvalidModel, place, "columns that are mixtures each cannot be read", f"batch {shape}")
    chosen = law.mixture_distribution
    weights = laws(f"{place}.mixture_distribution", parameter(chosen, "probs"), range(1, 5))
    mixed = getattr(law, "component_distribution", None) or law.components_distribution
    n_components = weights.shape[-1]
    weights = np.array(np.broadcast_to(weights, (*_shape(law), n_components))).reshape(*shape, n_components)
    inner = _inside(mixed)
    # All laws as states of one family: law k C + c is component c of state k.
    every = _read(place, inner, (weights.size, *_shape(inner)[len(_shape(mixed)) :]))
    index = np.arange(weights.size).reshape(weights.shape)
    return Mixture(weights, [every.take(index[:, c]) for c in range(n_components)])


READERS: dict[str, Callable[[str, Any, Shape], Family]] = {
    "Bernoulli": _columns(Bernoulli, "probs"),
    "Beta": _columns(Beta, "concentration1", "concentration0"),
    "Binomial": _columns(Binomial, "total_count", "probs"),
    "Categorical": _symbols,
    "Exponential": _columns(Exponential, "rate"),
    "Gamma": _columns(Gamma, "concentration", "rate"),
    "Geometric": _columns(Geometric, "probs"),
    "Laplace": _columns(Laplace, "loc", "scale"),
    "LogNormal": _columns(LogNormal, "loc", "scale"),
    "MixtureSameFamily": _mixture,
    "Multinomial": _multinomial,
    "MultivariateNormal": _vectors,
    "MultivariateNormalLinearOperator": _vectors,  # the base of all multivariate normal laws of TensorFlow Probability
    "NegativeBinomial": _negative_binomial,
    "Normal": _normal,
    "Poisson": _columns(Poisson, "rate"),
    "VonMises": _columns(VonMises, "loc", "concentration"),
}
