"""Which cell line is this model from? The nearest other model by observed divergence, beside correlated emissions.

    python examples/cell_lines.py [FOLDER]

FOLDER: ChromHMM model files named LINE_NUMBER.txt, and perhaps an index.csv with a column `file` and the names of the
marks of each, separated by semicolons, in a column `marks`, for files that spell them differently. Without a folder
models of four cell lines are drawn, and fitted models of the same line differ as fits to samples do.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from time import perf_counter

import numpy as np

import hidiv as hd

MARKS = ["H3K4me1", "H3K4me2", "H3K9ac", "H3K36me3", "H3K79me2"]
LENGTH = 100  # bins of a chromosome that are compared


def read_models(folder: Path) -> tuple[list[hd.Model], list[str]]:
    """The models of a folder that have all marks, reduced to these, and their cell lines."""
    index = folder / "index.csv"
    spelled = {}
    if index.exists():
        with index.open(newline="", encoding="utf-8") as file:
            spelled = {row["file"]: row["marks"].split(";") for row in csv.DictReader(file)}
    models, lines = [], []
    for path in sorted(folder.glob("*.txt")):
        model = hd.load(path)
        names = spelled.get(path.name, list(model.column_names or ()))
        if set(MARKS) <= set(names) and len(names) == len(set(names)):
            models.append(model.renamed(path.stem, column_names=names).select(MARKS))
            lines.append(path.stem.rpartition("_")[0])
    return models, lines


def drawn_models(of_each: int, rng: np.random.Generator) -> tuple[list[hd.Model], list[str]]:
    """Models of four cell lines, states numbered as a fit would number them."""
    models, lines = [], []
    for line in "ABCD":
        rows, marks = rng.dirichlet(np.full(6, 0.3), 6), rng.beta(0.3, 0.5, (6, len(MARKS)))
        for number in range(of_each):
            law = 0.8 * np.eye(6) + 0.2 * (0.8 * rows + 0.2 * rng.dirichlet(np.full(6, 0.3), 6))
            seen = np.clip(marks + rng.normal(0.0, 0.05, marks.shape), 1e-3, 1.0 - 1e-3)
            model = hd.Model("stationary", law, hd.Bernoulli(seen), name=f"{line}_{number}", column_names=MARKS)
            models.append(model.relabel(rng.permutation(6)))
            lines.append(line)
    return models, lines


def emission_correlation(p: hd.Model, q: hd.Model) -> float:
    """Mean over p's states of the largest correlation of their marks with those of a state of q."""
    with np.errstate(invalid="ignore", divide="ignore"):
        table = np.corrcoef(p.emission.probs, q.emission.probs)[: p.n_states, p.n_states :]
    return float(np.nan_to_num(table, nan=-1.0).max(axis=1).mean())


def found(distances: np.ndarray, lines: list[str]) -> tuple[int, int]:
    """How many models have their nearest other model in their own line, of those whose line has another."""
    distances = np.where(np.eye(len(lines), dtype=bool), np.inf, distances)
    others = [line for line in lines if lines.count(line) > 1]
    right = sum(lines[int(np.argmin(row))] == line for row, line in zip(distances, lines, strict=True))
    return right, len(others)


def main(folder: str | None = None, of_each: int = 5, rtol: float = 0.05) -> None:
    """The whole analysis; fewer models of each line, or a larger error, are faster."""
    models, lines = drawn_models(of_each, np.random.default_rng(3)) if folder is None else read_models(Path(folder))
    print(f"{len(models)} models of {len(set(lines))} cell lines on {len(MARKS)} marks")
    began = perf_counter()
    observed = hd.pairwise_kl(models, LENGTH, quantity="observed", rtol=rtol, seed=0)
    spent = perf_counter() - began
    values, errors = np.asarray(observed), np.asarray(observed.std_error)
    apart = np.isfinite(values) & (values > 0)
    print(
        f"observed divergences of {values.size - len(models)} pairs in {spent:.0f} s, "
        f"median standard error {100 * np.median(errors[apart] / values[apart]):.1f} %, "
        f"{np.isinf(values).sum()} infinite"
    )
    approximate = np.asarray(hd.pairwise_kl(models, LENGTH, quantity="observed", method="variational"))
    likeness = np.array([[emission_correlation(p, q) for q in models] for p in models])
    for name, distances in (
        ("observed divergence D(p || q)", values),
        ("observed divergence, both directions added", values + values.T),
        ("its variational approximation, both directions", approximate + approximate.T),
        ("correlation of emissions", -likeness),
        ("correlation of emissions, both directions", -(likeness + likeness.T)),
    ):
        right, of = found(distances, lines)
        print(f"{name:48} {right:3d} of {of} = {right / of:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Cell lines of ChromHMM models, by their nearest other model.")
    parser.add_argument("folder", nargs="?", help="of model files; models are drawn without one")
    given = parser.parse_args().folder
    if given is not None and not Path(given).is_dir():
        sys.exit(f"cell_lines: there is no folder {given}")
    try:
        main(given)
    except hd.HidivError as error:
        sys.exit(f"cell_lines: {error}")
