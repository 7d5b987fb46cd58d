"""Do cells live differently under different treatments? One hidden Markov tree a treatment, fitted to its lineages.

    python examples/lineages.py [CELLS.csv] [--resamples N] [--states K]

CELLS.csv has one row a cell: experiment, cell, mother (0 for a founder), treatment, first_minute, last_minute. Without
a file, lineages are made up: two treatments that differ and one that is the first again.

What is known of a lifetime: a cell with daughters divided one frame after it was last seen; one without was still alive
then, so its lifetime is longer (right-censored). Founders were born before the film began: their time is counted from
there, and they are a group of their own.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

import hidiv as hd

COLUMNS = ("experiment", "cell", "mother", "treatment", "first_minute", "last_minute")
FRAME = 30  # minutes between pictures
FOUNDER, OFFSPRING = 0, 1  # groups
FEWEST = 10  # offspring seen dividing: fewer say too little of how long a cycle takes
LIKE = hd.Tree([-1, 0, 0, 1, 1, 2, 2], group=[0, 1, 1, 1, 1, 1, 1])  # a founder, its daughters and granddaughters


@dataclass(frozen=True)
class Lineage:
    """One founder and its offspring: who is whose, and how long each lived, in hours."""

    tree: hd.Tree
    evidence: hd.Evidence
    complete: int  # offspring seen dividing


def read_lineages(rows: list[dict[str, str]]) -> dict[str, list[Lineage]]:
    """Treatment -> lineages."""
    daughters: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        daughters[row["experiment"], row["mother"]].append(row)
    found: dict[str, list[Lineage]] = defaultdict(list)
    for founder in rows:
        if founder["mother"] == "0":
            cells, parent = [founder], [-1]
            for i, cell in enumerate(cells):  # grows as daughters are found
                born = daughters[cell["experiment"], cell["cell"]]
                cells += born
                parent += [i] * len(born)
            found[founder["treatment"]].append(_lineage(cells, parent))
    return dict(found)


def _lineage(cells: list[dict[str, str]], parent: list[int]) -> Lineage:
    seen = np.array([float(cell["last_minute"]) - float(cell["first_minute"]) + FRAME for cell in cells]) / 60.0
    divided = np.isin(np.arange(len(cells)), parent)
    lifetime = np.where(divided, seen, np.nan)
    at_least = np.where(divided, -np.inf, seen)
    group = [FOUNDER if mother < 0 else OFFSPRING for mother in parent]
    evidence = hd.Evidence(lifetime, lower=at_least, upper=np.full(len(cells), np.inf))
    return Lineage(hd.Tree(parent, group=group), evidence, int(divided[1:].sum()))


def fitted(lineages: list[Lineage], n_states: int, start: hd.Model | None = None) -> hd.Model:
    """The model of some lineages; states differ in how long cells live, founders and offspring each in their way."""
    evidence, trees = [each.evidence for each in lineages], [each.tree for each in lineages]
    how = {"seed": 1, "n_init": 5} if start is None else {"start": start}
    return hd.fit(evidence, trees, n_states, "gamma", tol=1e-5, max_iter=200, pseudo_count=1.0, **how).model


def apart(p: hd.Model, q: hd.Model) -> float:
    """D(p || q) + D(q || p) of the lifetimes of one family of seven cells, by the variational recursion."""
    return sum(hd.observed_kl(one, two, LIKE, method="variational").value for one, two in ((p, q), (q, p)))


def resampled(lineages: list[Lineage], rng: np.random.Generator) -> list[Lineage]:
    """As many lineages, drawn with replacement."""
    return [lineages[i] for i in rng.integers(len(lineages), size=len(lineages))]


def shuffled(
    first: list[Lineage], second: list[Lineage], rng: np.random.Generator
) -> tuple[list[Lineage], list[Lineage]]:
    """The lineages of both treatments, dealt out anew in the same numbers: what chance alone does."""
    both = first + second
    order = rng.permutation(len(both))
    return [both[i] for i in order[: len(first)]], [both[i] for i in order[len(first) :]]


def simulated_rows(seed: int = 0, lineages: int = 40, film: int = 2880) -> list[dict[str, str]]:
    """Made-up lineages on a film of two days; treatments A and B live alike, C more slowly."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, str]] = []
    for treatment, slower in (("A", 1.0), ("B", 1.0), ("C", 1.6)):
        number = 0
        for _ in range(lineages):
            waiting = [("0", 0, int(rng.random() < 0.3))]
            while waiting:
                mother, born, state = waiting.pop(0)
                number += 1
                hours = slower * rng.gamma(20.0, (10.0, 20.0)[state] / 20.0)
                last = born + FRAME * round(60.0 * hours / FRAME) - FRAME
                times = {"first_minute": str(born), "last_minute": str(min(max(last, born), film))}
                rows.append(
                    {"experiment": treatment, "cell": str(number), "mother": mother, "treatment": treatment} | times
                )
                if last + FRAME <= film:
                    for _ in range(2):
                        changed = rng.random() < 0.2
                        waiting.append((str(number), max(last, born) + FRAME, state ^ int(changed)))
    return rows


