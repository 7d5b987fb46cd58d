"""What can be drawn and what drawing yields; weights of drawn observations; portions drawn side by side."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from hidiv.arguments import Seed, seed_number
from hidiv.divergences.observed.alphabets import family_symbols, has_symbols
from hidiv.divergences.observed.support.any_family import log_weights
from hidiv.emissions.family import Family
from hidiv.errors import HidivError, refuse
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.recursions.filters import Weights
from hidiv.recursions.terms import log_ratio
from hidiv.types import Array, IntArray

if TYPE_CHECKING:
    from hidiv.divergences.observed.sampled.rare_moves import Likely
    from hidiv.divergences.pair import Pair

CELLS = 1 << 21  # numbers of one kind held at once by a portion of draws
Portion = TypeVar("Portion")
Result = TypeVar("Result")

UNHELD = "gives what p emits a probability that no double can hold"
AHEAD = 1  # portions to a worker beyond the one it works on


class Drawn(NamedTuple):
    """plain (n,): log p/q of each draw; base (n,): what is averaged in its stead; controls (n, F) of mean zero.

    events (n, E): how often states and transitions were drawn; E may be 0.
    """

    plain: Array
    base: Array
    controls: Array
    events: Array


def joined(batches: list[Drawn]) -> Drawn:
    """All draws together, in their order, with the controls that all of them have."""
    if len(batches) == 1:
        return batches[0]
    width = min(batch.controls.shape[1] for batch in batches)
    return Drawn(
        np.concatenate([batch.plain for batch in batches]),
        np.concatenate([batch.base for batch in batches]),
        np.concatenate([batch.controls[:, :width] for batch in batches]),
        np.concatenate([batch.events for batch in batches]),
    )


@dataclass(frozen=True, eq=False)
class Draws:
    """Independent draws whose mean is the divergence, `at_once` to a portion; `base` says in words what is averaged.

    `infinite`: why nothing need be drawn.
    """

    # Number, generator, whether without the dearer controls; with rare events made likely, also how (rare_moves.py).
    draw: Callable[..., Drawn]
    subject: str
    base: str
    at_once: int
    infinite: str | None = None
    sparse: bool = False  # some probabilities are 0
    long: bool = False  # a draw is a sum over so many nodes that it is nearly normal, but for rare events
    reach: float = 0.0  # by how much a rare event may change a draw
    expected: Callable[[], tuple[Array, Array]] | None = None  # means of the events drawn, and what one more may add
    dear: float = 1.0  # work of a draw with all controls, over that of one without the dearer ones
    fitted: Callable[[np.random.Generator], Fitted | None] | None = None  # draws whose control is fitted beforehand
    # What states (n, N) and observations (n, N, F) of p give, with the visits of p (n, K) where they are known.
    scored: Callable[[IntArray, Array, Array | None], Drawn] | None = None
    leading: int = 0  # how many of the first controls are used while draws are few; 0 for all
    likely: Callable[[], Likely | None] | None = None  # p with rare events made likely, where that may help
    # What must be left of a control when those before it are taken out (cross_fitting.py).
    distinct: float | None = None
    below_joint: Callable[[], float] | None = None  # of the joint divergence in every order of states, if soon known
    plainer: Callable[[], Plainer | None] | None = None  # draws that vary more and take less work
    whole: bool = False  # portions are as large as they may be: each starts with work that does not depend on its size


class Plainer(NamedTuple):
    """Draws without an average over the next observation; `dear` is their work over that of draws with it."""

    draws: Draws
    dear: float


class Fitted(NamedTuple):
    """Draws with a control that was fitted to `drawn` others; `dear` is their work over that of draws without dear
    controls. short: a draw is of so few steps that it takes little beside the fit."""

    draw: Callable[..., Drawn]  # number, generator, perhaps what makes rare events likely
    dear: float
    drawn: int
    short: bool = True


def portion(size: int) -> int:
    """How many draws of `size` numbers are made at once."""
    return max(1, min(512, CELLS // size))


def impossible(pair: Pair, reason: str, at_once: int = 1) -> Draws:
    """No draws at all, since q cannot emit what p does."""
    return Draws(lambda size, rng, lean: refuse(HidivError, "draw", reason), pair.subject, "", at_once, reason)


def weigh(model: Model, tree: Tree, x: Array) -> Weights:
    """e_u(s, x_u) of x (n, N, F), rescaled where they are densities."""
    if len(model.emissions) == 1 and has_symbols(model.emissions[0]):
        return Weights(_looked_up(family_symbols(model.emissions[0]), x[:, :, 0].T), None)
    logs = np.empty((x.shape[1], model.n_states, x.shape[0]))
    for g, family in enumerate(model.emissions):
        nodes = nodes_of(tree, g, len(model.emissions))
        if nodes.size:
            logs[nodes] = _log_weights(family, x[:, nodes].transpose(1, 0, 2))
    top = logs.max(axis=1)
    scale = np.where(np.isfinite(top), top, 0.0)
    return Weights(np.exp(logs - scale[:, None, :]), scale, logs)


def weigh_ratio(p: Model, q: Model, tree: Tree, x: Array) -> Array:
    """(N, K, n): log e_q/e_p of x (n, N, F), accurate where they are close."""
    groups = max(len(p.emissions), len(q.emissions))
    out = np.zeros((x.shape[1], p.n_states, x.shape[0]))
    for g in range(groups):
        nodes = nodes_of(tree, g, groups)
        one, two = (m.emissions[min(g, len(m.emissions) - 1)] for m in (p, q))
        if not nodes.size or not one.n_features:
            continue
        mine = x[:, nodes].transpose(1, 0, 2)
        if has_symbols(one) and has_symbols(two):
            out[nodes] = _looked_up(log_ratio(family_symbols(one), family_symbols(two)), mine[:, :, 0])
        else:
            ratios = one.log_ratio(two, mine.reshape(-1, mine.shape[2]))
            out[nodes] = ratios.reshape(*mine.shape[:2], -1).transpose(0, 2, 1)
    return out


def nodes_of(tree: Tree, group: int, groups: int) -> IntArray:
    """The nodes of a group; all of them where there is one group."""
    return np.arange(tree.n_nodes) if groups == 1 else np.flatnonzero(tree.group == group)


def _looked_up(table: Array, x: Array) -> Array:
    """(L, K, n) of symbols x (L, n) in table (K, M)."""
    index = x.astype(np.intp)
    out = np.empty((x.shape[0], len(table), x.shape[1]))
    for k, row in enumerate(table):
        out[:, k] = row[index]
    return out


def _log_weights(family: Family, x: Array) -> Array:
    """(L, K, n) of x (L, n, F)."""
    length, count, _ = x.shape
    if not family.n_features:
        return np.zeros((length, family.n_states, count))
    if has_symbols(family):
        with np.errstate(divide="ignore"):
            return _looked_up(np.log(family_symbols(family)), x[:, :, 0])
    logs = log_weights(family, x[:, :, : family.n_features].reshape(length * count, -1))
    return np.ascontiguousarray(logs.reshape(length, count, -1).transpose(0, 2, 1))


def available() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(
    work: Callable[[Portion], Result], portions: Iterable[Portion], workers: int
) -> Generator[Result, None, None]:
    """work(portion) for each portion, as they come; with several workers a few are under way ahead of the reader.

    The first is done alone, since it is often enough. Left early, by an interrupt or a break, it starts nothing more.
    """
    left = iter(portions)
    for portion in left:
        yield work(portion)
        if workers > 1:
            break
    ahead = list(islice(left, 2))
    if len(ahead) < 2:  # a thread takes longer to start than the last portion
        yield from map(work, ahead)
        return
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for portion in chain(ahead, left):
            waiting.append(pool.submit(work, portion))
            if len(waiting) > AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class Streams:
    """Independent generators by number, from one seed."""

    def __init__(self, seed: Seed) -> None:
        if isinstance(seed, np.random.Generator):
            self.entropy: object = seed.integers(2**63, size=4).tolist()
        else:
            self.entropy = np.random.SeedSequence(seed_number(seed)).entropy

    def __call__(self, number: int) -> np.random.Generator:
        """The generator of a portion."""
        return np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(number,)))  # type: ignore[arg-type]
