"""Words that p can emit and q cannot, decided in booleans, so that no underflow is taken for a zero."""

from __future__ import annotations

from collections import deque
from math import inf

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.observed.alphabets import FiniteChain, TreeLaw

Word = tuple[int, ...]


def forbidden_word(p: FiniteChain, q: FiniteChain, length: float = inf) -> Word | None:
    """The shortest word of at most `length` symbols that p emits and q cannot; None if there is none.

    Breadth first over pairs of a state of p and the set of states q can be in (definitions, section 8).
    """
    emits_p, emits_q = p.probabilities > 0, q.probabilities > 0
    if emits_q.all():  # wherever q is, it can show every symbol next
        return None
    step_p, step_q = p.moves(), q.moves()
    seen: dict[tuple[int, bytes], tuple[tuple[int, bytes] | None, int]] = {}
    queue: deque[tuple[int, NDArray[np.bool_], int]] = deque()

    def meet(
        state: int, possible: NDArray[np.bool_], previous: tuple[int, bytes] | None, symbol: int, depth: int
    ) -> bool:
        key = (state, possible.tobytes())
        if key not in seen:
            seen[key] = (previous, symbol)
            queue.append((state, possible, depth))
        return not possible.any()

    def spelled(key: tuple[int, bytes] | None) -> Word:
        word: list[int] = []
        while key is not None:
            key, symbol = seen[key]
            word.append(symbol)
        return tuple(reversed(word))

    for state in np.flatnonzero(p.initial > 0).tolist():
        for symbol in np.flatnonzero(emits_p[state]).tolist():
            possible = (q.initial > 0) & emits_q[:, symbol]
            if meet(state, possible, None, symbol, 1):
                return spelled((state, possible.tobytes()))
    while queue:
        state, before, depth = queue.popleft()
        if depth >= length:
            continue
        for symbol in range(p.n_symbols):
            ahead = np.flatnonzero(step_p[symbol, state]).tolist()
            possible = before @ step_q[symbol] if ahead else before
            for following in ahead:
                if meet(following, possible, (state, before.tobytes()), symbol, depth + 1):
                    return spelled((following, possible.tobytes()))
    return None


def supports(p: FiniteChain, q: FiniteChain) -> list[tuple[int, NDArray[np.bool_]]]:
    """All pairs of a state p can be in after some symbols and the set (K_q,) of states q can be in then."""
    step_p, step_q = p.moves(), q.moves()
    met: dict[tuple[int, bytes], NDArray[np.bool_]] = {}
    queue: deque[tuple[int, NDArray[np.bool_]]] = deque()

    def meet(state: int, possible: NDArray[np.bool_]) -> None:
        key = (state, possible.tobytes())
        if key not in met:
            met[key] = possible
            queue.append((state, possible))

    for state in np.flatnonzero(p.initial > 0).tolist():
        for symbol in np.flatnonzero(p.probabilities[state] > 0).tolist():
            meet(state, (q.initial > 0) & (q.probabilities[:, symbol] > 0))
    while queue:
        state, before = queue.popleft()
        for symbol in range(p.n_symbols):
            for following in np.flatnonzero(step_p[symbol, state]).tolist():
                meet(following, before @ step_q[symbol])
    return [(state, possible) for (state, _), possible in met.items()]


def emits_forbidden_tree(p: TreeLaw, q: TreeLaw, children: int, depth: int) -> bool:
    """Whether p can emit on a regular tree what q cannot; arrays by level, the root's transition unused.

    For every state of p at a node: the sets of states of q that can have what lies below it.
    """
    everything = frozenset(range(len(q.initial)))
    below: list[set[frozenset[int]]] = [{everything} for _ in p.initial]
    for level in reversed(range(depth)):
        at = [
            {seen & _states(q.probabilities[level][:, x] > 0) for seen in sets for x in np.flatnonzero(row > 0)}
            for sets, row in zip(below, p.probabilities[level], strict=True)
        ]
        if level == 0:
            start = _states(q.initial > 0)
            return any(not seen & start for s in np.flatnonzero(p.initial > 0) for seen in at[s])
        step = q.transition[level] > 0
        sent = [{frozenset(np.flatnonzero(step[:, sorted(seen)].any(axis=1)).tolist()) for seen in sets} for sets in at]
        below = [
            _meets(set().union(*(sent[s] for s in np.flatnonzero(row > 0))), children) for row in p.transition[level]
        ]
    return False


def forbidden_configuration(p: TreeLaw, q: TreeLaw, parent: NDArray[np.int64]) -> bool:
    """Whether p can emit on a listed tree what q cannot; arrays by node, the root's transition unused."""
    if (q.initial > 0).all() and (q.transition[1:] > 0).all() and (q.probabilities > 0).all():
        return False
    everything = frozenset(range(len(q.initial)))
    below: list[list[set[frozenset[int]]] | None] = [None] * len(parent)
    for u in reversed(range(len(parent))):
        under, below[u] = below[u] or [{everything} for _ in p.initial], None
        emits = [_states(column > 0) for column in q.probabilities[u].T]
        at = [
            {seen & emits[x] for seen in sets for x in np.flatnonzero(row > 0)}
            for sets, row in zip(under, p.probabilities[u], strict=True)
        ]
        if u == 0:
            start = _states(q.initial > 0)
            return any(not seen & start for s in np.flatnonzero(p.initial > 0) for seen in at[s])
        step = q.transition[u] > 0
        from_parent = {seen: _states(step[:, sorted(seen)].any(axis=1)) for sets in at for seen in sets}
        sent = [{from_parent[seen] for s in np.flatnonzero(row > 0) for seen in at[s]} for row in p.transition[u]]
        known = below[int(parent[u])]
        if known is not None:
            sent = [{one & other for one in known[r] for other in sets} for r, sets in enumerate(sent)]
        below[int(parent[u])] = sent
    return False


def _states(there: NDArray[np.bool_]) -> frozenset[int]:
    """The states where something holds."""
    return frozenset(np.flatnonzero(there).tolist())


def _meets(sets: set[frozenset[int]], copies: int) -> set[frozenset[int]]:
    """All that can be common to as many of the sets, one for each child."""
    common = set(sets)
    for _ in range(copies - 1):
        more = {one & other for one in common for other in sets}
        if more <= common:
            break
        common |= more
    return common
