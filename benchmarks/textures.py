"""python benchmarks/textures.py TILES: how often the nearest tiles are of the same texture.

Each tile is standardised and fitted alone; the average share of its own class among its nearest others counts.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the workers are the parallelism

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

if not __package__:  # run as a file
    sys.path.insert(0, str(Path(__file__).parent.parent))

import hidiv as hd
from benchmarks.texture_methods import (
    INDEPENDENT,
    METHODS,
    SUB_BANDS,
    TREES,
    Method,
    independent,
    minus_log_likelihoods,
    monte_carlo,
)
from benchmarks.texture_tiles import local_binary_patterns, read_tiles
from hidiv.recursions.kernels import description
from hidiv.wavelets import WaveletModel, average_retrieval, pairwise

Array = NDArray[np.float64]

GOAL, PAIRS_GOAL, SPEARMAN_GOAL = 91.0, 1.0, 0.97
QUERIES = 4  # one tile in so many asks by likelihood, which takes a recursion over the tile for every model
SAMPLED, DRAWS = 40, 300  # pairs checked by Monte Carlo, draws for each tree of a pair


def main(path: str, workers: int, only: list[str], keep: Path | None, sampled: int) -> None:
    """Every row of the table, then the goals; some of them where only some methods are asked for."""
    tiles, classes = read_tiles(path)
    methods = [method for method in METHODS if all(word in method.title for word in only)]
    if not methods:
        sys.exit("textures: no method is called so; there are: " + "; ".join(method.title for method in METHODS))
    count = len(set(classes.tolist()))
    print(f"{len(tiles)} tiles of {count} classes; hidiv kernels: {description()}; {workers} workers\n")
    print("| fitted to a tile | transform | levels | compared by | retrieval % | fit s | all pairs s |\n|" + "---|" * 7)
    began = perf_counter()
    mark = average_retrieval(local_binary_patterns(tiles), classes) * 100
    print(
        f"| local binary patterns, radii 1, 2, 4 | - | - | Jeffreys | {mark:.2f} | - | {perf_counter() - began:.2f} |"
    )
    results: dict[tuple[str, str, int, str], tuple[float, float]] = {}
    kept: list[WaveletModel] = []
    with ProcessPoolExecutor(workers) as pool:
        for method in methods:
            models, fit_time = fitted(method, tiles, pool, keep)
            for way, seconds, share in compared(method, models, classes):
                print(line(method, way, share, fit_time, seconds), flush=True)
                results[method.name, method.transform, method.levels, way] = share, seconds
            if (method.name, method.transform, method.levels) == (TREES, "dual-tree", 3):
                kept = models
                by_likelihood(method, models, tiles, classes, fit_time, pool)
        print()
        checked = check(kept, pool, sampled) if kept and sampled else []
    goals(results, mark, checked)


def fitted(
    method: Method, tiles: Array, pool: ProcessPoolExecutor, keep: Path | None
) -> tuple[list[WaveletModel], float]:
    """A model of each tile and the time that took; taken up from a folder where an earlier run kept them."""
    path = None if keep is None else keep / f"{method.title}.npz"
    if path is not None and path.exists():
        every = hd.Collection.load(path)
        each = len(every) // len(tiles)
        parts = [tuple(every[i] for i in range(start, start + each)) for start in range(0, len(every), each)]
        seconds = float(path.with_suffix(".txt").read_text())
        return [WaveletModel(part, hd.Tree.regular(4, method.levels), 0.0) for part in parts], seconds
    began = perf_counter()
    models = list(pool.map(method, tiles, chunksize=4))
    seconds = perf_counter() - began
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        hd.save(hd.Collection([each for model in models for each in model.models]), path)
        path.with_suffix(".txt").write_text(repr(seconds))
    return models, seconds


def compared(method: Method, models: list[WaveletModel], classes: Array) -> Iterator[tuple[str, float, float]]:
    """Each way to compare: its name, the time of all pairs and the average retrieval."""
    for way, how in method.ways.items():
        began = perf_counter()
        matrix = independent(models, **how) if method.ways is INDEPENDENT else pairwise(models, **how)
        seconds = perf_counter() - began
        yield way, seconds, 100 * average_retrieval(matrix, classes)


def line(method: Method, way: str, share: float, fit_time: float, seconds: float) -> str:
    what = f"{method.name} | {method.transform} | {method.levels} | {way}"
    return f"| {what} | {share:.2f} | {fit_time:.0f} | {seconds:.2f} |"


def by_likelihood(
    method: Method, models: list[WaveletModel], tiles: Array, classes: Array, fit_time: float, pool: ProcessPoolExecutor
) -> None:
    """Rank models by the likelihood of some of the tiles."""
    began = perf_counter()
    asking = np.arange(0, len(tiles), QUERIES)
    rows = list(pool.map(partial(minus_log_likelihoods, method, models=models), tiles[asking]))
    seconds = perf_counter() - began
    shares = []
    for query, row in zip(asking, rows, strict=True):
        row[query] = np.inf
        own = classes == classes[query]
        shares.append(own[np.argsort(row, kind="stable")[: own.sum() - 1]].mean())
    way = f"likelihood, {len(asking)} of the tiles asking"
    print(line(method, way, 100 * float(np.mean(shares)), fit_time, seconds), flush=True)


def check(models: list[WaveletModel], pool: ProcessPoolExecutor, count: int) -> list[float]:
    """Rank correlations of the variational recursion with Monte Carlo on random pairs."""
    rng = np.random.default_rng(0)
    pairs = [rng.choice(len(models), size=2, replace=False) for _ in range(count)]
    found = []
    for equally in (True, False):
        matrix = pairwise(models, level_weights="equal" if equally else None)
        joint = pairwise(models, level_weights="equal" if equally else None, quantity="joint")
        left, right = ([models[pair[side]] for pair in pairs] for side in (0, 1))
        sampled = list(pool.map(partial(monte_carlo, equally=equally, samples=DRAWS), left, right, range(count)))
        approximated = np.array([matrix[i, j] for i, j in pairs])
        found.append(float(spearmanr(approximated, sampled).statistic))
        plain = float(spearmanr([joint[i, j] for i, j in pairs], sampled).statistic)
        ratio = np.median(approximated / np.array(sampled))
        print(
            f"observed, levels {'equally' if equally else 'by nodes'}, against Monte Carlo on {count} pairs: "
            f"variational Spearman {found[-1]:.3f}, median ratio {ratio:.2f}; joint Spearman {plain:.3f}"
        )
    return found


def goals(results: dict[tuple[str, str, int, str], tuple[float, float]], mark: float, checked: list[float]) -> None:
    """Each goal whose rows were run, met or MISSED."""
    print()

    def say(what: str, value: float, goal: str, met: bool) -> None:
        print(f"{what}: {value:.3f}, goal {goal}: {'met' if met else 'MISSED'}")

    trees = [
        value
        for key, value in results.items()
        if (key[0], key[1], key[3]) == (TREES, "dual-tree", "observed, levels equally")
    ]
    if trees:
        share, seconds = max(trees)
        say("dual-tree hidden Markov trees, one an orientation", share, f">= {GOAL:g} %", share >= GOAL)
        alone = [value[0] for key, value in results.items() if (key[0], key[1]) == (SUB_BANDS, "dual-tree")]
        if alone:
            say("the same, over independent sub-bands", share, f"> {max(alone):.2f} %", share > max(alone))
        say("all pairs of the same, seconds", seconds, f"< {PAIRS_GOAL:g}", seconds < PAIRS_GOAL)
    observed = [value[1] for key, value in results.items() if key[3].startswith("observed")]
    if observed:
        slowest = max(observed)
        what = "all pairs of the slowest observed divergence, seconds"
        say(what, slowest, f"< {PAIRS_GOAL:g}", slowest < PAIRS_GOAL)
    best, (highest, _) = max(results.items(), key=lambda item: item[1][0])
    say(f"best: {best[0]}, {best[3]}, over local binary patterns", highest, f"> {mark:.2f} %", highest > mark)
    if checked:
        least = min(checked)
        say("rank correlation with Monte Carlo", least, f">= {SPEARMAN_GOAL:g}", least >= SPEARMAN_GOAL)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tiles", help="an .npz with `tiles` (classes, tiles, side, side), or a folder of images")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="methods with these words in their name")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keeps fitted models there, and takes them up again"
    )
    parser.add_argument("--pairs", type=int, default=SAMPLED, help="pairs checked by Monte Carlo, 0 for none")
    given = parser.parse_args()
    main(given.tiles, given.workers, given.only, given.keep, given.pairs)
