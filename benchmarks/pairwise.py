"""All pairs: against the raw product, against pair by pair, against Monte Carlo; and how it grows."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np

import hidiv as hd
from benchmarks.models import in_hmmlearn
from benchmarks.timing import PAUSE, Row, interleaved

N, K, SYMBOLS = 100, 4, 10


def collection(m: int, seed: int, k: int = K, symbols: int = SYMBOLS) -> hd.Collection:
    """m models with rows drawn uniformly from the simplex."""
    rng = np.random.default_rng(seed)
    return hd.Collection.from_arrays({
        "format": np.array("hidiv.collection"), "version": np.array(1),
        "initial": rng.dirichlet(np.ones(k), m), "transition": rng.dirichlet(np.ones(k), (m, 1, k)),
        "emission.0.categorical.probs": rng.dirichlet(np.ones(symbols), (m, k)),
    })  # fmt: skip


def rows() -> Iterator[Row]:
    width = K + K * K + K * SYMBOLS
    seconds: dict[int, float] = {}
    for m in (1_000, 5_000, 10_000):
        models = collection(m, m)
        rng = np.random.default_rng(m)
        left, right = rng.random((m, width)), rng.random((width, m))
        row = interleaved(
            f"pairwise_kl, M={m}, K={K}, {SYMBOLS} symbols, N={N}", lambda models=models: hd.pairwise_kl(models, N),
            f"numpy's product of the same shape ({m} x {width} x {m})", lambda a=left, b=right: a @ b,
            goal=2.0 if m >= 5_000 else None, rounds=5, pause=PAUSE,
        )  # fmt: skip
        seconds[m] = row.seconds
        yield row
    for m, goal in ((1_000, 3.0), (4_000, 2.0)):
        listed = list(collection(m, m))
        rng = np.random.default_rng(m)
        left, right = rng.random((m, width)), rng.random((width, m))
        yield interleaved(
            f"pairwise_kl, M={m} model objects, K={K}, {SYMBOLS} symbols, N={N}",
            lambda listed=listed: hd.pairwise_kl(listed, N),
            f"numpy's product of the same shape ({m} x {width} x {m})", lambda a=left, b=right: a @ b, goal, rounds=9,
            pause=PAUSE,
        )  # fmt: skip
    yield from _against_peers(seconds[10_000] / 1e8)
    yield _two_cores()
    yield _clustered()
    yield _observed()
    _print_growth(seconds)


def _against_peers(per_pair: float) -> Iterator[Row]:
    """Seconds a pair, extrapolated from a few pairs."""
    models = list(collection(6, 1))
    start = perf_counter()
    for p in models:
        for q in models:
            hd.joint_kl(p, q, N)
    each = (perf_counter() - start) / len(models) ** 2
    name = f"one pair of pairwise_kl (M=10000 / 1e8), K={K}, N={N}"
    yield Row(name, "joint_kl, from 36 pairs", per_pair, each)
    draws = 1000
    p, q = (in_hmmlearn(m, "scaling") for m in models[:2])
    start = perf_counter()
    for i in range(2):
        for seed in range(draws):
            x, states = p.sample(N, random_state=seed + draws * i)
            _joint_log_ratio(models[0], models[1], x[:, 0], states)
    sampled = (perf_counter() - start) / 2
    yield Row(name, f"Monte Carlo of {draws} draws by hmmlearn, from 2 pairs, extrapolated", per_pair, sampled, 1e-6)


def _joint_log_ratio(p: hd.Model, q: hd.Model, x: np.ndarray, states: np.ndarray) -> float:
    total = 0.0
    for model, sign in ((p, 1.0), (q, -1.0)):
        steps = np.log(model.transition[states[:-1], states[1:]]).sum()
        total += sign * (np.log(model.initial[states[0]]) + steps + np.log(model.emission.probs[states, x]).sum())
    return float(total)


def _two_cores() -> Row:
    models = collection(5_000, 2)
    return interleaved(
        "pairwise_kl, M=5000, at once in threads", lambda: hd.pairwise_kl(models, N),
        "one block after another", lambda: hd.pairwise_kl(models, N, executor="serial"), rounds=3,
    )  # fmt: skip


def _clustered() -> Row:
    far, rng = collection(2_000, 3), np.random.default_rng(3)

    def near(rows: np.ndarray) -> np.ndarray:
        moved = rows[:1] * (1 + 1e-3 * rng.uniform(-1, 1, rows.shape))
        return moved / moved.sum(axis=-1, keepdims=True)

    given = {key: near(a) if a.ndim > 1 else a for key, a in far.to_arrays().items()}
    close = hd.Collection.from_arrays(given)
    return interleaved(
        "pairwise_kl, M=2000 within 1e-3 of one model (second-order product)", lambda: hd.pairwise_kl(close, N),
        "M=2000 far apart", lambda: hd.pairwise_kl(far, N), rounds=3,
    )  # fmt: skip


def _observed() -> Row:
    rng = np.random.default_rng(4)
    tree = hd.Tree.regular(4, 5)
    models = hd.Collection([
        hd.Model(
            rng.dirichlet([1, 1]), [None] + [rng.dirichlet([1, 1], 2) for _ in range(4)],
            [hd.Gaussian([0, 0], std=rng.uniform(0.5, 2, 2)) for _ in range(5)],
        )
        for _ in range(400)
    ])  # fmt: skip
    some = models[:4]
    return interleaved(
        "observed, 400 x 400 wavelet trees (quad, 5 levels, K=2), both directions",
        lambda: hd.pairwise_kl(models, tree, quantity="observed", symmetric=True),
        "4 x 4 of them by observed_kl, one direction",
        lambda: [hd.observed_kl(p, q, tree, method="variational") for p in some for q in some], rounds=3,
    )  # fmt: skip


def _print_growth(seconds: dict[int, float]) -> None:
    """Exponents fitted to times: with the number of models, and with the number of states."""
    m = np.log(list(seconds))
    exponent = np.polyfit(m, np.log(list(seconds.values())), 1)[0]
    by_states = []
    states = (2, 4, 8, 16, 32)
    for k in states:
        models = collection(1_500, k, k)
        times = []
        for _ in range(3):
            start = perf_counter()
            hd.pairwise_kl(models, N)
            times.append(perf_counter() - start)
        by_states.append(min(times))
    of_states = np.polyfit(np.log(states), np.log(by_states), 1)[0]
    shown = ", ".join(f"K={k}: {t:.2g} s" for k, t in zip(states, by_states, strict=True))
    print(f"growth with M: exponent {exponent:.2f}; with K (M=1500): exponent {of_states:.2f} ({shown})")
