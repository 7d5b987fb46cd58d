"""The observed divergence of a chain word by word, for finite alphabets (definitions (5.4))."""

from __future__ import annotations

from math import fsum, inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from hidiv.divergences.observed.alphabets import FiniteChain, finite_chains, no_alphabet
from hidiv.divergences.observed.support.any_family import word_reason
from hidiv.divergences.observed.support.symbols import Word, forbidden_word
from hidiv.divergences.result import Divergence
from hidiv.errors import OutOfRange, refuse
from hidiv.models.tree import Tree
from hidiv.recursions.terms import h
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.divergences.observed.budget import Budget
    from hidiv.divergences.pair import Pair

Parameters = tuple[Array, Array, Array]  # initial, transition, probabilities

WORD_LIMIT = 2 * 10**7
CLOSE = 1e-2  # parameters this near: the difference of the filters is carried, not taken
NEAR = 0.05  # relative differences below this are summed to second order, without cancellation
_PREFIXES = 1 << 12  # words carried at once


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


def applies(pair: Pair) -> str | None:
    """Symbols of a finite alphabet."""
    return no_alphabet(pair)


def run(pair: Pair, budget: Budget) -> Divergence:
    """Every word of a chain whose parameters are the same at every node."""
    assert isinstance(pair.tree, Tree)
    return listed(enumerate_chain(*pair.once(finite_chains), pair.tree.n_nodes), pair)


def listed(words: Enumerated, pair: Pair) -> Divergence:
    """The exact divergence, with the number of words in its notes."""
    return Divergence(
        words.value,
        "observed",
        infinite=[] if words.word is None else [word_reason(words.word, symbols=True)],
        notes=["the only word was listed" if words.words == 1 else f"every one of {words.words} words was listed"],
        subject=pair.subject,
    )


def enumerate_chain(p: FiniteChain, q: FiniteChain, length: int, limit: int = WORD_LIMIT) -> Enumerated:
    """D_X on a chain of `length` symbols: sum over words w of p(w) KL(p(next | w) || q(next | w)).

    Every term is non-negative and, for models that nearly agree state by state, keeps its digits. Depth first over
    blocks of words, so that memory does not grow with their number. +inf where p emits a word q cannot.
    """
    words = check_words(p.n_symbols, length, limit)
    word = forbidden_word(p, q, length)
    if word is not None:
        return Enumerated(inf, words, word)
    q = FiniteChain(*in_the_order_of(p, q))
    close = is_close(p, q)
    apart = (q.initial - p.initial)[None, :] if close else None
    root = _Front(np.ones(1), p.initial[None, :], q.initial[None, :], apart)
    unlike = _steps_apart(p, q) if close else (None, None)
    first, later = (p.first(), q.first(), unlike[0]), (p.steps(), q.steps(), unlike[1])
    totals: list[float] = []
    stack = [(root, 1)]
    while stack:
        front, position = stack.pop()
        divergence, following = _advance(front, *(first if position == 1 else later), last=position == length)
        totals.append(divergence)
        if following is not None:
            blocks = range(0, len(following.weight), _PREFIXES)
            stack.extend((_taken(following, slice(i, i + _PREFIXES)), position + 1) for i in blocks)
    return Enumerated(fsum(totals), words)


def check_words(n_symbols: int, n_nodes: int, limit: int) -> int:
    """The number of words, refused where there are too many to list."""
    words: int = n_symbols**n_nodes
    if words > limit:
        refuse(OutOfRange, "exact", f"at most {limit} words can be enumerated", f"{n_symbols}^{n_nodes}",
               'ask for method="certified", "montecarlo" or "variational"')  # fmt: skip
    return words


def is_close(p: Parameters, q: Parameters) -> bool:
    """Whether all parameters nearly agree."""
    return len(p[0]) == len(q[0]) and all(np.abs(a - b).max(initial=0.0) <= CLOSE for a, b in zip(p, q, strict=True))


