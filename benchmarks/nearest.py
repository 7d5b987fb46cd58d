"""The nearest of a million models: exactly, and by an index; and how quickly a collection loads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

import hidiv as hd
from benchmarks.pairwise import N, collection
from benchmarks.timing import Row

MODELS, QUERIES, WANTED = 1_000_000, 32, 10
LISTS, PROBES = 1000, 32


def clustered(m: int, seed: int, prototypes: int = 2_000) -> hd.Collection:
    """Models scattered around prototypes, as those fitted to data are."""
    rng = np.random.default_rng(seed)
    given = collection(prototypes, seed).to_arrays()
    which = rng.integers(0, prototypes, m)

    def scattered(rows: np.ndarray) -> np.ndarray:
        drawn = rng.standard_gamma(200.0 * rows[which] + 0.1) + 1e-12
        return drawn / drawn.sum(axis=-1, keepdims=True)

    return hd.Collection.from_arrays({key: scattered(a) if a.ndim > 1 else a for key, a in given.items()})


def rows() -> Iterator[Row]:
    yield _loading()
    models, queries = clustered(MODELS, 1), clustered(QUERIES, 1)
    exact, truth = _timed(lambda: hd.nearest(queries, models, N, WANTED))
    for name, options in (("flat", {}), (f"{LISTS} lists, {PROBES} looked at", {"lists": LISTS, "probes": PROBES})):
        built, index = _timed(lambda options=options: hd.faiss_index(models, N, **options))
        searched, found = _timed(lambda index=index: hd.nearest(queries, models, N, WANTED, index=index, sampled=0))
        recall = (
            np.mean([len(np.intersect1d(*pair)) for pair in zip(found.indices, truth.indices, strict=True)]) / WANTED
        )
        yield Row(
            f"nearest by faiss, {name}: {QUERIES} queries, k={WANTED}, recall {recall:.3f}",
            f"exact nearest, {MODELS} models", searched, exact,
        )  # fmt: skip
        yield Row(f"making that index, {name}, once", f"exact nearest, {MODELS} models", built, exact)


def _loading() -> Row:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "many.npz"
        collection(100_000, 5).save(path)
        seconds, _ = _timed(lambda: hd.Collection.load(path))
    return Row("load and check 100000 models (K=4, 10 symbols)", "a second", seconds, 1.0, 1.0)


def _timed(run):  # type: ignore[no-untyped-def]
    start = perf_counter()
    value = run()
    return perf_counter() - start, value
