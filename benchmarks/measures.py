"""Measures beside the Kullback-Leibler divergence: their speed, and a study of what they see.

`python -m benchmarks measures` times them; `python benchmarks/measures.py [TILES]` prints tables for docs/measures.md:
every measure on the paper's models and those of Juang and Rabiner, rank correlations on random pairs, retrieval of
simulated spoken digits and, with texture tiles, correlations and retrieval on wavelet trees.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

if not __package__:  # run as a file
    sys.path.insert(0, str(Path(__file__).parent.parent))

import hidiv as hd
from benchmarks.models import in_hmmlearn, random_model
from benchmarks.pairwise import collection
from benchmarks.timing import Row, interleaved
from hidiv.report.paper.printed import chains, trees
from hidiv.wavelets import average_retrieval

Array = NDArray[np.float64]
Distance = Callable[[hd.Model, hd.Model], float]

DRAWS = 1000  # of both models together, where a measure is drawn
TILES, CLASSES = 4, 8  # of the textures that are taken


def rows() -> Iterator[Row]:
    """One pair of long chains against a score, and all pairs of many models."""
    rng = np.random.default_rng(0)
    p, q = (random_model(rng, 10, 10) for _ in range(2))
    peer, x = in_hmmlearn(p, "scaling"), hd.sample(p, 100_000, seed=1)[1][:, None].astype(np.int64)
    yield interleaved(
        "product_kernel, K=10, N=100,000", lambda: hd.product_kernel(p, q, 100_000),
        "hmmlearn's score of one chain, scaling", lambda: peer.score(x), goal=3.0,
    )  # fmt: skip
    models = collection(1_000, 2)
    yield interleaved(
        "pairwise product_kernel, M=1,000, K=4, N=100", lambda: hd.pairwise(models, 100, measure="product_kernel"),
        "pairwise_kl of the same", lambda: hd.pairwise_kl(models, 100), rounds=3,
    )  # fmt: skip


def distances(tree: Any, ground: Any = None, stationary: bool = True) -> dict[str, Distance]:
    """Every measure as a dissimilarity of two models."""
    draws: dict[str, Any] = {"seed": 0, "max_samples": DRAWS}
    found: dict[str, Distance] = {
        "joint (Jeffreys)": lambda p, q: hd.joint_kl(p, q, tree).value + hd.joint_kl(q, p, tree).value,
        "joint aligned (Jeffreys)": lambda p, q: hd.align(p, q, tree).value + hd.align(q, p, tree).value,
        "observed (Jeffreys)": lambda p, q: sum(
            hd.observed_kl(a, b, tree, seed=0, rtol=0.1, max_samples=DRAWS).value for a, b in ((p, q), (q, p))
        ),
        "product kernel, -log": lambda p, q: -(hd.product_kernel(p, q, tree).log or 0.0),
        "Bhattacharyya, -log": lambda p, q: -(hd.bhattacharyya(p, q, tree, **draws).log or 0.0),
        "Hellinger": lambda p, q: hd.hellinger(p, q, tree, **draws).value,
        "total variation": lambda p, q: hd.total_variation(p, q, tree, **draws).value,
        "Jensen-Shannon": lambda p, q: hd.jensen_shannon(p, q, tree, **draws).value,
    }
    if stationary:
        found["aggregated Wasserstein"] = lambda p, q: hd.aggregated_wasserstein(p, q, ground=ground).value
        found["Sahraeian-Yoon, 1 - S"] = lambda p, q: 1.0 - hd.sahraeian_yoon(p, q).value
    return found


def between_rows(a: Any, b: Any) -> Array:
    """Total variation of the rows of two categorical families: a ground distance."""
    return np.asarray(0.5 * np.abs(a.probs[:, None] - b.probs[None]).sum(axis=2))


def juang_rabiner() -> tuple[hd.Model, hd.Model]:
    """The four-state example of Juang and Rabiner (1985)."""
    first = hd.Model(
        [0.75, 0.15, 0.05, 0.05],
        [[0.8, 0.15, 0.05, 0], [0.07, 0.75, 0.12, 0.06], [0.05, 0.14, 0.8, 0.01], [0.001, 0.089, 0.11, 0.8]],
        hd.Categorical([[0.3, 0.4, 0.2, 0.1], [0.5, 0.3, 0.1, 0.1], [0.1, 0.2, 0.4, 0.3], [0.4, 0.3, 0.1, 0.2]]),
    )
    second = hd.Model(
        [0.4, 0.25, 0.15, 0.2],
        [[0.4, 0.25, 0.15, 0.2], [0.27, 0.45, 0.22, 0.06], [0.35, 0.14, 0.4, 0.11], [0.111, 0.119, 0.23, 0.54]],
        hd.Categorical([[0.1, 0.15, 0.65, 0.1], [0.2, 0.3, 0.4, 0.1], [0.3, 0.3, 0.1, 0.3], [0.15, 0.25, 0.4, 0.2]]),
    )
    return first, second


def known_models() -> None:
    """Every measure on the paper's chains, the paper's trees, and the models of Juang and Rabiner."""
    cases: dict[str, tuple[Any, Any, Any]] = {
        "paper's chains, N = 10": (*chains(), 10),
        "paper's trees": (*trees(), hd.Tree.regular(2, 3)),
        "Juang-Rabiner, N = 100": (*juang_rabiner(), 100),
    }
    print("| measure | " + " | ".join(cases) + " |\n|" + "---|" * (len(cases) + 1))
    names: dict[str, Callable[..., Any]] = {
        "joint divergence D(p \\|\\| q)": hd.joint_kl,
        "the same per step (Falkhausen; Do)": lambda p, q, tree: hd.joint_kl_rate(p, q),
        "observed divergence D(p \\|\\| q)": lambda p, q, tree: hd.observed_kl(p, q, tree, seed=0, rtol=1e-3),
        "the same per step (Juang-Rabiner)": lambda p, q, tree: hd.observed_kl_rate(p, q, seed=0, width=1e-4),
        "product kernel": hd.product_kernel,
        "product kernel, beta = 1/2": lambda p, q, tree: hd.product_kernel(p, q, tree, 0.5),
        "co-emission, log": lambda p, q, tree: f"{hd.coemission(p, q, tree).log:.5g} (exact)",
        "Bhattacharyya coefficient": lambda p, q, tree: hd.bhattacharyya(p, q, tree, seed=0),
        "Hellinger distance": lambda p, q, tree: hd.hellinger(p, q, tree, seed=0),
        "total variation": lambda p, q, tree: hd.total_variation(p, q, tree, seed=0),
        "Bayes error": lambda p, q, tree: hd.bayes_error(p, q, tree, seed=0),
        "Jensen-Shannon divergence": lambda p, q, tree: hd.jensen_shannon(p, q, tree, seed=0),
        "aggregated Wasserstein": lambda p, q, tree: hd.aggregated_wasserstein(p, q, ground=between_rows),
        "Sahraeian-Yoon similarity": lambda p, q, tree: hd.sahraeian_yoon(p, q),
    }
    for name, measure in names.items():
        print(f"| {name} | " + " | ".join(_shown(measure, *case) for case in cases.values()) + " |", flush=True)


def _shown(measure: Callable[..., Any], p: Any, q: Any, tree: Any) -> str:
    try:
        result = measure(p, q, tree)
    except hd.HidivError:
        return "-"
    if isinstance(result, str):
        return result
    if result.status == "estimate":
        return f"{result.value:.4g} ± {result.std_error:.1g}"
    if result.status == "certified" and result.upper - result.lower > 1e-3 * abs(result.value):
        return f"{result.lower:.4g} to {result.upper:.4g}"
    return f"{result.value:.5g} ({result.status})"


def correlations(pairs: list[tuple[hd.Model, hd.Model]], ways: dict[str, Distance]) -> None:
    """Spearman's rank correlations of the measures over pairs of models."""
    table = np.array([[way(p, q) for p, q in pairs] for way in ways.values()])
    ranks = np.asarray(spearmanr(table.T).statistic)
    short = [name.split(" (")[0].split(",")[0] for name in ways]
    print("| | " + " | ".join(short) + " |\n|" + "---|" * (len(short) + 1))
    for name, row in zip(short, ranks, strict=True):
        print(f"| {name} | " + " | ".join(f"{x:.2f}" for x in row) + " |", flush=True)


