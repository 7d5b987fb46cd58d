"""Models with fewer states by hd.reduce, against fresh fits with as many states on draws of the same size.

    python benchmarks/reduction.py FOLDER [--files 3] [--nodes 50000] [--fits 10]

FOLDER holds ChromHMM models (model_*.txt or any other name); those with 15 states are reduced to 10.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import process_time

import numpy as np

import hidiv as hd

STATES, FEWER = 15, 10
JUDGED = 400_000  # steps of the draw that all models of a file are judged on
CHAINS = 8


def main() -> None:
    """Print a row for each model."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("folder", type=Path)
    words.add_argument("--first", type=int, default=0)
    words.add_argument("--files", type=int, default=3)
    words.add_argument("--nodes", type=int, default=100_000)
    words.add_argument("--fits", type=int, default=10)
    asked = words.parse_args()
    models = [(path.stem, hd.load(path)) for path in sorted(asked.folder.glob("*.txt"))]
    chosen = [(name, model) for name, model in models if model.n_states == STATES]
    print("| model | reduced | best fit | median fit | worst fit | CPU seconds, reduce | CPU seconds, one fit |")
    print("|---|---|---|---|---|---|---|")
    for name, model in chosen[asked.first : asked.first + asked.files]:
        print(row(name, model, asked.nodes, asked.fits), flush=True)


def row(name: str, model: hd.Model, nodes: int, fits: int) -> str:
    """The losses of the reduction and of fresh fits, in nats a step."""
    p = hd.Model(model.stationary(), model.transition, model.emission)
    began = process_time()
    small = hd.reduce(p, FEWER, nodes=nodes, seed=1).model
    reduced = process_time() - began
    held_out = list(hd.sample(p, JUDGED // CHAINS, CHAINS, seed=99)[1])

    def per_step(q: hd.Model) -> float:
        return sum(hd.log_likelihood(q, x) for x in held_out) / JUDGED

    best = per_step(p)
    began, losses = process_time(), []
    for seed in range(fits):
        x = list(hd.sample(p, nodes // CHAINS, CHAINS, seed=1000 + seed)[1])
        losses.append(best - per_step(hd.fit(x, None, FEWER, "bernoulli", n_init=1, seed=seed).model))
    each = (process_time() - began) / fits
    spread = f"{min(losses):.4f} | {np.median(losses):.4f} | {max(losses):.4f}"
    return f"| {name} | {best - per_step(small):.4f} | {spread} | {reduced:.0f} | {each:.0f} |"


if __name__ == "__main__":
    main()
