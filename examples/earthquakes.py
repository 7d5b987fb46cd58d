"""How many regimes has the yearly number of large earthquakes, and has the first half another law than the second?

    python examples/earthquakes.py [COUNTS.csv]

COUNTS.csv: a header, then one row a year whose last field is the number of earthquakes. Without a file a series of the
same kind is drawn from a Poisson model of three regimes, far enough apart for 107 years to show them.
"""

from __future__ import annotations

import argparse
import csv
import sys

import numpy as np

import hidiv as hd
from hidiv.errors import counted

FEWEST = 10  # years: fewer leave too little to each half
DRAWN = hd.Model(
    [0.0, 1.0, 0.0],
    [[0.94, 0.03, 0.03], [0.04, 0.91, 0.05], [0.0, 0.19, 0.81]],
    hd.Poisson([11.0, 19.7, 33.0]),
    name="three regimes",
)


def read_counts(path: str | None) -> np.ndarray:
    """(n,): counts, from the last column of a file or drawn."""
    if path is None:
        return hd.sample(DRAWN, 107, seed=1900)[1]
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(line for line in file if not line.startswith("#")) if row]
        counts = np.array([float(row[-1]) for row in rows[1:]])
    except (OSError, ValueError, csv.Error) as error:
        sys.exit(f"earthquakes: {path} cannot be read: {error}")
    if len(counts) < FEWEST:
        sys.exit(f"earthquakes: {path} has {counted(len(counts), 'year')}, {FEWEST} are needed")
    return counts


def main(path: str | None = None, starts: int = 10, replicates: int = 100) -> None:
    """The whole analysis; fewer starts and replicates are faster."""
    counts = read_counts(path)
    print(f"{len(counts)} years, {counts.mean():.1f} earthquakes a year, variance {counts.var():.1f}")

    choice = hd.choose(counts, None, (1, 2, 3), "poisson", n_init=starts, seed=0, tol=1e-4)
    print(choice)
    best = choice.best.model
    order = np.argsort(best.emission.rate)
    print("rates:", np.round(best.emission.rate[order], 1).tolist())

    states, _ = hd.viterbi(best, counts)
    rank = np.argsort(order)
    print("regimes by year:", "".join(str(rank[s]) for s in states))

    # Do the halves differ? Both are fitted from the model of the whole, so that states keep their meaning.
    halves = np.array_split(counts, 2)
    p, q = (hd.fit(half, start=best, pseudo_count=0.5) for half in halves)
    told = hd.bootstrap_divergence(
        p, q, *halves, divergence="aligned", on=len(halves[0]), replicates=replicates, seed=1, pseudo_count=0.5,
    )  # fmt: skip
    print("first half from second:", told)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Regimes of the yearly number of large earthquakes.")
    parser.add_argument("counts", nargs="?", help="a CSV file; a series is drawn without one")
    try:
        main(parser.parse_args().counts)
    except hd.HidivError as error:
        sys.exit(f"earthquakes: {error}")
