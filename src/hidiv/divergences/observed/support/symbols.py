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

    Breadth first over pairs of a state of p and the set of states q can be in (definitions, section 8). Where q can be
    in more states than it could after an earlier word, nothing comes that did not come then.
    """
    if (q.probabilities > 0).all():  # wherever q is, it can show every symbol next
        return None
    symbols, step_p, step_q = _symbols(p, q), _Steps(p), _Steps(q)
    came: dict[tuple[int, int], tuple[tuple[int, int] | None, int]] = {}
    least: list[list[int]] = [[] for _ in p.initial]
    queue: deque[tuple[int, int, int]] = deque()

    def meet(state: int, possible: int, previous: tuple[int, int] | None, symbol: int, depth: int) -> bool:
        if (state, possible) not in came and not any(fewer & possible == fewer for fewer in least[state]):
            came[state, possible] = (previous, symbol)
            least[state] = [more for more in least[state] if more & possible != possible]
            least[state].append(possible)
            queue.append((state, possible, depth))
        return not possible

    def spelled(key: tuple[int, int] | None) -> Word:
        word: list[int] = []
        while key is not None:
            key, symbol = came[key]
            word.append(symbol)
        return tuple(reversed(word))

    for state in _members(step_p.start):
        for symbol, shown_by_p, shown_by_q in symbols:
            possible = step_q.start & shown_by_q
            if shown_by_p >> state & 1 and meet(state, possible, None, symbol, 1):
                return spelled((state, possible))
    while queue:
        state, before, depth = queue.popleft()
        if depth >= length:
            continue
        ahead, reached = step_p.after(1 << state), step_q.after(before)
        for symbol, shown_by_p, shown_by_q in symbols:
            possible = reached & shown_by_q
            for following in _members(ahead & shown_by_p):
                if meet(following, possible, (state, before), symbol, depth + 1):
                    return spelled((following, possible))
    return None


def supports(p: FiniteChain, q: FiniteChain) -> list[tuple[int, NDArray[np.bool_]]]:
    """All pairs of a state p can be in after some symbols and the set (K_q,) of states q can be in then."""
    symbols, step_p, step_q = _symbols(p, q), _Steps(p), _Steps(q)
    met: dict[tuple[int, int], None] = {}
    queue: deque[tuple[int, int]] = deque()

    def meet(state: int, possible: int) -> None:
        if (state, possible) not in met:
            met[state, possible] = None
            queue.append((state, possible))

    for state in _members(step_p.start):
        for _, shown_by_p, shown_by_q in symbols:
            if shown_by_p >> state & 1:
                meet(state, step_q.start & shown_by_q)
    while queue:
        state, before = queue.popleft()
        ahead, reached = step_p.after(1 << state), step_q.after(before)
        for _, shown_by_p, shown_by_q in symbols:
            for following in _members(ahead & shown_by_p):
                meet(following, reached & shown_by_q)
    return [(state, _flags(possible, q.n_states)) for state, possible in met]


class _Steps:
    """Where a chain can start, and where it can be after a step: sets of states as the bits of a number."""

    def __init__(self, chain: FiniteChain) -> None:
        self.start = _bits(chain.initial > 0)
        self._rows = [_bits(row > 0) for row in chain.transition]
        self._after: dict[int, int] = {}

    def after(self, states: int) -> int:
        """One step after any of the states."""
        found = self._after.get(states)
        if found is None:
            found = 0
            for state in _members(states):
                found |= self._rows[state]
            self._after[states] = found
        return found


def _symbols(p: FiniteChain, q: FiniteChain) -> list[tuple[int, int, int]]:
    """A symbol, the states of p and those of q that show it; only the first of symbols that the same states show."""
    both = np.concatenate([p.probabilities, q.probabilities]) > 0
    packed = np.packbits(both, axis=0).T
    first: dict[bytes, int] = {}
    for symbol, states in enumerate(packed):
        first.setdefault(states.tobytes(), symbol)
    return [(m, _bits(both[: p.n_states, m]), _bits(both[p.n_states :, m])) for m in first.values()]


def _bits(flags: NDArray[np.bool_]) -> int:
    """A set of states as the bits of a number."""
    return sum(1 << state for state in np.flatnonzero(flags).tolist())


def _flags(states: int, count: int) -> NDArray[np.bool_]:
    """The same as an array (count,)."""
    return np.array([states >> state & 1 for state in range(count)], dtype=np.bool_)


def _members(states: int) -> list[int]:
    """The states whose bits are set, in their order."""
    found = []
    while states:
        lowest = states & -states
        found.append(lowest.bit_length() - 1)
        states ^= lowest
    return found


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
