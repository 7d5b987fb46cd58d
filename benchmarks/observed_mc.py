"""Time to a relative standard error of 1e-3 for the observed divergence, against plain Monte Carlo with hmmlearn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import hidiv as hd
from benchmarks.models import in_hmmlearn
from benchmarks.timing import Row, interleaved
from hidiv.divergences.observed.budget import Budget
from hidiv.divergences.observed.sampled.stopping import stopped_estimate
from hidiv.divergences.observed.sampled.tree_estimate import draws_on_tree
from hidiv.divergences.pair import Pair

LENGTH = 100
RELATIVE = 1e-3
LONG = 20_000  # draws of an estimate that is worth two workers
DRAWS = 40  # of hmmlearn in a round; the rest is extrapolated

P = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]]))
Q = hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))


def rows() -> Iterator[Row]:
    yield from (against_hmmlearn(P, Q, "p from q"), against_hmmlearn(Q, P, "q from p"))
    yield two_workers()


def two_workers() -> Row:
    """A long estimate, 8 sticky states, 16 symbols, by two workers against one; the numbers are the same."""
    rng = np.random.default_rng(1)
    p, q = (
        hd.Model(
            rng.dirichlet(np.ones(8)), 0.9 * np.eye(8) + 0.1 * rng.dirichlet(np.ones(8), 8),
            hd.Categorical(rng.dirichlet(np.ones(16), 8)),
        )
        for _ in range(2)
    )  # fmt: skip
    draws = draws_on_tree(Pair.of(p, q, LENGTH))
    values: set[float] = set()

    def by(workers: int) -> None:
        values.add(stopped_estimate(draws, Budget(0.0, 0.0, seed=1, max_samples=LONG), workers).value)

    row = interleaved(
        f"{LONG} chains, N={LENGTH}, 8 states, 16 symbols, sticky, two workers", lambda: by(2), "one worker",
        lambda: by(1), rounds=3,
    )  # fmt: skip
    assert len(values) == 1
    return row


def against_hmmlearn(p: hd.Model, q: hd.Model, which: str) -> Row:
    """hmmlearn's sampler and two scores to a draw; the number of draws follows from the variance of the log-ratio."""
    peers = [in_hmmlearn(model, "scaling") for model in (p, q)]
    seeds = iter(range(10**6))
    ratios: list[float] = []

    def mine() -> None:
        found = hd.observed_kl(p, q, LENGTH, method="montecarlo", rtol=RELATIVE, seed=next(seeds))
        assert found.std_error is not None
        assert found.std_error <= RELATIVE * found.value

    def theirs() -> None:
        for _ in range(DRAWS):
            x, _states = peers[0].sample(LENGTH, random_state=next(seeds))
            ratios.append(peers[0].score(x) - peers[1].score(x))

    row = interleaved(
        f"observed_kl by Monte Carlo to {RELATIVE:g}, the paper's chains, N={LENGTH}, {which}", mine, "", theirs,
        goal=1e-4, rounds=9,
    )  # fmt: skip
    needed = float(np.var(ratios)) / (RELATIVE * float(np.mean(ratios))) ** 2
    against = f"plain Monte Carlo with hmmlearn: {needed:.0f} draws, extrapolated from {DRAWS} to a round"
    return replace(row, against=against, peer_seconds=row.peer_seconds / DRAWS * needed)