def random_pairs(count: int = 200) -> None:
    """Pairs of three-state chains of two symbols, some close and some far."""
    rng = np.random.default_rng(1)
    pairs = []
    for _ in range(count):
        p, other = (random_model(rng, 3, 2) for _ in range(2))
        share = rng.uniform(0.05, 1.0)

        def mixed(a: Array, b: Array, share: float = share) -> Array:
            return (1.0 - share) * a + share * b

        q = hd.Model(
            mixed(p.initial, other.initial), mixed(p.transitions[0], other.transitions[0]),
            hd.Categorical(mixed(p.emission.probs, other.emission.probs)),
        )  # fmt: skip
        pairs.append((p, q.relabel(rng.permutation(3))))
    correlations(pairs, distances(12, between_rows))


def retrieval(models: list[hd.Model], labels: Array, ways: dict[str, Distance]) -> None:
    """How many of the nearest models are of the same class."""
    print("| measure | retrieval % |\n|---|---|")
    for name, way in ways.items():
        table = np.zeros((len(models), len(models)))
        for i, p in enumerate(models):
            for j in range(i + 1, len(models)):
                table[i, j] = table[j, i] = way(p, models[j])
        print(f"| {name} | {100.0 * average_retrieval(table, labels):.1f} |", flush=True)


