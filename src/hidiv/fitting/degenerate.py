"""States that hold next to nothing, or have shrunk onto one value."""

from __future__ import annotations

import numpy as np

from hidiv.fitting.em import Run
from hidiv.fitting.expectation import Problem

FEWEST = 1.0  # expected nodes of a state, below which it is called empty
SPREADS = ("std", "scale")


def is_degenerate(run: Run, problem: Problem) -> bool:
    """Whether any state is empty or has shrunk to the least spread."""
    return bool(notes_on(run, problem))


def notes_on(run: Run, problem: Problem) -> list[str]:
    """One sentence for every state that is degenerate."""
    held = run.counts.rows.sum(axis=0)
    notes = [f"state {s} holds {held[s]:.2g} nodes in expectation" for s in np.flatnonzero(held < FEWEST)]
    for g, (family, sample) in enumerate(zip(run.model.emissions, problem.samples, strict=True)):
        if family.n_features == 0 or not len(sample.x):
            continue
        width = getattr(family, "deviation", None)
        for key in SPREADS:
            found = getattr(family, key, None)
            width = found if width is None and family.name != "log_normal" else width
        if width is None:
            continue
        width = np.asarray(width).reshape(family.n_states, -1)
        where = f" of group {g}" if len(run.model.emissions) > 1 else ""
        for s in np.flatnonzero((width <= 1.001 * sample.smallest).any(axis=1)):
            notes.append(f"state {s}{where} has shrunk onto one value: its spread is held at its least")
    return notes
