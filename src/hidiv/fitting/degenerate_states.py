"""Degenerate states: nearly empty ones, and those that have shrunk onto one value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hidiv.errors import counted
from hidiv.fitting.em import Run
from hidiv.fitting.expected_counts import Problem

FEWEST = 1.0  # expected nodes of a state, below which it is called empty


def is_degenerate(run: Run, problem: Problem) -> bool:
    """Whether any state is empty or has shrunk to the least spread."""
    return bool((run.counts.rows.sum(axis=0) < FEWEST).any()) or any(True for _ in _shrunk(run, problem))


def notes_on(run: Run, problem: Problem, fixed: frozenset[str]) -> list[str]:
    """A note on every degenerate state."""
    held = run.counts.rows.sum(axis=0)
    notes = [
        f"state {s} holds {counted(f'{held[s]:.2g}', 'node')} in expectation" for s in np.flatnonzero(held < FEWEST)
    ]
    needed = sum(family.n_free(fixed) for family in run.model.emissions) / len(held)
    notes += [
        f"state {s} holds {counted(f'{held[s]:.2g}', 'node')} in expectation, "
        f"fewer than the {counted(f'{needed:.0f}', 'parameter')} of its laws"
        for s in np.flatnonzero((held >= FEWEST) & (held < needed))
    ]
    return notes + list(_shrunk(run, problem))


def _shrunk(run: Run, problem: Problem) -> Iterator[str]:
    """A note on every state whose spread is held at its least value."""
    for g, (family, sample) in enumerate(zip(run.model.emissions, problem.samples, strict=True)):
        if family.n_features == 0 or not len(sample.x):
            continue
        where = f" of group {g}" if len(run.model.emissions) > 1 else ""
        for s in np.flatnonzero(family.is_narrow(sample.smallest)):
            yield f"state {s}{where} has shrunk onto {_onto(family)}: its spread is held at its least"


def _onto(family: Any) -> str:
    return "one value" if family.n_features == 1 else "fewer dimensions than there are columns"
