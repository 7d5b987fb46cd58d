"""Starts beside a top: one state is given up to another, and one is split at random."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hidiv.fitting.draft import Draft
from hidiv.fitting.em import Options, Run
from hidiv.fitting.expectation import Problem
from hidiv.fitting.maximisation import maximisation

LITTLE = 0.02  # of a count, that no share falls below
UNEVEN = 0.3  # of the beta law of shares: most of them are near 0 or 1


def hop(run: Run, problem: Problem, options: Options, rng: np.random.Generator) -> Draft:
    """A model near the one of `run` in all but two or three states.

    The counts of a state are added to those of a second one, and those of a third one (or of the second again) are
    shared out at random between itself and the first; the model is what such counts ask for.
    """
    k = run.model.n_states
    given_up, heir = rng.choice(k, size=2, replace=False).tolist()
    split = int(rng.choice([s for s in range(k) if s != given_up]))
    rows, initial, transition = (
        np.array(part) for part in (run.counts.rows, run.counts.initial, run.counts.transition)
    )
    from_rows, into = transition.swapaxes(0, 1), transition.transpose(2, 0, 1)  # views, states first
    for table in (rows.T, initial, from_rows, into):
        table[heir] += table[given_up]
        share = np.clip(rng.beta(UNEVEN, UNEVEN, size=table[split].shape), LITTLE, 1.0 - LITTLE)
        table[given_up] = share * table[split]
        table[split] *= 1.0 - share
    # Every root and transition is possible again: tops have zeros, and what is zero stays it.
    transition += LITTLE * transition.sum(axis=2, keepdims=True) / k
    initial += LITTLE * initial.sum() / k
    counts = replace(run.counts, rows=rows, initial=initial, transition=transition)
    return maximisation(run.model, problem, counts, options.pseudo_count, options.fixed)
