"""Do cells live differently under different treatments? One hidden Markov tree a treatment, fitted to its lineages.

    python examples/lineages.py [CELLS.csv] [--states K] [--permutations N]

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
from pathlib import Path

import numpy as np

import hidiv as hd

COLUMNS = ("experiment", "cell", "mother", "treatment", "first_minute", "last_minute")
FRAME = 30  # minutes between pictures
FOUNDER, OFFSPRING = 0, 1  # groups
FEWEST = 10  # offspring seen dividing: fewer say too little of how long a cycle takes


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


def read_rows(path: str) -> list[dict[str, str]]:
    """The rows of a file, or an end with a sentence that says what is wrong with it."""
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        sys.exit(f"lineages: {path} cannot be read: {error}")
    lacking = [name for name in COLUMNS if not rows or name not in rows[0]]
    if lacking:
        sys.exit(f"lineages: {path} has no rows with {', '.join(lacking)}")
    for number, row in enumerate(rows, 2):
        for name in ("first_minute", "last_minute"):
            try:
                float(row[name])
            except (TypeError, ValueError):
                sys.exit(f"lineages: {path}, line {number}: {name} must be a number, got {row[name]}")
    return rows


def _lineage(cells: list[dict[str, str]], parent: list[int]) -> Lineage:
    seen = np.array([float(cell["last_minute"]) - float(cell["first_minute"]) + FRAME for cell in cells]) / 60.0
    divided = np.isin(np.arange(len(cells)), parent)
    lifetime = np.where(divided, seen, np.nan)
    at_least = np.where(divided, -np.inf, seen)
    group = [FOUNDER if mother < 0 else OFFSPRING for mother in parent]
    evidence = hd.Evidence(lifetime, lower=at_least, upper=np.full(len(cells), np.inf))
    return Lineage(hd.Tree(parent, group=group), evidence, int(divided[1:].sum()))


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


def main(rows: list[dict[str, str]], n_states: int = 1, permutations: int = 9999, starts: int = 3) -> hd.Difference:
    """Print what is known of each treatment, and which of them differ."""
    groups = read_lineages(rows)
    for treatment in sorted(groups):
        complete = sum(each.complete for each in groups[treatment])
        cells = sum(each.tree.n_nodes for each in groups[treatment])
        print(f"{treatment}: {len(groups[treatment])} lineages, {cells} cells, {complete} offspring seen dividing")
        if complete < FEWEST:
            print(f"  fewer than {FEWEST}: their cycle cannot be told, left out")
            del groups[treatment]
    evidence, trees = (
        {name: [getattr(each, what) for each in groups[name]] for name in sorted(groups)}
        for what in ("evidence", "tree")
    )
    found = hd.differ(
        evidence, trees, n_states=n_states, emission="gamma", permutations=permutations, seed=1, n_init=starts,
        pseudo_count=1.0, tol=1e-5, max_iter=200,
    )  # fmt: skip
    for treatment, model in found.models.items():
        hours = [(family.shape / family.rate).round(1).tolist() for family in model.emissions]
        print(
            f"{treatment}: founders divide after {hours[FOUNDER]} hours, offspring after {hours[OFFSPRING]}, by state"
        )
    print(f"\n{found.summary()}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Divergences between treatments, from lineages of cells.")
    parser.add_argument("cells", nargs="?", help="a CSV file; made-up lineages without one")
    parser.add_argument("--states", type=int, default=1, help="more need more cells than such films have")
    parser.add_argument("--permutations", type=int, default=9999)
    given = parser.parse_args()
    if given.cells is not None and not Path(given.cells).is_file():
        sys.exit(f"lineages: there is no file {given.cells}")
    try:
        main(simulated_rows() if given.cells is None else read_rows(given.cells), given.states, given.permutations)
    except hd.HidivError as error:
        sys.exit(f"lineages: {error}")
