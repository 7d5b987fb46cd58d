"""The observed divergence on models like those from the field, against plain Monte Carlo with hmmlearn of equal error.

    HIDIV_CHROMHMM=folder python -m benchmarks field_models

Without a folder of ChromHMM model files models like them are drawn. hmmlearn's time is that of its sampler and of two
scores to a draw, extrapolated to the draws that the variance of the log-ratio asks for. Times are of the processor.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np

import hidiv as hd
from benchmarks.coverage import marked
from benchmarks.models import chromhmm_models, gaussian_in_hmmlearn, in_hmmlearn
from benchmarks.timing import Row
from hidiv.divergences.observed.alphabets import family_symbols

LENGTH, DRAWS, DRAWN = 100, 24, 12  # nodes; draws of hmmlearn that are timed; models that are drawn without files


def rows() -> Iterator[Row]:
    models = field_models()
    words = [hd.Model(m.initial, m.transition, hd.Categorical(family_symbols(m.emissions[0]))) for m in models]
    peers = [in_hmmlearn(m, "log") for m in words]  # scaling fails where a word is impossible
    kind = "ChromHMM models" if "HIDIV_CHROMHMM" in os.environ else "models like ChromHMM's"
    for rtol in (1e-2, 1e-3):
        yield one_pair(
            f"two {kind}, five marks, N={LENGTH}, to {rtol:g}", models[0], models[5], peers[0], peers[5], rtol
        )
    yield all_pairs(f"all pairs of {len(models)} {kind}, N={LENGTH}", models, peers)
    for columns, goal in ((1, 1e-3), (5, 1 / 300), (13, 1 / 300)):
        for states in (5, 10):
            for stay in (0.0, 0.9):
                rng = np.random.default_rng([states, columns, int(10 * stay)])
                p, q = (gaussian(rng, states, columns, stay) for _ in range(2))
                name = f"Gaussian, {states} states, {columns} columns, {'sticky' if stay else 'random'}, to 0.001"
                yield one_pair(name, p, q, gaussian_in_hmmlearn(p), gaussian_in_hmmlearn(q), 1e-3, goal)


def field_models() -> list[hd.Model]:
    """The models of HIDIV_CHROMHMM that have the five marks, or drawn ones."""
    folder = os.environ.get("HIDIV_CHROMHMM")
    if folder is None:
        rng = np.random.default_rng(15)
        return [marked(rng, 10) for _ in range(DRAWN)]
    return chromhmm_models(folder)


def gaussian(rng: np.random.Generator, states: int, columns: int, stay: float) -> hd.Model:
    rows = stay * np.eye(states) + (1.0 - stay) * rng.dirichlet(np.ones(states), states)
    mean, var = rng.normal(size=(states, columns)), rng.uniform(0.5, 1.5, (states, columns)) ** 2
    return hd.Model(rng.dirichlet(np.ones(states)), rows, hd.Gaussian(mean, var=var))


def one_pair(
    name: str, p: hd.Model, q: hd.Model, peer_p: Any, peer_q: Any, rtol: float, goal: float | None = None
) -> Row:
    began = process_time()
    found = hd.observed_kl(p, q, LENGTH, method="montecarlo", rtol=rtol, seed=1, max_samples=10**6)
    mine = process_time() - began
    began, ratios = process_time(), []
    for seed in range(DRAWS):
        x, _ = peer_p.sample(LENGTH, random_state=seed)
        ratios.append(peer_p.score(x) - peer_q.score(x))
    needed = float(np.var(ratios, ddof=1)) / (found.std_error or 1e-300) ** 2
    theirs = (process_time() - began) / DRAWS * needed
    error = f"standard error {100 * found.std_error / found.value:.2g} %"
    return Row(f"{name}: {found.n_samples} draws, {error}", f"plain, {needed:.2g} draws", mine, theirs, goal)


def all_pairs(name: str, models: list[hd.Model], peers: list[Any]) -> Row:
    """Errors of at most 10 %, so that their median is about 5 %."""
    began = process_time()
    found = hd.pairwise_kl(models, LENGTH, quantity="observed", rtol=0.1, seed=1)
    mine = process_time() - began
    values, errors = np.asarray(found), np.asarray(found.std_error)
    wanted = np.isfinite(values) & (values > 0) & (errors > 0)
    needed, spent = 0.0, 0.0
    for i, peer in enumerate(peers):
        drawn = [peer.sample(LENGTH, random_state=seed)[0] for seed in range(DRAWS)]
        began = process_time()
        scores = np.array([[one.score(x) for x in drawn] for one in peers])
        spent += (process_time() - began) / scores.size / len(peers)
        spread = (scores[i] - scores[wanted[i]]).var(axis=1, ddof=1)
        needed += float((spread / errors[i][wanted[i]] ** 2).sum())
    median = 100 * float(np.median(errors[wanted] / values[wanted]))
    against = f"plain, {needed:.2g} draws in all, two scores each"
    return Row(f"{name}, median standard error {median:.2g} %", against, mine, 2.0 * spent * needed, 0.01)
