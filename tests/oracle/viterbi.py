"""The likeliest hidden configuration given evidence, by enumeration."""

from __future__ import annotations

from .arithmetic import mp
from .configurations import configurations
from .evidence import weights


def viterbi(model, tree, evidence):
    """(log P(S, E) of the best S, {S: log P(S, E)}): ties are for the caller to see."""
    joint = configurations(model, tree, weights(model, tree, evidence))
    logs = {states: mp.log(probability) for states, probability in joint.items()}
    return max(logs.values()), logs
