"""Texture tiles: from an .npz file, or cut from a folder of images; and local binary patterns, the mark to pass."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SIDE = 128  # of the tiles cut from images
SUFFIXES = (".png", ".pgm", ".tif", ".tiff", ".bmp", ".jpg", ".jpeg", ".gif")


def read_tiles(path: str) -> tuple[Array, NDArray[np.int64]]:
    """Standardised tiles (n, side, side) and their classes (n,).

    An .npz holds `tiles` (classes, tiles, side, side); in a folder every image is a class, cut into tiles.
    """
    if not Path(path).exists():
        sys.exit(f"textures: there is no {path}")
    stacks = _from_folder(Path(path)) if Path(path).is_dir() else list(np.load(path, allow_pickle=False)["tiles"])
    tiles = np.concatenate(stacks).astype(np.float64)
    classes = np.repeat(np.arange(len(stacks)), [len(stack) for stack in stacks])
    tiles -= tiles.mean(axis=(1, 2), keepdims=True)
    spread = tiles.std(axis=(1, 2), keepdims=True)
    if not (spread > 0).all():
        sys.exit("textures: a tile is of one grey throughout")
    return tiles / spread, classes


def _from_folder(folder: Path) -> list[NDArray[np.uint8]]:
    try:
        from PIL import Image
    except ImportError:
        sys.exit("textures: reading images needs Pillow; pip install pillow, or give an .npz")
    stacks = []
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in SUFFIXES:
            with Image.open(path) as image:
                grey = np.asarray(image.convert("L"))
            rows, columns = (side // SIDE for side in grey.shape)
            cut = grey[: rows * SIDE, : columns * SIDE].reshape(rows, SIDE, columns, SIDE).swapaxes(1, 2)
            if rows * columns > 1:
                stacks.append(cut.reshape(-1, SIDE, SIDE))
    if len(stacks) < 2:
        sys.exit(f"textures: {folder} needs two images or more, each of at least two tiles of {SIDE} x {SIDE}")
    return stacks


def local_binary_patterns(tiles: Array, radii: tuple[int, ...] = (1, 2, 4)) -> Array:
    """(n, n): symmetrised divergence of the counts of 8-neighbour patterns, one added to each; radii add up."""
    total = np.zeros((len(tiles), len(tiles)))
    for radius in radii:
        counts = np.stack([np.bincount(np.ravel(code), minlength=256) for code in _patterns(tiles, radius)]) + 1.0
        law = counts / counts.sum(axis=1, keepdims=True)
        one_way = (law * np.log(law)).sum(axis=1)[:, None] - law @ np.log(law).T
        total += one_way + one_way.T
    return total


def _patterns(tiles: Array, radius: int) -> NDArray[np.int64]:
    """One bit for each neighbour at the radius along and across the axes: whether it is at least as bright."""
    middle = tiles[:, radius:-radius, radius:-radius]
    codes = np.zeros(middle.shape, dtype=np.int64)
    height, width = middle.shape[1:]
    around = ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0))
    for bit, (i, j) in enumerate(around):
        top, left = i * radius, j * radius
        codes |= (tiles[:, top : top + height, left : left + width] >= middle).astype(np.int64) << bit
    return codes
