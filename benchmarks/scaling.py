"""python -m benchmarks.scaling [file.svg]: how times grow with N, K, D and threads, with fitted exponents, as a figure.

Run apart, for it takes some minutes. Times are those of one processor (the process is bound to it), the least of
several, in processor time, so that other programs show little; those of two are times on the clock.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

import hidiv as hd
from benchmarks.models import close_to, gaussian_model, random_model

ENOUGH = 0.3  # seconds spent on a point, at least two runs
Work = Callable[[], object]


@dataclass(frozen=True)
class Line:
    """Times of one kind of work along one size."""

    name: str
    sizes: list[int]
    seconds: list[float]

    @property
    def exponent(self) -> float:
        """Of the upper half of the sizes, where what a call costs whatever its size no longer shows."""
        upper = len(self.sizes) // 2
        return float(np.polyfit(np.log(self.sizes[upper:]), np.log(self.seconds[upper:]), 1)[0])


def least(work: Work, clock: Callable[[], float] = process_time) -> float:
    """The least time of several runs."""
    times: list[float] = []
    while len(times) < 2 or sum(times) < ENOUGH:
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def line(name: str, sizes: list[int], make: Callable[[int], Work]) -> Line:
    """The least time at every size."""
    seconds = []
    for size in sizes:
        work = make(size)
        seconds.append(least(work))
        print(f"{name} | {size} | {seconds[-1]:.3g} s", flush=True)
    return Line(name, sizes, seconds)


def symbols(states: int, length: int) -> Work:
    """The posterior divergence of close categorical models."""
    rng = np.random.default_rng(states)
    p = random_model(rng, states, 10)
    q, x = close_to(rng, p), rng.integers(0, 10, length)
    return lambda: hd.posterior_kl(p, q, x)


def reals(states: int, length: int, columns: int, full: bool = False, posterior: bool = False) -> Work:
    """The likelihood, or the posterior divergence, of Gaussian models."""
    rng = np.random.default_rng(states)
    p, q = (_gaussian(rng, states, columns, full) for _ in range(2))
    x = hd.sample(p, length, seed=1)[1].reshape(length, columns)
    return (lambda: hd.posterior_kl(p, q, x)) if posterior else lambda: hd.log_likelihood(p, x)


def _gaussian(rng: np.random.Generator, states: int, columns: int, full: bool) -> hd.Model:
    plain = gaussian_model(rng, states, columns)
    if not full:
        return plain
    root = rng.normal(size=(states, columns, columns)) / np.sqrt(columns)
    cov = root @ root.transpose(0, 2, 1) + np.eye(columns)
    return hd.Model(plain.initial, plain.transition, hd.Gaussian(plain.emission.mean, cov=cov))


def fits(length: int) -> Work:
    """Two iterations of a fit, in sequences of 1,000 rows or less."""
    rng = np.random.default_rng(0)
    start, x = gaussian_model(rng, 4, 3), 3 * rng.normal(size=(length, 3))
    lengths = [min(1000, length)] * max(1, length // 1000)
    return lambda: hd.fit(x, lengths=lengths, start=start, max_iter=2, tol=0.0)


def batches(sequences: int) -> Work:
    """The posterior divergences of sequences of 500 rows."""
    rng = np.random.default_rng(0)
    p, q = gaussian_model(rng, 4, 3), gaussian_model(rng, 4, 3)
    x = 3 * rng.normal(size=(500 * sequences, 3))
    return lambda: hd.posterior_kl_batch(p, q, x, [500] * sequences)


def panels() -> dict[str, list[Line]]:
    """The lines of the three sizes, on one processor."""
    lengths = [10**e for e in range(3, 8)]
    states = [2, 4, 8, 16, 32, 64, 128]
    columns = [1, 2, 4, 10, 20, 50, 100]
    return {
        "N": [
            line("posterior_kl, symbols, K=4", lengths, lambda n: symbols(4, n)),
            line("posterior_kl, Gaussian D=3, K=4", lengths, lambda n: reals(4, n, 3, posterior=True)),
            line("log_likelihood, Gaussian D=3, K=4", lengths, lambda n: reals(4, n, 3)),
            line("fit, Gaussian D=3, K=4, 2 iterations", lengths[:-1], fits),
        ],
        "K": [
            line("posterior_kl, symbols, N=20,000", states, lambda k: symbols(k, 20_000)),
            line("posterior_kl, Gaussian D=3, N=20,000", states, lambda k: reals(k, 20_000, 3, posterior=True)),
            line("log_likelihood, Gaussian D=3, N=20,000", states, lambda k: reals(k, 20_000, 3)),
        ],
        "D": [
            line("posterior_kl, diagonal, K=4, N=20,000", columns, lambda d: reals(4, 20_000, d, posterior=True)),
            line("log_likelihood, diagonal, K=4, N=20,000", columns, lambda d: reals(4, 20_000, d)),
            line("posterior_kl, full, K=4, N=20,000", columns, lambda d: reals(4, 20_000, d, True, True)),
            line("log_likelihood, full, K=4, N=20,000", columns, lambda d: reals(4, 20_000, d, True)),
        ],
    }


def by_threads(processors: list[int]) -> list[tuple[str, float]]:
    """The time on two processors over that on one, in turns; nothing where there is one only."""
    if len(processors) < 2:
        return []
    rows = []
    for name, work in (
        ("log_likelihood,\nGaussian D=3, N=1e6", reals(4, 1_000_000, 3)),
        ("posterior_kl_batch,\n1,000 x 500, D=3", batches(1000)),
        ("fit, 100 x 1,000,\nD=3", fits(100_000)),
    ):
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(7):
            for count, spent in zip((1, 2), times, strict=True):
                os.sched_setaffinity(0, processors[:count])
                start = perf_counter()
                work()
                spent.append(perf_counter() - start)
        rows.append((name, min(times[1]) / min(times[0])))
        print(f"{name!r}: {rows[-1][1]:.2f} of the time of one processor", flush=True)
    return rows


def draw(lines: dict[str, list[Line]], threads: list[tuple[str, float]], path: Path) -> None:
    """Three panels of times, with exponents, and one of threads."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "hidiv", "svg.fonttype": "none", "font.size": 8}):
        figure = Figure(figsize=(9, 6.4), layout="constrained")
        axes = figure.subplots(2, 2).ravel()
        words = {"N": "observations N", "K": "states K", "D": "columns D"}
        for panel, (size, drawn) in zip(axes, lines.items(), strict=False):
            for each in drawn:
                label = f"{each.name}: ~ {size}$^{{{each.exponent:.2f}}}$"
                panel.loglog(each.sizes, each.seconds, marker="o", markersize=3, linewidth=1, label=label)
            panel.set_xlabel(words[size])
            panel.set_ylabel("seconds, one processor")
            panel.grid(alpha=0.3)
            panel.legend(fontsize=6.5)
        axes[3].barh([name for name, _ in threads], [ratio for _, ratio in threads], color="#0b5394")
        axes[3].axvline(0.5, color="black", linewidth=0.8, linestyle=":")
        axes[3].set_xlim(0, 1.05)
        axes[3].set_xlabel("time on two processors over that on one")
        figure.savefig(path, metadata={"Date": None})


def main(path: Path) -> None:
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, processors[:1])
    lines = panels()
    threads = by_threads(processors)
    os.sched_setaffinity(0, processors)
    draw(lines, threads, path)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("scaling.svg"))
