"""Log-likelihood of evidence by enumeration of every hidden configuration."""

from __future__ import annotations

from .arithmetic import mp
from .configurations import configurations
from .evidence import weights


def log_likelihood(model, tree, evidence):
    """log of the sum over S of P(S, E)."""
    return mp.log(sum(configurations(model, tree, weights(model, tree, evidence)).values()))
