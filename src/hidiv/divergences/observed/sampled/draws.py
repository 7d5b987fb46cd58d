"""What can be drawn, and what drawing yields, before anything is averaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hidiv.errors import HidivError, refuse
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.divergences.pair import Pair

CELLS = 1 << 21  # numbers of one kind held at once by a portion of draws


class Drawn(NamedTuple):
    """plain (n,): log p/q of each draw; base (n,): what is averaged in its stead; controls (n, F) of mean zero.

    events (n, E): how often states and transitions were drawn; E may be 0.
    """

    plain: Array
    base: Array
    controls: Array
    events: Array


def joined(batches: list[Drawn]) -> Drawn:
    """All draws together, in their order, with the controls that all of them have."""
    if len(batches) == 1:
        return batches[0]
    width = min(batch.controls.shape[1] for batch in batches)
    return Drawn(
        np.concatenate([batch.plain for batch in batches]),
        np.concatenate([batch.base for batch in batches]),
        np.concatenate([batch.controls[:, :width] for batch in batches]),
        np.concatenate([batch.events for batch in batches]),
    )


@dataclass(frozen=True, eq=False)
class Draws:
    """Independent draws whose mean is the divergence, `at_once` to a portion; `base` says in words what is averaged.

    `infinite`: why nothing need be drawn.
    """

    draw: Callable[[int, np.random.Generator, bool], Drawn]  # number, generator, whether without the dearer controls
    subject: str
    base: str
    at_once: int
    infinite: str | None = None
    sparse: bool = False  # some probabilities are 0
    reach: float = 0.0  # by how much a rare event may change a draw
    expected: Callable[[], tuple[Array, Array]] | None = None  # means of the events drawn, and what one more may add
    dear: float = 1.0  # work of a draw with all controls, over that of one without the dearer ones


def portion(size: int) -> int:
    """How many draws of `size` numbers are made at once."""
    return max(1, min(512, CELLS // size))


def impossible(pair: Pair, reason: str, at_once: int = 1) -> Draws:
    """Draws that are never made, since q cannot emit what p does."""
    return Draws(lambda size, rng, lean: refuse(HidivError, "draw", reason), pair.subject, "", at_once, reason)
