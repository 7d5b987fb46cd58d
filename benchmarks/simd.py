"""The headline rows on every instruction set of this processor, against the best of them, in processor time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from time import process_time

import numpy as np

import hidiv as hd
from benchmarks.models import close_to, gaussian_model, random_model
from benchmarks.timing import Row, interleaved


def rows() -> Iterator[Row]:
    from hidiv.recursions.kernels import instruction_set

    best = instruction_set()
    if best is None:
        return  # numpy twins run: there is nothing to choose
    kernels = import_module("hidiv._kernels")

    def on(name: str, work: Callable[[], object]) -> Callable[[], object]:
        def run() -> object:
            kernels.set_target(name)
            try:
                return work()
            finally:
                kernels.set_target(best)

        return run

    for name, work in _headlines():
        for target in kernels.targets():
            if target != best:
                yield interleaved(
                    f"{name}, {target}", on(target, work), best, on(best, work), rounds=5, clock=process_time
                )


def _headlines() -> Iterator[tuple[str, Callable[[], object]]]:
    rng = np.random.default_rng(0)
    for states in (4, 16):
        p = random_model(rng, states, 10)
        x = hd.sample(p, 100_000, seed=1)[1].astype(np.int64)
        for distance, q in (("close", close_to(rng, p)), ("far", random_model(rng, states, 10))):
            yield (
                f"posterior_kl, 1e5 symbols, K={states}, {distance}",
                lambda p=p, q=q, x=x: hd.posterior_kl(p, q, x),
            )
    p, q = gaussian_model(rng, 4, 3), gaussian_model(rng, 4, 3)
    seen = hd.sample(p, 100_000, seed=1)[1]
    yield "log_likelihood, 1e5 rows, Gaussian D=3, K=4", lambda: hd.log_likelihood(p, seen)
    yield "posterior_kl, 1e5 rows, Gaussian D=3, K=4, far", lambda: hd.posterior_kl(p, q, seen)
    yield (
        "fit, Gaussian D=3, K=4, 100 x 1000, 5 iterations",
        lambda: hd.fit(seen, lengths=[1000] * 100, start=q, max_iter=5, tol=0.0),
    )
    from benchmarks.pairwise import N, collection

    models = collection(2_000, 1)
    yield "pairwise_kl, M=2000", lambda: hd.pairwise_kl(models, N)