def spoken_digits(digits: int = 8, speakers: int = 5) -> tuple[list[hd.Model], Array]:
    """Left-to-right chains of Gaussian states: a prototype for each digit, moved for each speaker, labels shuffled."""
    rng = np.random.default_rng(2)
    models, labels = [], []
    for digit in range(digits):
        centres, stay = rng.normal(0.0, 2.0, (4, 2)), rng.uniform(0.5, 0.9, 4)
        for _ in range(speakers):
            keep = np.clip(stay + rng.normal(0.0, 0.08, 4), 0.2, 0.97)
            steps = np.diag(keep) + np.roll(np.diag(1.0 - keep), 1, axis=1)  # the last state leads back to the first
            spread = rng.uniform(0.7, 1.3, (4, 2))
            model = hd.Model([1, 0, 0, 0], steps, hd.Gaussian(centres + rng.normal(0.0, 0.6, (4, 2)), std=spread))
            models.append(model.relabel(rng.permutation(4)))
            labels.append(digit)
    return models, np.array(labels)


def wavelet_trees(path: str) -> tuple[list[hd.Model], Array, hd.Tree]:
    """Two-state trees of one orientation of the wavelet coefficients of some texture tiles."""
    from benchmarks.texture_tiles import read_tiles
    from hidiv.wavelets import discrete, fit_bands

    tiles, classes = read_tiles(path)
    chosen = [i for c in range(CLASSES) for i in np.flatnonzero(classes == c)[:TILES]]
    fits = [fit_bands(discrete(tiles[i], levels=3)) for i in chosen]
    return [fit.models[0] for fit in fits], classes[chosen], fits[0].tree


def study(path: str | None) -> None:
    print("## Known models\n")
    known_models()
    print("\n## Rank correlations on 200 random pairs\n")
    random_pairs()
    print("\n## Retrieval of simulated spoken digits\n")
    models, labels = spoken_digits()
    retrieval(models, labels, distances(30))
    if path is not None:
        models, labels, tree = wavelet_trees(path)
        ways = distances(tree, stationary=False)
        rng = np.random.default_rng(3)
        some = rng.integers(0, len(models), (200, 2))
        print("\n## Rank correlations on wavelet trees\n")
        correlations([(models[i], models[j]) for i, j in some if i != j], ways)
        print("\n## Retrieval on wavelet trees\n")
        retrieval(models, labels, ways)


if __name__ == "__main__":
    study(sys.argv[1] if len(sys.argv) > 1 else None)
