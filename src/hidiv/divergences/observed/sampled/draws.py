"""What drawing yields, before anything is averaged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hidiv.types import Array


class Batch(NamedTuple):
    """plain (n,): log p/q of each draw; base (n,): what is averaged in its stead; controls (n, F) of mean zero.

    events (n, E): how often states and transitions were drawn; E may be 0.
    """

    plain: Array
    base: Array
    controls: Array
    events: Array


def joined(batches: list[Batch]) -> Batch:
    """All draws together, in their order, with the controls that all of them have."""
    if len(batches) == 1:
        return batches[0]
    width = min(batch.controls.shape[1] for batch in batches)
    return Batch(
        np.concatenate([batch.plain for batch in batches]),
        np.concatenate([batch.base for batch in batches]),
        np.concatenate([batch.controls[:, :width] for batch in batches]),
        np.concatenate([batch.events for batch in batches]),
    )
