"""Degenerate states: nearly empty ones, and those that have shrunk onto one value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.errors import counted
from hidiv.fitting.em import Run
from hidiv.fitting.expectation import Problem
from hidiv.fitting.parameters import of_family
from hidiv.types import Array

FEWEST = 1.0  # expected nodes of a state, below which it counts as empty
SPREADS = ("std", "scale")


def is_degenerate(run: Run, problem: Problem) -> bool:
    """Whether any state is empty or has shrunk to the least spread."""
    return bool((run.counts.rows.sum(axis=0) < FEWEST).any()) or any(True for _ in _shrunk(run, problem))


def notes_on(run: Run, problem: Problem, fixed: frozenset[str]) -> list[str]:
    """A note on every degenerate state."""
    held = run.counts.rows.sum(axis=0)
    notes = [
        f"state {s} holds {counted(f'{held[s]:.2g}', 'node')} in expectation" for s in np.flatnonzero(held < FEWEST)
    ]
    needed = sum(of_family(family, fixed) for family in run.model.emissions) / len(held)
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
        narrow = np.zeros(family.n_states, dtype=np.bool_)
        for member, least in _members(family, sample.smallest):
            narrow |= _narrow(member, least)
        for s in np.flatnonzero(narrow):
            yield f"state {s}{where} has shrunk onto {_onto(family)}: its spread is held at its least"


def _onto(family: Any) -> str:
    return "one value" if family.n_features == 1 else "fewer dimensions than there are columns"


def _members(family: Any, least: Array) -> Iterator[tuple[Any, Array]]:
    """The families a product or a mixture is made of, each with the least spreads of its columns."""
    if family.name == "product":
        for member, (columns,) in family.split(least[None, :]):
            yield from _members(member, columns[0])
    elif family.name == "mixture":
        for member in family.components:
            yield from _members(member, least)
    else:
        yield family, least


def _narrow(family: Any, least: Array) -> NDArray[np.bool_]:
    """(K,): which states have the least spread in a column, or in some direction across columns."""
    if getattr(family, "cov", None) is not None:
        across = np.linalg.eigvalsh(family.cov / np.outer(least, least))[:, 0]
        return np.asarray(across <= 1.001**2)
    width = getattr(family, "deviation", None)
    for key in SPREADS:
        found = getattr(family, key, None)
        width = found if width is None and family.name != "log_normal" else width
    if width is None:
        return np.zeros(family.n_states, dtype=np.bool_)
    return np.asarray((np.asarray(width).reshape(family.n_states, -1) <= 1.001 * least).any(axis=1))
