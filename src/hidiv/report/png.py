"""A small picture as a data address: one byte a pixel and a palette."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode

import numpy as np
from numpy.typing import NDArray


def data_address(pixels: NDArray[np.uint8], palette: list[tuple[int, int, int]]) -> str:
    """'data:image/png;base64,...' of pixels (height, width) that number colours of the palette.

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
