"""python benchmarks/texture_halves.py TILES: trees and local binary patterns on classes they were not chosen on.

Classes are split into two halves; of the trees, and of the local binary patterns, those best on one half are judged on
the other, and the other way round. First the classes of even and odd number, then random halves.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the workers are the parallelism

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

if not __package__:  # run as a file
    sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.texture_methods import MEANS, OBSERVED, TOGETHER, Method
from benchmarks.texture_tiles import local_binary_patterns, read_tiles
from benchmarks.textures import fitted
from hidiv.wavelets import average_retrieval, pairwise

Array = NDArray[np.float64]

CANDIDATES = (
    *(
        Method(f"one tree of {states} states, local means", "dual-tree", 3, MEANS | {"n_states": states}, OBSERVED)
        for states in (6, 4, 8)
    ),
    Method("one tree of 4 states", "dual-tree", 3, TOGETHER, OBSERVED),
)
RADII = ((1,), (1, 2), (1, 2, 4), (1, 2, 4, 8), (2, 4), (1, 3))
RANDOM_HALVES = 50


def main(path: str, workers: int, keep: Path | None, every: int) -> None:
    """All candidates on all classes, then the chosen ones on the halves they were not chosen on."""
    tiles, classes = (part[::every] for part in read_tiles(path))
    trees: dict[str, Array] = {}
    with ProcessPoolExecutor(workers) as pool:
        for method in CANDIDATES:
            models, _ = fitted(method, tiles, pool, keep)
            trees |= {f"{method.name}, {way}": pairwise(models, **how) for way, how in method.ways.items()}
    patterns = {f"local binary patterns, radii {radii}": local_binary_patterns(tiles, radii) for radii in RADII}
    print("| candidate | all classes % | even classes % | odd classes % |\n|---|---|---|---|")
    names = np.unique(classes)
    for name, matrix in {**trees, **patterns}.items():
        parts = (names, names[::2], names[1::2])
        print(f"| {name} | " + " | ".join(f"{retrieval(matrix, classes, part):.2f}" for part in parts) + " |")
    print("\n| chosen on | judged on | trees chosen | % | patterns chosen | % |\n|---|---|---|---|---|---|")
    for one, other, chosen, judged in (
        ("even", "odd", names[::2], names[1::2]),
        ("odd", "even", names[1::2], names[::2]),
    ):
        (tree, share), (pattern, mark) = (best(kind, classes, chosen, judged) for kind in (trees, patterns))
        print(f"| {one} | {other} | {tree} | {share:.2f} | {pattern} | {mark:.2f} |")
    pairs = np.array(list(random_halves(trees, patterns, classes)))
    more = int((pairs[:, 0] > pairs[:, 1]).sum())
    print(
        f"\n{len(pairs)} random halves: trees {pairs[:, 0].mean():.2f} %, patterns {pairs[:, 1].mean():.2f} %; "
        f"trees above in {more} of {len(pairs)} (the halves overlap)"
    )


def retrieval(matrix: Array, classes: NDArray[np.int64], of: NDArray[np.int64]) -> float:
    """The average retrieval among the tiles of some classes, in per cent."""
    inside = np.isin(classes, of)
    return 100.0 * average_retrieval(matrix[np.ix_(inside, inside)], classes[inside])


def best(
    matrices: dict[str, Array], classes: NDArray[np.int64], chosen: NDArray[np.int64], judged: NDArray[np.int64]
) -> tuple[str, float]:
    """The candidate with the highest retrieval on some classes, and what it gets on others."""
    name = max(matrices, key=lambda each: retrieval(matrices[each], classes, chosen))
    return name, retrieval(matrices[name], classes, judged)


def random_halves(
    trees: dict[str, Array], patterns: dict[str, Array], classes: NDArray[np.int64]
) -> Iterator[tuple[float, float]]:
    """What the chosen trees and the chosen patterns get on the other half, one random split after the other."""
    rng = np.random.default_rng(0)
    names = np.unique(classes)
    for _ in range(RANDOM_HALVES):
        order = rng.permutation(names)
        halves = order[: len(names) // 2], order[len(names) // 2 :]
        yield best(trees, classes, *halves)[1], best(patterns, classes, *halves)[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tiles", help="an .npz with `tiles` (classes, tiles, side, side), or a folder of images")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keeps fitted models there, and takes them up again"
    )
    parser.add_argument("--every", type=int, default=1, help="takes every so many-th tile alone, for less time")
    given = parser.parse_args()
    main(given.tiles, given.workers, given.keep, given.every)
