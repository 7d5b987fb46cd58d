"""Certified observed divergences: how soon the interval is narrow, or how wide it is when the time is up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np

import hidiv as hd

SEEDS = (1, 11, 12)
PAPER = (
    hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Categorical([[0.1, 0.3, 0.6], [0.2, 0.1, 0.7]])),
    hd.Model([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], hd.Categorical([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]])),
)
KINDS = ("dirichlet", "sticky", "sharp", "stickysharp", "weak")


@dataclass(frozen=True)
class Width:
    """One line: the widest interval and the longest time of some pairs, against the width and time of the goal."""

    work: str
    width: float
    seconds: float
    goal_width: float
    goal_seconds: float

    def line(self) -> str:
        met = self.width <= self.goal_width and self.seconds <= self.goal_seconds
        ratio = self.seconds / self.goal_seconds
        goal = f"<= {self.goal_width:.0e} in {self.goal_seconds:g} s {'met' if met else 'MISSED'}"
        times = f"{self.seconds:.3g} s | {self.goal_seconds:g} s"
        return f"| {self.work} | width {self.width:.1e} | {times} | {ratio:.3g} | {goal} |"


def rows() -> Iterator[Width]:
    both = [PAPER, PAPER[::-1]]
    yield widest("rate, the paper's chains, both directions", both, rate, 1e-11, 1.0)
    yield widest("rate, 2 states, 3 symbols, five kinds", pairs(KINDS, 2, 3), rate, 1e-11, 1.0)
    extremes = [tuple(extreme(stay, right, i) for i in (0, 1)) for stay in (0.99, 0.999) for right in (0.6, 0.9, 0.999)]
    yield widest("rate, 2 states, .99 and .999 sticky, up to .999 sharp", extremes, rate, 1e-11, 1.0)
    yield widest("rate, 2 states, normal laws: close, far, sticky .99 to .9999, narrow", numbers(), rate, 1e-9, 5.0)
    yield widest("rate, 2 states, Poisson: near, far, sticky .99", counts(), rate, 1e-9, 5.0)
    yield widest("the same normal laws, N = 100", numbers(), on(100), 1e-8, 5.0)
    for n_states, symbols, fast, slow in (
        (3, (4,), (1e-6, 10.0), (2e-5, 30.0)),
        (4, (4, 8), (5e-5, 10.0), (1e-2, 60.0)),
    ):
        for m in symbols:
            some = f"rate, {n_states} states, {m} symbols"
            yield widest(f"{some}, Dirichlet and sharp", pairs(("dirichlet", "sharp"), n_states, m), rate, *fast)
            yield widest(f"{some}, sticky .9", pairs(("sticky",), n_states, m), rate, *slow)
    for n_states in (6, 8):
        some = pairs(("dirichlet", "sharp"), n_states, n_states)
        yield widest(f"rate, {n_states} states, {n_states} symbols, not sticky", some, rate, 3e-4, 10.0)
    for length, width in ((100, 5e-11), (1000, 1e-9)):
        yield widest(f"the paper's chains, N = {length}", [PAPER], on(length), width, 1.0)
    yield widest("binary tree of depth 6, the paper's parameters", [PAPER], on(hd.Tree.regular(2, 6)), 2e-5, 5.0)


def rate(p: hd.Model, q: hd.Model, width: float, seconds: float) -> hd.Divergence:
    return hd.observed_kl_rate(p, q, method="certified", width=width, max_seconds=seconds)


def on(tree: hd.Tree | int) -> Callable[[hd.Model, hd.Model, float, float], hd.Divergence]:
    def certified(p: hd.Model, q: hd.Model, width: float, seconds: float) -> hd.Divergence:
        return hd.observed_kl(p, q, tree, method="certified", rtol=0.0, atol=width / 2, max_seconds=seconds)

    return certified


def two(stay: tuple[float, float], emission: hd.Gaussian | hd.Poisson) -> hd.Model:
    return hd.Model([0.5, 0.5], [[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]], emission)


def numbers() -> list[tuple[hd.Model, ...]]:
    """Two states with normal laws: (stay, means, standard deviations) of p and of q."""
    laws = (
        (((0.9, 0.8), [0, 1], [1, 1]), ((0.88, 0.82), [0.05, 1.02], [1, 1.05])),
        (((0.9, 0.8), [0, 10], [1, 1]), ((0.7, 0.6), [-3, 6], [1, 2])),
        (((0.99, 0.995), [0, 1], [1, 1]), ((0.98, 0.97), [0.2, 1.5], [1, 1.2])),
        (((0.9999, 0.9995), [0, 1], [1, 1]), ((0.9998, 0.9997), [0.2, 1.5], [1, 1.2])),
        (((0.9, 0.8), [0, 2], [1, 3]), ((0.7, 0.6), [0, 1.5], [0.1, 2])),
    )
    return [tuple(two(stay, hd.Gaussian(mean, std=std)) for stay, mean, std in pair) for pair in laws]


def counts() -> list[tuple[hd.Model, ...]]:
    laws = (
        (((0.9, 0.8), [2, 7]), ((0.7, 0.6), [3, 5])),
        (((0.9, 0.8), [2, 70]), ((0.7, 0.6), [3, 50])),
        (((0.99, 0.995), [2, 4]), ((0.98, 0.97), [2.5, 4.5])),
    )
    return [tuple(two(stay, hd.Poisson(rate)) for stay, rate in pair) for pair in laws]


def widest(
    work: str,
    some: list[tuple[hd.Model, ...]],
    run: Callable[[hd.Model, hd.Model, float, float], hd.Divergence],
    width: float,
    seconds: float,
) -> Width:
    """The worst of some pairs."""
    found = []
    for p, q in some:
        start = perf_counter()
        interval = run(p, q, width, seconds)
        found.append((interval.upper - interval.lower, perf_counter() - start))
    return Width(work, max(w for w, _ in found), max(t for _, t in found), width, seconds)


def pairs(kinds: tuple[str, ...], n_states: int, n_symbols: int) -> list[tuple[hd.Model, ...]]:
    return [pair(kind, n_states, n_symbols, seed) for kind in kinds for seed in SEEDS]


def pair(kind: str, n_states: int, n_symbols: int, seed: int) -> tuple[hd.Model, ...]:
    """dirichlet: rows drawn evenly; sticky: .9 of staying; sharp: .97 of one symbol; weak: .8 of emissions alike."""
    rng = np.random.default_rng(seed)
    common = rng.dirichlet(np.ones(n_symbols))
    return tuple(drawn(kind, n_states, n_symbols, rng, common) for _ in range(2))


def drawn(kind: str, n_states: int, n_symbols: int, rng: np.random.Generator, common: np.ndarray) -> hd.Model:
    transition = rng.dirichlet(np.ones(n_states), size=n_states)
    probabilities = rng.dirichlet(np.ones(n_symbols), size=n_states)
    stay = {"sticky": 0.9, "stickysharp": 0.95}.get(kind, 0.0)
    transition = stay * np.eye(n_states) + (1 - stay) * transition
    if "sharp" in kind:
        probabilities = 0.97 * np.eye(n_symbols)[np.arange(n_states) % n_symbols] + 0.03 * probabilities
    if kind == "weak":
        probabilities = 0.8 * common + 0.2 * probabilities
    return hd.Model("stationary", transition, hd.Categorical(probabilities))


def extreme(stay: float, right: float, which: int) -> hd.Model:
    """Two states that hardly change, each with its symbol; the second model is a little less so."""
    stay, right = (stay, right) if which == 0 else (1 - 1.5 * (1 - stay), 1 - 1.3 * (1 - right))
    return hd.Model(
        [0.5, 0.5], [[stay, 1 - stay], [1 - stay, stay]], hd.Categorical([[right, 1 - right], [1 - right, right]])
    )
