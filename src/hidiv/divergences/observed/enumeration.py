"""The observed divergence of a chain word by word, for finite alphabets (definitions, section 5)."""

from __future__ import annotations

from math import fsum, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.observed.interval import FiniteChain
from hidiv.divergences.observed.support import Word, forbidden_word
from hidiv.errors import OutOfRange, refuse
from hidiv.recursions.terms import h, row_divergence

Array = NDArray[np.float64]

WORD_LIMIT = 2 * 10**7
CLOSE = 1e-2  # parameters this near: the difference of the filters is carried, not taken
_PREFIXES = 1 << 14  # words carried at once


class Enumerated(NamedTuple):
    """An enumerated divergence; `word` is the first that p emits and q cannot, where the value is +inf."""

    value: float
    words: int
    word: Word | None = None


class _Front(NamedTuple):
    """Words of one length: weight (B,) under p, filters p (B, K) and q (B, L), and q - p where it is carried."""

    weight: Array
    p: Array
    q: Array
    apart: Array | None


def enumerate_chain(p: FiniteChain, q: FiniteChain, length: int, limit: int = WORD_LIMIT) -> Enumerated:
    """D_X on a chain of `length` symbols: sum over words w of p(w) KL(p(next | w) || q(next | w)).

    Every term is non-negative and, for models that nearly agree state by state, keeps its digits. Depth first over
    blocks of words, so that memory does not grow with their number. +inf where p emits a word q cannot.
    """
    words = check_words(p.n_symbols, length, limit)
    word = forbidden_word(p, q, length)
    if word is not None:
        return Enumerated(inf, words, word)
    close = p.n_states == q.n_states and all(np.abs(a - b).max() <= CLOSE for a, b in zip(p, q, strict=True))
    root = _Front(np.ones(1), p.initial[None, :], q.initial[None, :], (q.initial - p.initial)[None, :] if close else None)
    own_p, own_q = p.probabilities.T[:, None, :] * np.eye(p.n_states), q.probabilities.T[:, None, :] * np.eye(q.n_states)
    first, later = (own_p, own_q), (p.steps(), q.steps())
    totals: list[float] = []
    stack = [(root, 1)]
    while stack:
        front, position = stack.pop()
        divergence, following = _advance(front, *(first if position == 1 else later), last=position == length)
        totals.append(divergence)
        if following is not None:
            blocks = range(0, len(following.weight), _PREFIXES)
            stack.extend((_Front(*(None if a is None else a[i : i + _PREFIXES] for a in following)), position + 1) for i in blocks)
    return Enumerated(fsum(totals), words)


def check_words(n_symbols: int, n_nodes: int, limit: int) -> int:
    """The number of words, refused where there are too many to list."""
    words = n_symbols**n_nodes
    if words > limit:
        refuse(OutOfRange, "exact", f"at most {limit} words can be enumerated", f"{n_symbols}^{n_nodes}",
               'ask for method="certified", "montecarlo" or "variational"')  # fmt: skip
    return words


def _advance(front: _Front, steps_p: Array, steps_q: Array, last: bool) -> tuple[float, _Front | None]:
    """One symbol more: the expected divergence of its two predictive laws, and the words that go on."""
    ahead_p = np.matmul(front.p[None], steps_p)  # (M, B, K)
    ahead_q = np.matmul(front.q[None], steps_q)
    next_p, next_q = ahead_p.sum(axis=-1), ahead_q.sum(axis=-1)  # (M, B)
    moved = None
    if front.apart is None:
        local = row_divergence(next_p.T, next_q.T)
    else:
        moved = np.matmul(front.apart[None], steps_q) + np.matmul(front.p[None], steps_q - steps_p)
        local = _from_differences(next_p, next_q, moved.sum(axis=-1))
    if not np.isfinite(local[front.weight > 0]).all():
        refuse(OutOfRange, "q", "gives a word a probability that no double can hold")
    divergence = float(front.weight @ np.where(front.weight > 0, local, 0.0))
    if last:
        return divergence, None
    weight = (front.weight * next_p).ravel()
    going = np.flatnonzero(weight > 0)
    over_p, over_q = next_p.reshape(-1, 1)[going], next_q.reshape(-1, 1)[going]
    filter_p = ahead_p.reshape(-1, ahead_p.shape[-1])[going] / over_p
    filter_q = ahead_q.reshape(-1, ahead_q.shape[-1])[going] / over_q
    apart = None
    if moved is not None:
        change = moved.reshape(-1, moved.shape[-1])[going]
        apart = (change - filter_p * change.sum(axis=-1, keepdims=True)) / over_q
    return divergence, _Front(weight[going], filter_p, filter_q, apart)


def _from_differences(p: Array, q: Array, apart: Array) -> Array:
    """KL along the first axis from p, q and q - p, the last known better than by subtraction."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        terms = p * h(apart / p)
        far = p * (np.log(p) - np.log(q)) + (q - p)
    terms = np.where(np.abs(apart) <= 0.5 * p, terms, far)
    terms = np.where(p == 0, q, np.where(q == 0, inf, terms))
    return np.asarray(terms.sum(axis=0))
