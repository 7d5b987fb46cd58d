"""Random models for the tables: far apart (drawn independently) or close (parameters 1e-3 apart)."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

import hidiv as hd

MARKS = ["H3K4me1", "H3K4me2", "H3K9ac", "H3K36me3", "H3K79me2"]


def random_model(rng: np.random.Generator, states: int, symbols: int) -> hd.Model:
    """Rows drawn uniformly from the simplex."""
    return hd.Model(
        rng.dirichlet(np.ones(states)),
        rng.dirichlet(np.ones(states), states),
        hd.Categorical(rng.dirichlet(np.ones(symbols), states)),
    )


def close_to(rng: np.random.Generator, model: hd.Model, distance: float = 1e-3) -> hd.Model:
    """The same model with every parameter moved by about `distance`, relatively."""

    def moved(rows: np.ndarray) -> np.ndarray:
        changed = rows * (1 + distance * rng.uniform(-1, 1, rows.shape))
        return changed / changed.sum(axis=-1, keepdims=True)

    return hd.Model(moved(model.initial), moved(model.transition), hd.Categorical(moved(model.emission.probs)))


def in_hmmlearn(model: hd.Model, implementation: str):  # type: ignore[no-untyped-def]
    """The same categorical model in hmmlearn."""
    from hmmlearn.hmm import CategoricalHMM

    peer = CategoricalHMM(model.n_states, implementation=implementation)
    peer.startprob_, peer.transmat_ = model.initial, model.transition
    peer.emissionprob_, peer.n_features = model.emission.probs, model.emission.n_symbols
    return peer


def gaussian_model(rng: np.random.Generator, states: int, columns: int) -> hd.Model:
    """Rows drawn uniformly from the simplex, normal laws of independent columns."""
    mean, var = 3 * rng.normal(size=(states, columns)), rng.uniform(0.5, 2, (states, columns))
    return hd.Model(rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), states), hd.Gaussian(mean, var=var))


def close_gaussian(rng: np.random.Generator, model: hd.Model, distance: float = 1e-3) -> hd.Model:
    """The same model with every parameter moved by about `distance`."""
    rows = model.transition * (1 + distance * rng.uniform(-1, 1, model.transition.shape))
    law = model.emission
    moved = hd.Gaussian(law.mean + distance, var=law.var * (1 + distance))
    return hd.Model(model.initial, rows / rows.sum(axis=1, keepdims=True), moved)


def gaussian_in_hmmlearn(model: hd.Model):  # type: ignore[no-untyped-def]
    """The same Gaussian model in hmmlearn."""
    from hmmlearn.hmm import GaussianHMM

    peer = GaussianHMM(model.n_states, "diag", implementation="scaling")
    peer.startprob_, peer.transmat_ = model.initial, model.transition
    peer.means_, peer.covars_ = model.emission.mean, model.emission.var
    return peer


def chromhmm_models(folder: str) -> list[hd.Model]:
    """The ChromHMM models of a folder that have five marks, reduced to these; index.csv may spell the marks alike."""
    index, spelled = Path(folder) / "index.csv", {}
    if index.exists():
        with index.open(newline="", encoding="utf-8") as file:
            spelled = {row["file"]: row["marks"].split(";") for row in csv.DictReader(file)}
    models = []
    for path in sorted(Path(folder).glob("*.txt")):
        model = hd.load(path)
        names = spelled.get(path.name, list(model.column_names or ()))
        if set(MARKS) <= set(names) and len(names) == len(set(names)):
            models.append(model.renamed(path.stem, column_names=names).select(MARKS))
    return models
