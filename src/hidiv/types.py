"""The array types of signatures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
Numbers = NDArray[np.int32]
Indices = NDArray[np.int32] | NDArray[np.int64]
Flags = NDArray[np.bool_]
