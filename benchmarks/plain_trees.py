"""Estimates on listed trees against plain Monte Carlo of the same error: is any pair slower?

    python -m benchmarks.plain_trees [seed of the pairs] [number of pairs] [relative error] [rounds]

Plain is what a short script would do: trees drawn from p, two log-likelihoods each, the mean of their difference, first
of as many draws as an estimate begins with, then of those that the error asks for. Times are of the processor, medians
of rounds in turn, the same seed for both in a round. Pairs are drawn anew by every seed.
"""

from __future__ import annotations

import sys
from math import inf, sqrt
from statistics import median
from time import process_time

import numpy as np

import hidiv as hd
from hidiv.inference.likelihood import log_likelihoods
from hidiv.inference.sampling import draw_observations, draw_states

FIRST, AT_ONCE = 128, 512  # draws
FAMILIES = ("categorical", "bernoulli", "poisson", "gaussian", "gaussian, 3 columns", "gamma", "mixture")
NOISE, SHARE = 1e-3, 0.05  # seconds, and share of plain's time, below which a difference is none


def random_model(rng: np.random.Generator, family: str, states: int) -> hd.Model:
    stay = rng.choice([0.0, 0.8])
    rows = stay * np.eye(states) + (1.0 - stay) * rng.dirichlet(np.ones(states), states)
    spread = rng.uniform(0.5, 1.5, states)
    emission = {
        "categorical": lambda: hd.Categorical(rng.dirichlet(np.ones(4), states)),
        "bernoulli": lambda: hd.Bernoulli(rng.uniform(0.05, 0.95, (states, 3))),
        "poisson": lambda: hd.Poisson(rng.uniform(0.5, 10.0, states)),
        "gaussian": lambda: hd.Gaussian(2.0 * rng.normal(size=states), std=spread),
        "gaussian, 3 columns": lambda: hd.Gaussian(
            2.0 * rng.normal(size=(states, 3)), std=rng.uniform(0.5, 1.5, (states, 3))
        ),
        "gamma": lambda: hd.Gamma(rng.uniform(1.0, 6.0, states), rng.uniform(0.5, 2.0, states)),
        "mixture": lambda: hd.Mixture(
            rng.dirichlet([2.0, 2.0], states),
            [hd.Gaussian(2.0 * rng.normal(size=states), std=rng.uniform(0.5, 1.5, states)) for _ in range(2)],
        ),
    }[family]()
    return hd.Model(rng.dirichlet(np.ones(states)), rows, emission)


def random_tree(rng: np.random.Generator) -> hd.Tree:
    """5 to 300 nodes, most of them few; parents drawn from all nodes before, or from the last ones."""
    nodes = int(np.exp(rng.uniform(np.log(5), np.log(300))))
    window = nodes if rng.random() < 0.5 else 5
    return hd.Tree([-1, *(int(rng.integers(max(0, u - window), u)) for u in range(1, nodes))])


def plain(p: hd.Model, q: hd.Model, tree: hd.Tree, rtol: float, seed: int, most: float = inf) -> tuple[float, int]:
    """The mean of log p/q with a standard error of rtol times itself, and the number of draws."""
    rng = np.random.default_rng(seed)
    ratios, wanted = np.zeros(0), FIRST
    while True:
        while len(ratios) < wanted:
            x = draw_observations(p, tree, draw_states(p, tree, min(AT_ONCE, wanted - len(ratios)), rng), rng)
            ratios = np.append(ratios, log_likelihoods(p, x, tree) - log_likelihoods(q, x, tree))
        value, spread = float(ratios.mean()), float(ratios.std(ddof=1))
        if spread <= rtol * abs(value) * sqrt(len(ratios)) or len(ratios) >= most:
            return value, len(ratios)
        wanted = int(min(1.05 * (spread / (rtol * value)) ** 2, most)) + 1


def main(seed: int, pairs: int, rtol: float, rounds: int) -> None:
    rng = np.random.default_rng([seed, 96])
    slower, every, theirs = [], 0.0, 0.0
    for number in range(pairs):
        family, states, tree = FAMILIES[number % len(FAMILIES)], int(rng.integers(2, 6)), random_tree(rng)
        p, q = (random_model(rng, family, states) for _ in range(2))
        times: tuple[list[float], list[float]] = ([], [])
        count = most = 0
        for again in range(rounds + 1):  # the first to warm up
            start = process_time()
            found = hd.observed_kl(p, q, tree, method="montecarlo", rtol=rtol, seed=again)
            between = process_time()
            # Far beyond what ours took nothing more is learnt.
            _, count = plain(p, q, tree, rtol, again, most or inf)
            if again:
                times[0].append(between - start)
                times[1].append(process_time() - between)
            elif process_time() - between > 20 * (between - start):
                most = max(FIRST, count // 8)
        mine, other = median(times[0]), median(times[1])
        every, theirs = every + mine, theirs + other
        loses = mine > other + max(NOISE, SHARE * other)
        if loses:
            slower.append(mine - other)
        print(
            f"{family:20} {states} states {tree.n_nodes:4d} nodes:",
            f"{found.n_samples or 0:6d} draws {1e3 * mine:8.2f} ms,",
            f"plain {count:7d} draws{' and more' if most else ''} {1e3 * other:8.2f} ms{'  SLOWER' if loses else ''}",
            flush=True,
        )
    worst = f", by at most {1e3 * max(slower):.1f} ms" if slower else ""
    print(f"{len(slower)} of {pairs} pairs slower than plain{worst}; all pairs {every:.2f} s, plain {theirs:.2f} s")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        int(given[0]) if given else 0, int(given[1]) if len(given) > 1 else 96,
        float(given[2]) if len(given) > 2 else 0.01, int(given[3]) if len(given) > 3 else 5,
    )  # fmt: skip
