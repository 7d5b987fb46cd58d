"""Does the difference matter? The error of a divergence between two fitted models, by parametric bootstrap."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.adapters.as_model import as_model
from hidiv.arguments import generator, whole
from hidiv.divergences.align import align
from hidiv.divergences.joint import joint_kl
from hidiv.errors import HidivError, refuse
from hidiv.fitting.draft import draft_of
from hidiv.fitting.em import Options, begin, climb
from hidiv.fitting.expectation import problem_of
from hidiv.fitting.fit import read_options, refit
from hidiv.fitting.forest import Forest, forest_of, joined
from hidiv.fitting.result import FitResult
from hidiv.fitting.shapes import check_fixed
from hidiv.fitting.simulation import redrawn
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.models.until_end import UNTIL_END
from hidiv.progress import Progress, Wanted, reported
from hidiv.values import Value

Array = NDArray[np.float64]
Measure = Callable[[Any, Any], float]

LEVEL = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapResult(Value):
    """A divergence with its standard error, an interval, and how often chance alone gives as much.

    `value` is D(p || q) of the fitted models; `replicates` (B,) the same after drawing both data sets anew and fitting
    again; `std_error` their standard deviation. Noise adds to a divergence, so they lie above the value by a `bias` on
    average, as the value lies above the truth: `lower` and `upper` are the value less what the 97.5 and the 2.5 percent
    quantiles of the replicates exceed it by, and not below 0 (the basic bootstrap interval).
    `null` (B,) has both data sets drawn from one model fitted to all of the data, and `p_value` is the share of those
    that reach `value`, (1 + count) / (1 + B); both None when that was not asked for. Infinite replicates count as such.
    """

    value: float
    std_error: float
    lower: float
    upper: float
    replicates: Array
    null: Array | None
    p_value: float | None

    @property
    def bias(self) -> float:
        """How far the replicates lie above the value, on average."""
        return float(self.replicates.mean() - self.value)

    def __repr__(self) -> str:
        said = (
            f"divergence {self.value:.4g} nats, standard error {self.std_error:.2g}, "
            f"{LEVEL:.0%} interval [{self.lower:.4g}, {self.upper:.4g}] by {len(self.replicates)} replicates"
        )
        if self.p_value is None:
            return said
        verdict = "more than chance gives" if self.p_value <= 1.0 - LEVEL else "no more than chance gives"
        return f"{said}; p-value {self.p_value:.2g}: {verdict}"


@reported
def bootstrap_divergence(
    p: Any,
    q: Any,
    evidence_p: Any,
    evidence_q: Any,
    tree_p: Any = None,
    tree_q: Any = None,
    *,
    divergence: str | Measure = "joint",
    on: Any = None,
    replicates: int = 100,
    null: bool = True,
    group: Any = None,
    seed: int | np.random.Generator | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    pseudo_count: float = 0.0,
    fixed: str | Iterable[str] = (),
    executor: Executor | None = None,
    progress: Wanted = None,  # for @reported
) -> BootstrapResult:
    """The standard error of D(p || q) between two models fitted to data of their own.

    p and q are the fitted models (or FitResults), the evidence and the trees what they were fitted to. Each replicate
    draws evidence of the same shape from p and from q, fits both again from there, and takes the divergence.
    `divergence` is "joint" (on the tree `on`, states as labelled), "aligned" (the smallest over relabellings of q), or
    a function of two models; `on` is the first tree of evidence_p unless given. Replicates run in threads, or wherever
    an `executor` runs them, with the same numbers. Ctrl-C gives back what the replicates made so far say.

    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 6.0]))
    >>> q = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([2.5, 12.0]))
    >>> x, y = list(hd.sample(p, 20, size=10, seed=1)[1]), list(hd.sample(q, 20, size=10, seed=2)[1])
    >>> p, q = hd.fit(x, start=p), hd.fit(y, start=q)
    >>> hd.bootstrap_divergence(p, q, x, y, replicates=20, seed=3).p_value < 0.05
    True
    """
    first, second = (as_model(fit.model if isinstance(fit, FitResult) else fit) for fit in (p, q))
    replicates = whole("replicates", replicates, 2)
    known_p, known_q = (
        forest_of(evidence, tree, None, group) for evidence, tree in ((evidence_p, tree_p), (evidence_q, tree_q))
    )
    measure = _measure(divergence, on, known_p, first)
    options = read_options(tol, max_iter, pseudo_count, fixed)
    check_fixed(options.fixed, first)
    both = refit(first, joined(known_p, known_q), options).model if null else None
    seeds = generator(seed).spawn(2 * replicates)
    work = partial(_replicate, options=replace(options, threads=1), measure=measure)
    jobs = []
    for one, other in zip(seeds[:replicates], seeds[replicates:], strict=True):
        jobs.append((first, second, known_p, known_q, one))
        if both is not None:
            jobs.append((both, both, known_p, known_q, other))
    values = _all(work, jobs, executor)
    drawn = np.array([value for value in values[:: 1 if both is None else 2] if value is not None])
    chance = None if both is None else np.array([value for value in values[1::2] if value is not None])
    if len(drawn) < 2:
        raise KeyboardInterrupt
    value = float(measure(first, second))
    finite = drawn[np.isfinite(drawn)]
    error = float(finite.std(ddof=1)) if len(finite) == len(drawn) else np.inf
    low, high = (float(np.quantile(drawn, part, method="lower" if part < 0.5 else "higher")) for part in (0.025, 0.975))
    share = None if chance is None else float((1 + (chance >= value).sum()) / (1 + len(chance)))
    low, high = max(0.0, 2.0 * value - high), max(0.0, 2.0 * value - low)
    return BootstrapResult(value, error, low, high, drawn, chance, share)


def _all(work: Callable[[Any], float], jobs: Sequence[Any], executor: Executor | None) -> list[float | None]:
    """What each job gives, in order; at Ctrl-C None for those that were not begun."""
    pool = ThreadPoolExecutor(os.cpu_count() or 1) if executor is None else executor
    with Progress("bootstrap") as progress:
        futures = [pool.submit(work, job) for job in jobs]
        try:
            for done, _ in enumerate(as_completed(futures), 1):
                progress.show(done / len(futures), f"{done} of {len(futures)} fits of drawn evidence")
        except KeyboardInterrupt:
            for future in futures:
                future.cancel()
        finally:
            if executor is None:
                pool.shutdown(cancel_futures=True)
    return [None if future.cancelled() else future.result() for future in futures]


def _replicate(
    job: tuple[Model, Model, Forest, Forest, np.random.Generator], *, options: Options, measure: Measure
) -> float:
    """The divergence of two models fitted to evidence drawn anew."""
    p, q, known_p, known_q, rng = job
    again = []
    for model, known in ((p, known_p), (q, known_q)):
        problem = problem_of(redrawn(model, known, rng), model)
        again.append(
            climb(begin(draft_of(model), problem, options), problem, options, None, True).model.finished(model)
        )
    return float(measure(*again))


def _measure(divergence: str | Measure, on: Any, known: Forest, model: Model) -> Measure:
    """A function of two models; picklable, so that processes can have it."""
    if callable(divergence):
        return divergence
    if divergence not in ("joint", "aligned"):
        refuse(HidivError, "divergence", 'must be "joint", "aligned" or a function of two models', divergence)
    tree = on
    if tree is None:
        tree = UNTIL_END if model.end is not None else first_tree(known)
    return partial(_joint if divergence == "joint" else _aligned, tree=tree)


def first_tree(known: Forest) -> Tree:
    """The first tree of a forest."""
    n = int(known.start[1])
    group = None if known.group is None else known.group[:n]
    return Tree.chain(n, group) if known.parent is None else Tree(known.parent[:n], group)


def _joint(p: Model, q: Model, tree: Any) -> float:
    return float(joint_kl(p, q, tree))


def _aligned(p: Model, q: Model, tree: Any) -> float:
    return float(align(p, q, tree).value)
