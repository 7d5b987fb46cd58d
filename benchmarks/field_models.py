"""The observed divergence on models like those from the field, against plain Monte Carlo with hmmlearn of equal error.

    HIDIV_CHROMHMM=folder python -m benchmarks field_models

Without a folder of ChromHMM model files models like them are drawn. hmmlearn's time is that of its sampler and of two
scores to a draw, extrapolated to the draws that the variance of the log-ratio asks for, by 2,000 draws of each pair (by
24 for all pairs). Times are of the processor.
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
from hidiv.inference.likelihood import log_likelihoods

LENGTH, DRAWS, DRAWN = 100, 24, 12  # nodes; draws of hmmlearn that are timed; models that are drawn without files
SPREAD = 2000  # draws whose log-ratios tell how many plain ones an error takes
NEAR = 1e-3  # nats between two models that are nearly one: plain draws do not tell them apart


def rows() -> Iterator[Row]:
    models = field_models()
    words = [hd.Model(m.initial, m.transition, hd.Categorical(family_symbols(m.emissions[0]))) for m in models]
    peers = [in_hmmlearn(m, "log") for m in words]  # scaling fails where a word is impossible
    kind = "ChromHMM models" if "HIDIV_CHROMHMM" in os.environ else "models like ChromHMM's"
    for rtol in (1e-2, 1e-3):
        yield one_pair(
            f"two {kind}, five marks, N={LENGTH}, to {rtol:g}", models[0], models[5], peers[0], peers[5], rtol
        )
    yield from all_pairs(f"all pairs of {len(models)} {kind}, N={LENGTH}", models, peers)
    for columns, goal in ((1, 1e-3), (5, 1 / 300), (13, 1 / 300)):
        for states in (5, 10):
            for stay in (0.0, 0.9):
                rng = np.random.default_rng([states, columns, int(10 * stay)])
                p, q = (gaussian(rng, states, columns, stay) for _ in range(2))
                width = "1 column" if columns == 1 else f"{columns} columns"
                name = f"Gaussian, {states} states, {width}, {'sticky' if stay else 'random'}, to 0.001"
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
    began = process_time()
    for seed in range(DRAWS):
        x, _ = peer_p.sample(LENGTH, random_state=seed)
        peer_p.score(x)
        peer_q.score(x)
    each = (process_time() - began) / DRAWS
    _, x = hd.sample(p, LENGTH, SPREAD, seed=2)
    p_logs, q_logs = (log_likelihoods(model, x, hd.Tree.chain(LENGTH)) for model in (p, q))
    needed = float(np.var(p_logs - q_logs)) / (found.std_error or 1e-300) ** 2
    theirs = each * needed
    error = f"standard error {100 * found.std_error / found.value:.2g} %"
    return Row(f"{name}: {found.n_samples} draws, {error}", f"plain, {needed:.2g} draws", mine, theirs, goal)


def all_pairs(name: str, models: list[hd.Model], peers: list[Any]) -> Iterator[Row]:
    """Errors of at most 10 %, so that their median is about 5 %; the pairs that are not nearly one model.

    Plain draws of each pair on its own, and those of each p shared by all q, as many as the worst of them asks for.
    """
    began = process_time()
    found = hd.pairwise_kl(models, LENGTH, quantity="observed", rtol=0.1, seed=1)
    mine = process_time() - began
    values, errors = np.asarray(found), np.asarray(found.std_error)
    finite = np.isfinite(values) & (values > 0) & (errors > 0)
    wanted = finite & (values > NEAR)
    alone, shared, scores_alone, scores_shared = 0.0, 0.0, 0.0, 0.0
    for i, peer in enumerate(peers):
        drawn = [peer.sample(LENGTH, random_state=seed)[0] for seed in range(DRAWS)]
        began = process_time()
        scores = np.array([[one.score(x) for x in drawn] for one in peers])
        score = (process_time() - began) / scores.size
        if not wanted[i].any():
            continue
        needed = (scores[i] - scores[wanted[i]]).var(axis=1, ddof=1) / errors[i][wanted[i]] ** 2
        alone, shared = alone + float(needed.sum()), shared + float(needed.max())
        scores_alone += 2.0 * score * float(needed.sum())
        scores_shared += score * float(needed.sum() + needed.max())
    median = 100 * float(np.median(errors[finite] / values[finite]))
    left_out = f"{int(finite.sum() - wanted.sum())} nearly equal pairs not counted"
    name = f"{name}, median standard error {median:.2g} %"
    yield Row(name, f"plain, {alone:.2g} draws in all, two scores each, {left_out}", mine, scores_alone, 0.01)
    yield Row("the same", f"plain, {shared:.2g} draws, those of each p shared by all q", mine, scores_shared, 0.01)
