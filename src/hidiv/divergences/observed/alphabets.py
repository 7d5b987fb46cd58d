"""Models whose observations are symbols, as the arrays that enumeration and certificates read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.observed.interval import NotApplicable
from hidiv.emissions.families.categorical import check_alphabets
from hidiv.models.tree import Tree
from hidiv.types import Array

if TYPE_CHECKING:
    from hidiv.divergences.pair import Pair
    from hidiv.emissions.family import Family
    from hidiv.models.model import Model


LATE = 64  # moves after which the law of a symbol is near to that in the long run
CLOSE = 1e-4  # probabilities of symbols that differ by less: the chains may be as near as a tolerance asks


class FiniteChain(NamedTuple):
    """A hidden Markov chain with a finite alphabet: initial (K,), transition (K, K), probabilities (K, M)."""

    initial: Array
    transition: Array
    probabilities: Array

    @property
    def n_states(self) -> int:
        """Number of hidden states K."""
        return len(self.initial)

    @property
    def n_symbols(self) -> int:
        """Number of symbols M."""
        return int(self.probabilities.shape[-1])

    def steps(self) -> Array:
        """(M, K, K): steps[x](r, s) = transition(r, s) probabilities(s, x), one step that emits x."""
        return np.asarray(self.transition[None, :, :] * self.probabilities.T[:, None, :])

    def laws(self) -> tuple[Array, Array]:
        """transition and probabilities, contiguous."""
        return np.ascontiguousarray(self.transition), np.ascontiguousarray(self.probabilities)

    def moves(self) -> NDArray[np.bool_]:
        """(M, K, K): where `steps` are positive, even if they underflow."""
        return np.asarray((self.transition > 0)[None, :, :] & (self.probabilities > 0).T[:, None, :])

    def first(self) -> Array:
        """(M, K, K): the first symbol, which no transition comes before."""
        return np.asarray(self.probabilities.T[:, None, :] * np.eye(self.n_states))

    def of_states(self, members: NDArray[np.int64], initial: Array | None = None) -> FiniteChain:
        """The chain on a closed set of states, with its own initial law where one is given."""
        start = self.initial[members] if initial is None else initial
        return FiniteChain(start, self.transition[np.ix_(members, members)], self.probabilities[members])


class TreeLaw(NamedTuple):
    """A hidden Markov law node by node, or level by level: initial (K,), transition (n, K, K), probabilities (n, K, M).

    The root's transition is not used.
    """

    initial: NDArray[Any]
    transition: NDArray[Any]
    probabilities: NDArray[Any]

    def support(self) -> TreeLaw:
        """Where it has mass; products and sums of booleans are "and" and "or"."""
        return TreeLaw(*(part > 0 for part in self))


def finite_chain(model: Model) -> FiniteChain:
    """A homogeneous model with a finite alphabet."""
    if model.n_groups > 1:
        raise NotApplicable("the parameters differ from node to node")
    return FiniteChain(model.initial, np.asarray(model.transitions[0]), symbol_probabilities(model)[0])


def tree_law(model: Model, tree: Tree) -> TreeLaw:
    """Transitions and probabilities by node of a listed tree, by level of a regular one."""
    count = tree.depth if tree.kind == "regular" else tree.n_nodes
    group = np.arange(count) if tree.kind == "regular" else tree.group
    tables = []
    for table in (model.transitions, symbol_probabilities(model)):
        index = np.zeros(count, dtype=np.int64) if len(table) == 1 or group is None else group
        tables.append(np.ascontiguousarray(table[index]))
    return TreeLaw(model.initial, *tables)


def finite_chains(pair: Pair) -> tuple[FiniteChain, FiniteChain]:
    """p and q, which share an alphabet; NotApplicable where they have groups or no finite alphabet."""
    p, q = finite_chain(pair.p), finite_chain(pair.q)
    check_alphabets(p.n_symbols, q.n_symbols)
    return p, q


def tree_laws(pair: Pair) -> tuple[TreeLaw, TreeLaw]:
    """p and q by node of a listed tree, by level of a regular one; NotApplicable without a finite alphabet."""
    assert isinstance(pair.tree, Tree)
    p, q = tree_law(pair.p, pair.tree), tree_law(pair.q, pair.tree)
    check_alphabets(p.probabilities.shape[-1], q.probabilities.shape[-1])
    return p, q


def alike(p: FiniteChain, q: FiniteChain, length: int | None = None) -> bool:
    """Whether two chains may be one process: they show their symbols about as often at the last node, or at a late one.

    True for more than two states, whose filters take so long to bound that a joint divergence is worth its time.
    """
    if max(p.n_states, q.n_states) > 2:
        return True
    moves = LATE if length is None else min(length - 1, LATE)
    late = [chain.initial @ np.linalg.matrix_power(chain.transition, moves) @ chain.probabilities for chain in (p, q)]
    return float(np.abs(late[0] - late[1]).max()) < CLOSE


def no_alphabet(pair: Pair) -> str | None:
    """Why the observations are no symbols of one finite alphabet; None where they are."""
    try:
        for model in (pair.p, pair.q):
            symbol_probabilities(model)
    except NotApplicable as reason:
        return str(reason)
    return None


def symbol_probabilities(model: Model) -> Array:
    """(G, K, M): probabilities of the symbols; NotApplicable for observations that are no symbols."""
    tables = [family_symbols(family) for family in model.emissions]
    if len({table.shape for table in tables}) > 1:
        raise NotApplicable("the alphabets of the groups differ")
    return np.stack(tables)


def by_formula(*models: Model) -> bool:
    """Whether divergences of the emissions are formulas: those of mixtures are integrals, which take long."""
    return not any(f.kl_is_integral and f.alphabet() is None for m in models for f in m.emissions)


def has_symbols(family: Family) -> bool:
    """Whether an observation is one symbol, which is the index of its probability."""
    return family.n_features == 1 and family.column_spaces()[0].n_symbols is not None


def family_symbols(family: Family) -> Array:
    """(K, M): probabilities of the symbols of one family, or of the combinations of its columns (`Family.alphabet`)."""
    if family.alphabet() is None:
        raise NotApplicable(f"{family.name} observations have no finite alphabet")
    return family.symbol_table()
