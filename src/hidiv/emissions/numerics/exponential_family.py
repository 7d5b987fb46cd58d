"""Renyi divergences from KL divergences, and the KL as an integral along the segment between two natural parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hidiv.emissions.numerics.stirling import panel_rule
from hidiv.types import Array

# Natural parameters of many laws: (d, K, F), every one of them above 0.
Divergence = Callable[[Array, Array, Array], Array]  # (from, to, to - from) -> (K, F)

NO_END = 1e30  # distance of an end of the parameter space that the segment does not approach


def renyi_between(kl: Divergence, p: Array, q: Array, alpha: float) -> Array:
    """Renyi divergence of order alpha in an exponential family with parameters in the positive orthant, (K, F).

    With m = alpha p + (1-alpha) q: for alpha < 1 it is [alpha KL(m||p) + (1-alpha) KL(m||q)] / (1-alpha), for alpha > 1
    KL(p||m) / (alpha-1) + KL(p||q), +inf where m leaves the orthant. Non-negative terms only, so it is as accurate as
    the KL is.
    """
    rest, step = 1.0 - alpha, q - p
    with np.errstate(over="ignore"):
        if alpha < 1:
            m = alpha * p + rest * q
            return np.asarray(alpha / rest * kl(m, p, -rest * step) + kl(m, q, alpha * step))
        m = p + rest * step
        inside = (m > 0).all(axis=0)
        m = np.where(inside, m, p)
        value = kl(p, m, np.where(inside, rest * step, 0.0)) / -rest + kl(p, q, step)
    return np.where(inside, value, np.inf)


def second_order(form: Callable[[Array], Array], p: Array, q: Array, step: Array) -> Array:
    """A(q) - A(p) - step . A'(p), where form(z) is step . A''(z) step; (d, K, F) -> (K, F), relatively accurate.

    The integral over t from 0 to 1 of (1-t) form(p + t step) by Gauss rules of 20 nodes, in the variable
    log (t + a)/(1 + b - t) with -a and 1 + b the ends of the line inside the orthant: smooth however far p and q are.
    form takes (d, K, F, n) and gives (K, F, n).
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        before = np.where(step > 0, np.minimum(p / step, NO_END), NO_END).min(axis=0)[..., None]
        after = np.where(step < 0, np.minimum(q / -step, NO_END), NO_END).min(axis=0)[..., None]
    length = np.log1p(1.0 / before) + np.log1p(1.0 / after)
    nodes, weights = panel_rule(float(length.max(initial=0.0)))
    v, w = length * nodes, length * (1.0 - nodes)
    below = 1.0 / before + np.exp(v) / (1.0 + after)
    t = np.expm1(v) / below
    left = np.expm1(w) / (1.0 / after + np.exp(w) / (1.0 + before))  # 1 - t, to all its digits
    speed = length * np.exp(v) * (1.0 / before + 1.0 / (1.0 + after)) / (below * below)
    values = form(left * p[..., None] + t * q[..., None])
    return np.asarray((left * speed * values) @ weights)
