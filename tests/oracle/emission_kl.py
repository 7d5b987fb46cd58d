"""KL between the emissions of two models in one state: summation, or a closed form in 50 digits."""

from __future__ import annotations

from .arithmetic import mp, row_divergence
from .columns import columns, joined_gaussian


def emission_kl(family_p, family_q, state):
    """KL( p(X | state) || q(X | state) ), columns adding up."""
    p, q = columns(family_p, state), columns(family_q, state)
    if any(name == "gaussian_full" for name, _ in p + q):
        return gaussian_kl(joined_gaussian(p), joined_gaussian(q))
    return sum((column_kl(a, b) for a, b in zip(p, q, strict=True)), mp.zero)


def column_kl(p, q):
    (name, a), (other, b) = p, q
    if {name, other} <= {"categorical", "bernoulli"}:
        return row_divergence(symbol_law(p), symbol_law(q))
    if {name, other} == {"exponential", "gamma"} or name == other == "gamma":
        return gamma_kl(shape_and_rate(a), shape_and_rate(b))
    if name != other:
        raise NotImplementedError((name, other))
    if name == "gaussian":
        return gaussian_kl(joined_gaussian([p]), joined_gaussian([q]))
    if name == "poisson":
        return a["rate"] * mp.log(a["rate"] / b["rate"]) - a["rate"] + b["rate"]
    if name == "exponential":
        return gamma_kl((mp.one, a["rate"]), (mp.one, b["rate"]))
    if name == "geometric":
        stop, other_stop = a["prob"], b["prob"]
        return mp.log(stop / other_stop) + (1 - stop) / stop * mp.log((1 - stop) / (1 - other_stop))
    if name == "laplace":
        gap, scale = abs(a["loc"] - b["loc"]), a["scale"]
        return mp.log(b["scale"] / scale) - 1 + (gap + scale * mp.exp(-gap / scale)) / b["scale"]
    if name == "log_normal":
        as_gaussian = [{"mean": [c["mean"]], "cov": [[c["std"] ** 2]]} for c in (a, b)]
        return gaussian_kl(*as_gaussian)
    raise NotImplementedError(name)


def symbol_law(column):
    name, at = column
    return at["probs"] if name == "categorical" else [1 - at["probs"], at["probs"]]


def shape_and_rate(at):
    return at.get("shape", mp.one), at["rate"]


def gamma_kl(p, q):
    (shape, rate), (other_shape, other_rate) = p, q
    return (
        (shape - other_shape) * mp.digamma(shape)
        - mp.loggamma(shape)
        + mp.loggamma(other_shape)
        + other_shape * mp.log(rate / other_rate)
        + shape * (other_rate - rate) / rate
    )


def gaussian_kl(p, q):
    """( tr(Q^-1 P) + (m - n)' Q^-1 (m - n) - F + log det Q / det P ) / 2."""
    cov_p, cov_q = mp.matrix(p["cov"]), mp.matrix(q["cov"])
    off = mp.matrix([m - n for m, n in zip(p["mean"], q["mean"], strict=True)])
    ratio = mp.inverse(cov_q) * cov_p
    trace = sum((ratio[i, i] for i in range(ratio.rows)), mp.zero)
    square = (off.T * mp.lu_solve(cov_q, off))[0]
    return (trace + square - len(off) + mp.log(mp.det(cov_q) / mp.det(cov_p))) / 2
