"""Trees by their parents."""

from __future__ import annotations

import numpy as np


def chain(n):
    return np.arange(-1, n - 1)


def star(n):
    return -(np.arange(n) == 0).astype(np.int64)


def regular(children, n):
    return (np.arange(n) - 1) // children


def caterpillar(n):
    """A chain 0-1-3-5-... whose nodes from 1 on have one more child each."""
    u = np.arange(n)
    return np.where(u < 2, u - 1, u - 1 - (u % 2))


def anyhow(n, rng):
    """Any parent before its child, all equally likely: wide, and in no order."""
    return np.concatenate([[-1], (rng.random(n - 1) * np.arange(1, n)).astype(np.int64)])


def by_level(n, rng):
    """Breadth first, families of every size: many nodes without a child, a few with very many."""
    return np.sort(anyhow(n, rng))


def stretched(n, rng):
    """Parents among the five nodes before: deep, and in no order."""
    u = np.arange(1, n)
    return np.concatenate([[-1], np.maximum(0, u - rng.integers(1, 6, n - 1))])


def all_kinds(n, rng):
    return {
        "one node": chain(1),
        "chain": chain(n),
        "star": star(n),
        "quad-tree": regular(4, n),
        "caterpillar": caterpillar(n),
        "anyhow": anyhow(n, rng),
        "by level": by_level(n, rng),
        "stretched": stretched(n, rng),
    }
