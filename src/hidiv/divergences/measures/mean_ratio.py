"""Means of a function of the log-ratio log p(x)/q(x) under (p + q)/2: over all words, or over draws of both models.

The Bhattacharyya coefficient, the total variation and the Jensen-Shannon divergence are such means, of functions
between 0 and 1: no draw can spoil them, and zeros of either model do no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import fsum, inf, sqrt
from typing import NamedTuple

import numpy as np

from hidiv.divergences.observed.alphabets import no_alphabet, symbol_probabilities, tree_laws
from hidiv.divergences.observed.budget import QUICK
from hidiv.divergences.observed.enumerated.tree_configurations import configurations
from hidiv.divergences.pair import Pair
from hidiv.inference.likelihood import log_likelihoods
from hidiv.inference.sampling import BLOCK, draw_observations, draw_states
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.progress import Progress
from hidiv.types import Array

Function = Callable[[Array], Array]

FIRST = 256  # draws of each model before the error is looked at
HOPELESS = 20  # times the draws allowed: what is averaged is too rare
NEAR = 0.1  # r below which a difference of logarithms is summed as a series
LOG_TWO = float(np.log(2.0))


class DrawnMean(NamedTuple):
    """A mean over draws, its standard error, and how many draws of both models it is made of."""

    value: float
    std_error: float
    n_samples: int


# Functions of the log-ratio, even and finite at infinity.


def overlap(ratio: Array) -> Array:
    """sqrt(p q) over (p + q)/2: its mean is the Bhattacharyya coefficient."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / np.cosh(0.5 * ratio))


def gap(ratio: Array) -> Array:
    """One less `overlap`, relatively accurate near 0: its mean is the squared Hellinger distance."""
    with np.errstate(over="ignore", invalid="ignore"):
        near = 2.0 * np.sinh(0.25 * ratio) ** 2 / np.cosh(0.5 * ratio)
    return np.where(np.abs(ratio) < 60.0, near, 1.0 - overlap(ratio))


def distance(ratio: Array) -> Array:
    """|p - q|/(p + q): its mean is the total variation."""
    return np.asarray(np.abs(np.tanh(0.5 * ratio)))


def smaller_half(ratio: Array) -> Array:
    """min(p, q)/(p + q): its mean is the Bayes error."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(np.abs(ratio))))


def surprise(ratio: Array) -> Array:
    """log 2 less the entropy of which model it was: its mean is the Jensen-Shannon divergence."""
    r = np.abs(np.tanh(0.5 * ratio))
    square = np.minimum(r, NEAR) ** 2
    series = square * (
        0.5 + square * (1 / 12 + square * (1 / 30 + square * (1 / 56 + square * (1 / 90 + square / 132))))
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # log of the larger half and of the smaller one, times each.
        small = 1.0 / (1.0 + np.exp(np.abs(ratio)))
        far = LOG_TWO + (1.0 - small) * np.log1p(-small) + np.where(small > 0, small * np.log(small), 0.0)
    return np.where(r < NEAR, series, far)


# Over all words.


def few_words(pair: Pair, most: int = QUICK) -> bool:
    """Whether the observations of the tree are symbols, and so few that all can be listed at once."""
    tree = pair.tree
    if not isinstance(tree, Tree) or no_alphabet(pair) is not None:
        return False
    symbols = symbol_probabilities(pair.p).shape[-1]
    return tree.depth < 64 and (tree.n_nodes <= 64) and symbols ** min(int(tree.n_nodes), 64) <= most


def over_words(pair: Pair, *functions: Function) -> list[float]:
    """The mean of each function over every word; differences of p and q keep their digits where the models are near."""
    totals: list[list[float]] = [[] for _ in functions]
    for p, q, apart in _words(pair):
        both = p + q
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.where(both > 0, apart / both, 0.0)
            far = np.where(both > 0, np.log(p) - np.log(q), 0.0)
            ratio = np.where(np.abs(change) < 0.5, -2.0 * np.arctanh(np.clip(change, -0.5, 0.5)), far)
        for total, function in zip(totals, functions, strict=True):
            total.append(float((0.5 * both * function(ratio)).sum()))
    return [fsum(total) for total in totals]


def _words(pair: Pair) -> Iterator[tuple[Array, Array, Array]]:
    """p(x), q(x) and q(x) - p(x) of every word, in blocks."""
    tree = pair.tree
    assert isinstance(tree, Tree)
    listed = Tree(tree.parent, tree.group)
    return configurations(*tree_laws(Pair(pair.p, pair.q, listed)), listed.parent)


# Over draws.


def over_draws(pair: Pair, function: Function, rtol: float, most: int, rng: np.random.Generator) -> DrawnMean:
    """The mean over as many draws of p as of q, until its standard error is at most rtol of it, or `most` are drawn."""
    sums = np.zeros((2, 2))  # of values and squares, by model
    done, wanted = 0, FIRST
    with Progress("drawing") as progress:
        while True:
            size = wanted - done
            for i, model in enumerate((pair.p, pair.q)):
                for log_ratio in _log_ratios(pair, model, size, rng):
                    values = function(log_ratio)
                    sums[i] += values.sum(), (values * values).sum()
            done = wanted
            progress.show(min(2 * done / most, 1.0), f"{2 * done} of at most {most} draws")
            means = sums[:, 0] / done
            variances = np.maximum(sums[:, 1] / done - means * means, 0.0) * done / max(done - 1, 1)
            mean, error = float(means.mean()), 0.5 * sqrt(float(variances.sum()) / done)
            if error <= rtol * mean or 2 * done >= most:
                return DrawnMean(mean, error, 2 * done)
            needed = inf if mean <= 0 else done * (error / (rtol * mean)) ** 2 * 1.1
            if needed > HOPELESS * most:
                return DrawnMean(mean, error, 2 * done)
            wanted = int(min(max(2 * done, 1), max(done + FIRST, needed), max(most // 2, done + 1)))


def _log_ratios(pair: Pair, model: Model, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """log p(x)/q(x) of draws from one of the models, in blocks."""
    tree = pair.tree
    assert isinstance(tree, Tree)
    at_once = max(1, BLOCK // (4 * tree.n_nodes))
    for start in range(0, count, at_once):
        x = draw_observations(model, tree, draw_states(model, tree, min(at_once, count - start), rng), rng)
        yield log_likelihoods(pair.p, x, tree) - log_likelihoods(pair.q, x, tree)
