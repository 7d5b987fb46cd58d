"""The posterior divergence and the likelihood along sequences, against hmmlearn scoring the same sequences."""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time

import numpy as np

import hidiv as hd
from benchmarks.models import (
    close_gaussian,
    close_to,
    gaussian_in_hmmlearn,
    gaussian_model,
    in_hmmlearn,
    random_model,
)
from benchmarks.timing import PAUSE, Row, interleaved

LENGTH = 100_000
SYMBOLS = 10


def rows() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    for states in (2, 4, 8, 16, 32, 64):
        p = random_model(rng, states, SYMBOLS)
        x = hd.sample(p, LENGTH, seed=1)[1].astype(np.int64)
        for distance, q, goal in (("close", close_to(rng, p), 0.5), ("far", random_model(rng, states, SYMBOLS), 1.0)):
            yield against_scores(p, q, x, f"posterior_kl, 1e5 symbols, K={states}, {distance}", "scaling", goal)
        if states >= 4:
            yield against_scores(p, q, x, f"the same, K={states}, far", "log", 0.15)
        yield likelihood(p, x)
    for states in (3, 6, 12, 24, 48):
        next_power = 1 << (states - 1).bit_length()
        small, large = ([random_model(rng, k, SYMBOLS) for _ in range(2)] for k in (states, next_power))
        x = rng.integers(0, SYMBOLS, LENGTH)
        yield interleaved(
            f"posterior_kl, K={states}", lambda pair=small, x=x: hd.posterior_kl(*pair, x),
            f"K={next_power}", lambda pair=large, x=x: hd.posterior_kl(*pair, x), 1.3, rounds=5,
        )  # fmt: skip
    for states, goal in ((4, 0.10), (16, 0.20)):
        p = random_model(rng, states, SYMBOLS)
        for distance, q in (("close", close_to(rng, p)), ("far", random_model(rng, states, SYMBOLS))):
            yield batch(p, q, f"posterior_kl_batch, 1,000 x 500, K={states}, {distance}", goal)

    for states in (2, 4, 10):
        for columns in (1, 3):
            p = gaussian_model(rng, states, columns)
            for distance, q in (("close", close_gaussian(rng, p)), ("far", gaussian_model(rng, states, columns))):
                yield gaussian_batch(
                    p, q, f"posterior_kl_batch, Gaussian D={columns}, 1,000 x 500, K={states}, {distance}"
                )


def gaussian_batch(p: hd.Model, q: hd.Model, work: str) -> Row:
    """Many short real-valued sequences in one call, in processor time: threads and other programs do not show."""
    lengths = [500] * 1000
    x = hd.sample(p, 500_000, seed=1)[1].reshape(500_000, -1)
    peers = [gaussian_in_hmmlearn(m) for m in (p, q)]
    return interleaved(
        work, lambda: hd.posterior_kl_batch(p, q, x, lengths), "two scores with lengths, scaling; processor time",
        lambda: [peer.score(x, lengths) for peer in peers], 0.25, rounds=3, clock=process_time,
    )  # fmt: skip


def likelihood(p: hd.Model, x: np.ndarray) -> Row:
    """One likelihood against one score."""
    peer = in_hmmlearn(p, "scaling")
    return interleaved(
        f"log_likelihood, 1e5 symbols, K={p.n_states}", lambda: hd.log_likelihood(p, x),
        "one score, scaling", lambda: peer.score(x[:, None]), 0.3, rounds=3,
    )  # fmt: skip


def batch(p: hd.Model, q: hd.Model, work: str, goal: float) -> Row:
    """Many short sequences in one call, on all cores."""
    lengths = [500] * 1000
    x = hd.sample(p, 500_000, seed=1)[1].astype(np.int64)
    peers = [in_hmmlearn(m, "scaling") for m in (p, q)]
    return interleaved(
        work, lambda: hd.posterior_kl_batch(p, q, x, lengths),
        "two scores with lengths, scaling", lambda: [peer.score(x[:, None], lengths) for peer in peers], goal, rounds=7,
        pause=PAUSE,
    )  # fmt: skip


def against_scores(p: hd.Model, q: hd.Model, x: np.ndarray, work: str, implementation: str, goal: float) -> Row:
    """The exact divergence against two scores of hmmlearn, which it needs at the least to subtract them."""
    peers = [in_hmmlearn(m, implementation) for m in (p, q)]
    return interleaved(
        work, lambda: hd.posterior_kl(p, q, x),
        f"two scores, {implementation}", lambda: [peer.score(x[:, None]) for peer in peers], goal, rounds=3,
    )  # fmt: skip
