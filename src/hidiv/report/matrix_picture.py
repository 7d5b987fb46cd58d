"""A matrix of divergences to look at: shades of table cells, or a small PNG with one pixel for each pair."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from math import ceil

import numpy as np
from numpy.typing import NDArray

from hidiv.types import Array

SHADES = 10
MANY = 300  # models; the picture of more has fewer shades, so that it stays small
PALETTE = [
    tuple(round(a + (b - a) * i / 255) for a, b in zip((245, 249, 254), (8, 48, 107), strict=True)) for i in range(256)
]


def shades(values: Array) -> Array:
    """Shades from 0 to 1: square roots, which spread small divergences; infinite ones are the darkest."""
    finite = values[np.isfinite(values)]
    top = float(finite.max(initial=0.0)) or 1.0
    return np.asarray(np.sqrt(np.where(np.isfinite(values), np.clip(values, 0, None), top) / top))


def cells(values: Array, order: list[int]) -> list[list[int]]:
    """Whole shades from 0 to 10 for the cells of a table, in the order of the dendrogram."""
    table = shades(values)[np.ix_(order, order)]
    return [[ceil(SHADES * float(v) - 1e-9) for v in row] for row in table]


def picture(values: Array, order: list[int]) -> str:
    """The shades as a PNG in a data address, one pixel for each pair, in the order of the dendrogram."""
    levels = 63 if len(values) <= MANY else 31
    table = np.round(levels * shades(values)[np.ix_(order, order)]) / levels
    return data_address(np.round(255 * table).astype(np.uint8), PALETTE)  # type: ignore[arg-type]


def data_address(pixels: NDArray[np.uint8], palette: list[tuple[int, int, int]]) -> str:
    """A PNG as 'data:image/png;base64,...'; pixels (height, width) are indices into the palette.

    >>> data_address(np.zeros((1, 1), dtype=np.uint8), [(0, 0, 0)])[:30]
    'data:image/png;base64,iVBORw0K'
    """
    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels))
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", bytes(level for colour in palette for level in colour)),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    ]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return "data:image/png;base64," + b64encode(b"\x89PNG\r\n\x1a\n" + body).decode("ascii")
