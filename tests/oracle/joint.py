"""Joint divergence of (X, S) by enumeration of every hidden configuration (definitions, section 2)."""

from __future__ import annotations

from itertools import product

from .arithmetic import mp
from .columns import columns
from .configurations import configurations
from .densities import density
from .emission_kl import emission_kl
from .laws import law


def joint(p, q, tree):
    """sum over S of p(S) [ log p(S)/q(S) + sum_u KL(emissions at S_u) ]."""
    laws_p, laws_q = law(p, tree), law(q, tree)
    states_q = configurations(q, tree)
    emissions = emission_table(laws_p, laws_q)
    total = mp.zero
    for states, probability in configurations(p, tree).items():
        if states not in states_q:
            return mp.inf
        own = sum((emissions[u][state] for u, state in enumerate(states)), mp.zero)
        total += probability * (mp.log(probability / states_q[states]) + own)
    return total


def emission_table(laws_p, laws_q):
    """KL of the emissions, node by node and state by state."""
    n_states = len(laws_p.initial)
    known = {}
    table = []
    for a, b in zip(laws_p.emission, laws_q.emission, strict=True):
        if (id(a), id(b)) not in known:
            known[id(a), id(b)] = [emission_kl(a, b, state) for state in range(n_states)]
        table.append(known[id(a), id(b)])
    return table


def joint_by_words(p, q, tree):
    """The definition to the letter: sum over (x, S) of p(x, S) log p(x, S)/q(x, S); categorical emissions only."""
    laws_p, laws_q = law(p, tree), law(q, tree)
    states_q = configurations(q, tree)
    symbols = range(len(laws_p.emission[0]["probs"][0]))
    total = mp.zero
    for states, probability in configurations(p, tree).items():
        for word in product(symbols, repeat=len(states)):
            first = probability * word_given_states(laws_p, states, word)
            second = states_q.get(states, mp.zero) * word_given_states(laws_q, states, word)
            if first > 0:
                total += first * mp.log(first / second) if second > 0 else mp.inf
    return total


def word_given_states(laws, states, word):
    result = mp.one
    for u, (state, symbol) in enumerate(zip(states, word, strict=True)):
        result *= density(columns(laws.emission[u], state)[0], symbol)
    return result
