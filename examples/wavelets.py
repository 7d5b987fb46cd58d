"""Which textures are alike? Hidden Markov trees of wavelet coefficients, compared by what they let one see.

    python examples/wavelets.py [--tiles N] [--side PIXELS]

Tiles of four made-up textures, all with the same mean and variance: noise filtered along one direction or another,
noise whose strength comes in patches, and the same noise without patches. Each tile gets a model of its own; the
nearest others by the observed divergence should be of its own kind.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numpy.typing import NDArray

from hidiv.errors import HidivError
from hidiv.wavelets import average_retrieval, dual_tree, fit_bands, pairwise

Array = NDArray[np.float64]

KINDS = ("slanting", "slanting back", "patches", "even")


def texture(kind: str, side: int, rng: np.random.Generator) -> Array:
    """One standardised tile."""
    frequency = np.fft.fftfreq(side)
    down, across = np.meshgrid(frequency, frequency, indexing="ij")
    noise = np.fft.fft2(rng.normal(size=(side, side)))
    if kind.startswith("slanting"):
        along = down + across if kind == "slanting" else down - across
        tile = np.fft.ifft2(noise * np.exp(-((np.abs(along) / 0.08) ** 2))).real
    else:
        tile = np.fft.ifft2(noise / (0.05 + np.hypot(down, across))).real
        if kind == "patches":
            slow = np.fft.fft2(rng.normal(size=(side, side))) * (np.hypot(down, across) < 3.0 / side)
            tile = tile * np.where(np.fft.ifft2(slow).real > 0, 1.0, 0.2)
    return np.asarray((tile - tile.mean()) / tile.std())


def main(tiles: int = 4, side: int = 64, seed: int = 0) -> dict[str, float]:
    """Average retrieval by three ways to compare; printed, and given back by name."""
    rng = np.random.default_rng(seed)
    kinds = [kind for kind in KINDS for _ in range(tiles)]
    bands = [dual_tree(texture(kind, side, rng), levels=3) for kind in kinds]
    ways = {
        "independent coefficients": pairwise([fit_bands(each, n_states=1) for each in bands]),
        "hidden Markov trees": pairwise([fit_bands(each) for each in bands]),
        "one tree for all orientations": pairwise([fit_bands(each, 4, together=True) for each in bands]),
    }
    found = {way: average_retrieval(matrix, kinds) for way, matrix in ways.items()}
    print(
        f"{len(kinds)} tiles of {len(KINDS)} textures: share of the nearest {tiles - 1} that are of the tile's own kind"
    )
    for way, share in found.items():
        print(f"  {way}: {share:.0%}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Retrieval of made-up textures by hidden Markov trees.")
    parser.add_argument("--tiles", type=int, default=4, help="of each kind")
    parser.add_argument("--side", type=int, default=64, help="a multiple of 8")
    given = parser.parse_args()
    try:
        main(given.tiles, given.side)
    except HidivError as error:
        sys.exit(f"wavelets: {error}")
