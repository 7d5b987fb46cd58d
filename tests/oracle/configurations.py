"""Every hidden configuration a model can take on a tree, with its probability, node weights multiplied in."""

from __future__ import annotations

from .arithmetic import mp
from .laws import law


def configurations(model, tree, weights=None):
    """{(S_0, ..., S_n-1): probability}; `weights[u][s]` multiplies where given; zero configurations are left out."""
    laws = law(model, tree)
    reached = {(): mp.one}
    for u, parent in enumerate(laws.parent):
        extended = {}
        for states, probability in reached.items():
            row = laws.initial if parent < 0 else laws.transition[u][states[parent]]
            for state, step in enumerate(row):
                step = step * (weights[u][state] if weights else 1)
                if step > 0:
                    extended[(*states, state)] = probability * step
        reached = extended
    if weights and laws.end:
        # A chain of random length that was seen from its start to its end.
        reached = {states: probability * laws.end[states[-1]] for states, probability in reached.items()}
    return {states: probability for states, probability in reached.items() if probability > 0}
