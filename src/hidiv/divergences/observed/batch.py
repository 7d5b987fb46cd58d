"""What drawing yields, before anything is averaged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Batch(NamedTuple):
    """plain (n,): log p/q of each draw; base (n,): what is averaged in its stead; controls (n, F) of mean zero."""

    plain: Array
    base: Array
    controls: Array


def joined(batches: list[Batch]) -> Batch:
    """All draws together, in their order."""
    if len(batches) == 1:
        return batches[0]
    return Batch(*(np.concatenate(parts) for parts in zip(*batches, strict=True)))