def main(
    rows: list[dict[str, str]], resamples: int, n_states: int
) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Print a line for each pair of treatments; (value, lower, upper) of each."""
    groups = read_lineages(rows)
    for treatment in sorted(groups):
        complete = sum(each.complete for each in groups[treatment])
        cells = sum(each.tree.n_nodes for each in groups[treatment])
        print(f"{treatment}: {len(groups[treatment])} lineages, {cells} cells, {complete} offspring seen dividing")
        if complete < FEWEST:
            print(f"  fewer than {FEWEST}: their cycle cannot be told, left out")
            del groups[treatment]
    models = {treatment: fitted(lineages, n_states) for treatment, lineages in groups.items()}
    for treatment, model in models.items():
        hours = [(family.shape / family.rate).round(1).tolist() for family in model.emissions]
        print(
            f"{treatment}: founders divide after {hours[FOUNDER]} hours, offspring after {hours[OFFSPRING]}, by state"
        )
    rng = np.random.default_rng(2)
    print(f"\nD(p || q) + D(q || p), 95 % of {resamples} resamplings of lineages, and what chance alone gives:")
    found = {}
    for one, two in combinations(sorted(models), 2):
        value = apart(models[one], models[two])
        draws, chance = [], []
        for _ in range(resamples):
            again = (fitted(resampled(groups[name], rng), n_states, models[name]) for name in (one, two))
            draws.append(apart(*again))
            dealt = shuffled(groups[one], groups[two], rng)
            chance.append(apart(*(fitted(part, n_states, models[one]) for part in dealt)))
        low, high = np.quantile(draws, [0.025, 0.975])
        share = (1 + sum(each >= value for each in chance)) / (1 + resamples)
        found[one, two] = value, float(low), float(high)
        print(f"{one} and {two}: {value:.2f} [{low:.2f}, {high:.2f}] nats a family; as much by chance: {share:.2f}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Divergences between treatments, from lineages of cells.")
    parser.add_argument("cells", nargs="?", help="a CSV file; made-up lineages without one")
    parser.add_argument("--resamples", type=int, default=20)
    parser.add_argument("--states", type=int, default=2)
    given = parser.parse_args()
    if given.cells is not None and not Path(given.cells).is_file():
        sys.exit(f"lineages: there is no file {given.cells}")
    if given.cells is None:
        read = simulated_rows()
    else:
        with Path(given.cells).open(newline="") as file:
            read = list(csv.DictReader(file))
        lacking = [name for name in COLUMNS if not read or name not in read[0]]
        if lacking:
            sys.exit(f"lineages: {given.cells} has no rows with {', '.join(lacking)}")
    main(read, given.resamples, given.states)