def in_the_order_of(p: Parameters, q: Parameters) -> Parameters:
    """initial (K,), transition (..., K, K) and probabilities (..., K, M) of q, its states in the order of those of p.

    Labels mean nothing here, but differences keep their digits only between states that belong together: those whose
    symbols are the most alike.
    """
    if len(p[0]) != len(q[0]):
        return q
    each = [np.moveaxis(law[2], -2, 0).reshape(len(law[0]), -1) for law in (p, q)]
    order = linear_sum_assignment(np.abs(each[0][:, None] - each[1][None]).sum(axis=2))[1]
    turned = q[0][order], q[1][..., order[:, None], order], q[2][..., order, :]
    return turned if is_close(p, turned) else q


def _steps_apart(p: FiniteChain, q: FiniteChain) -> tuple[Array, Array]:
    """Steps of q less those of p, from differences of parameters: differences of products would lose their digits."""
    moved = FiniteChain(q.initial, q.transition - p.transition, q.probabilities)
    emitted = FiniteChain(p.initial, p.transition, q.probabilities - p.probabilities)
    return emitted.first(), moved.steps() + emitted.steps()


def _advance(
    front: _Front, steps_p: Array, steps_q: Array, unlike: Array | None, last: bool
) -> tuple[float, _Front | None]:
    """One symbol more: the expected divergence of its two predictive laws, and the words that go on.

    steps (M, K, K), `unlike` being q's less p's where that is carried; a product with all symbols side by side is one
    large matrix product.
    """
    next_p, next_q = front.p @ steps_p.sum(axis=2).T, front.q @ steps_q.sum(axis=2).T  # (B, M)
    apart = None
    if front.apart is not None and unlike is not None:
        apart = front.apart @ steps_q.sum(axis=2).T + front.p @ unlike.sum(axis=2).T
    local = row_divergences(next_p, next_q, next_q - next_p if apart is None else apart)
    if not np.isfinite(local).all():
        refuse(OutOfRange, "q", "gives a word a probability that no double can hold")
    divergence = float(front.weight @ local)
    if last:
        return divergence, None
    weight = (front.weight[:, None] * next_p).ravel()
    over_p, over_q = next_p.reshape(-1, 1), next_q.reshape(-1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):  # words p cannot emit are dropped below
        filter_p, filter_q = _all_symbols(front.p, steps_p) / over_p, _all_symbols(front.q, steps_q) / over_q
        if front.apart is not None and unlike is not None:
            change = _all_symbols(front.apart, steps_q) + _all_symbols(front.p, unlike)
            apart = (change - filter_p * change.sum(axis=1, keepdims=True)) / over_q
    following = _Front(weight, filter_p, filter_q, apart)
    return divergence, following if (weight > 0).all() else _taken(following, np.flatnonzero(weight > 0))


def _all_symbols(vectors: Array, steps: Array) -> Array:
    """(B M, K): every vector (B, K) through the step (K, K) of every symbol."""
    n_symbols, n_states, _ = steps.shape
    side_by_side = steps.transpose(1, 0, 2).reshape(n_states, n_symbols * n_states)
    return np.asarray((vectors @ side_by_side).reshape(-1, n_states))


def _taken(front: _Front, which: slice | NDArray[np.int64]) -> _Front:
    """Some of the words."""
    apart = None if front.apart is None else front.apart[which]
    return _Front(front.weight[which], front.p[which], front.q[which], apart)


def row_divergences(p: Array, q: Array, apart: Array) -> Array:
    """(B,): KL of the rows of p and q (B, M), `apart` being q - p or something nearer to it; +inf where p > 0 = q."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        change = apart / p
        terms = p * (change - np.log(q / p))
        near = np.abs(change) < NEAR
        if near.any():
            terms[near] = p[near] * h(change[near])
        odd = ~np.isfinite(terms)
        if odd.any():  # zeros, or a ratio beyond the range of doubles; the logarithms apart lose nothing there
            here, there = p[odd], q[odd]
            logs = np.where(there == 0, inf, here * (np.log(here) - np.log(there)) + (there - here))
            terms[odd] = np.where(here == 0, there, logs)
    return np.asarray(terms.sum(axis=1))
