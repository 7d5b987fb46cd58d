"""The integral of p^a q^(1-a) over the emissions of one state: summation, or a closed form in 50 digits."""

from __future__ import annotations

from .arithmetic import mp
from .columns import columns
from .emission_kl import shape_and_rate, symbol_law


def emission_affinity(family_p, family_q, state, order):
    """R(state), columns multiplying; infinite where the integral diverges."""
    total = mp.one
    for a, b in zip(columns(family_p, state), columns(family_q, state), strict=True):
        total *= column_affinity(a, b, mp.mpf(order))
    return total


def row_affinity(p, q, order):
    """sum p^a q^(1-a) of two rows."""
    total = mp.zero
    for a, b in zip(p, q, strict=True):
        if a > 0 and b > 0:
            total += a**order * b ** (1 - order)
        elif a > 0 and order > 1:
            return mp.inf
    return total


def column_affinity(p, q, order):
    (name, a), (other, b) = p, q
    if {name, other} <= {"categorical", "bernoulli"}:
        return row_affinity(symbol_law(p), symbol_law(q), order)
    if {name, other} <= {"exponential", "gamma"}:
        return gamma_affinity(shape_and_rate(a), shape_and_rate(b), order)
    if name != other:
        raise NotImplementedError((name, other))
    if name == "poisson":
        mixed = a["rate"] ** order * b["rate"] ** (1 - order)
        return mp.exp(mixed - order * a["rate"] - (1 - order) * b["rate"])
    if name == "gaussian":
        return gaussian_affinity(a, b, order)
    raise NotImplementedError(name)


def gaussian_affinity(a, b, order):
    """Complete the square in order * log p + (1 - order) * log q."""
    spread = order * b["var"] + (1 - order) * a["var"]
    if spread <= 0:
        return mp.inf
    square = order * (1 - order) * (a["mean"] - b["mean"]) ** 2 / (2 * spread)
    return mp.exp(-square) * a["var"] ** ((1 - order) / 2) * b["var"] ** (order / 2) / mp.sqrt(spread)


def gamma_affinity(a, b, order):
    (shape, rate), (other_shape, other_rate) = a, b
    mixed_shape = order * shape + (1 - order) * other_shape
    mixed_rate = order * rate + (1 - order) * other_rate
    if mixed_shape <= 0 or mixed_rate <= 0:
        return mp.inf
    scale = (rate**shape / mp.gamma(shape)) ** order * (other_rate**other_shape / mp.gamma(other_shape)) ** (1 - order)
    return scale * mp.gamma(mixed_shape) / mixed_rate**mixed_shape
