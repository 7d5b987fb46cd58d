"""What p can show and q cannot, for any families, decided in booleans (definitions, section 8)."""

from __future__ import annotations

from math import inf

import numpy as np

from hidiv.divergences.observed.alphabets import FiniteChain, TreeLaw, family_symbols, has_symbols
from hidiv.divergences.observed.support.symbols import (
    Word,
    emits_forbidden_tree,
    forbidden_configuration,
    forbidden_word,
)
from hidiv.emissions.families.categorical import check_alphabets
from hidiv.emissions.family import Family
from hidiv.emissions.registry import comparable
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.types import Array, Flags, IntArray


def forbidden(p: Model, q: Model, tree: Tree | None) -> str | None:
    """Why the observed divergence is infinite, in words; None where q explains whatever p shows.

    Without a tree: on a chain of any length.
    """
    groups = max(len(p.emissions), len(q.emissions))
    tables = []
    for g in range(groups):
        one, two = (m.emissions[min(g, len(m.emissions) - 1)] for m in (p, q))
        tables.append(supports(one, two))
    if not any((a.any(axis=0) & ~b).any() for a, b in tables):
        return None  # every state of q has all that p shows, so that no path of q is needed in particular
    if tree is None or (tree.is_chain and groups == len(p.transitions) == len(q.transitions) == 1):
        left, right = (
            FiniteChain(m.initial, np.asarray(m.transitions[0]), t.astype(np.float64))
            for m, t in zip((p, q), tables[0], strict=True)
        )
        word = forbidden_word(left, right, inf if tree is None else tree.n_nodes)
        return None if word is None else word_reason(word, has_symbols(p.emissions[0]))
    if tree.kind == "regular":
        group = np.arange(tree.depth)
    else:
        group = np.zeros(tree.n_nodes, dtype=np.int64) if tree.group is None else np.asarray(tree.group)
    law_p, law_q = (_law(m, [t[i] for t in tables], group) for i, m in enumerate((p, q)))
    if tree.kind == "regular":
        cannot = emits_forbidden_tree(law_p, law_q, tree.children or 1, tree.depth)
    else:
        cannot = forbidden_configuration(law_p, law_q, tree.parent)
    return "p emits a configuration that q cannot" if cannot else None


def word_reason(word: Word, symbols: bool) -> str:
    """Why a word makes the divergence infinite; it is spelled out where observations are symbols."""
    if not symbols:
        return "p emits values that no state of q can have there"
    shown = " ".join(str(symbol) for symbol in word[:20])
    return f"p emits the word {shown}{' ...' if len(word) > 20 else ''} and q cannot"


def _law(model: Model, tables: list[Flags], group: IntArray) -> TreeLaw:
    """What is possible at every node, alphabets of different groups padded to one width."""
    width = max(table.shape[1] for table in tables)
    padded = np.stack([np.pad(table, ((0, 0), (0, width - table.shape[1]))) for table in tables])
    moves = model.transitions > 0
    return TreeLaw(
        model.initial > 0,
        moves[group if len(moves) > 1 else np.zeros_like(group)],
        padded[np.minimum(group, len(padded) - 1)],
    )


def supports(p: Family, q: Family) -> tuple[Flags, Flags]:
    """(K, M) and (L, M): what each state can show, of symbols, or of "what q can have" and "what it cannot"."""
    if p.alphabet() is not None and q.alphabet() is not None:
        tables = family_symbols(p), family_symbols(q)
        check_alphabets(tables[0].shape[1], tables[1].shape[1])
        return tables[0] > 0, tables[1] > 0
    last_p, last_q = p.last_counts(), q.last_counts()
    if last_p is not None and last_q is not None:
        return _counts(p, q, np.concatenate([np.ravel(p.first_counts()), np.ravel(q.first_counts()), *last_p, *last_q]))
    span_p, span_q = p.support(), q.support()
    if p.n_features == q.n_features == 1 and span_p is not None and span_q is not None:
        ends = np.concatenate([np.ravel(end) for end in (*span_p, *span_q)])
        return _counts(p, q, ends[np.isfinite(ends)])
    everything = np.ones((p.n_states, 1), dtype=np.bool_), np.ones((q.n_states, 1), dtype=np.bool_)
    if not p.n_features or not comparable(p, q):
        return everything
    left, right = (grid.ravel() for grid in np.indices((p.n_states, q.n_states)))
    gaps = np.array([gap is not None for gap in p.take(left).gaps(q.take(right))]).reshape(p.n_states, q.n_states)
    if not gaps.any():
        return everything
    # One class of values for each state of q that lacks some: what is forbidden so is forbidden, not the other way;
    # the rest shows in the draws.
    outside = np.concatenate([everything[0], gaps], axis=1)
    return outside, np.concatenate([everything[1], ~np.eye(q.n_states, dtype=np.bool_)], axis=1)


def _counts(p: Family, q: Family, ends: Array) -> tuple[Flags, Flags]:
    """Supports of laws whose counts have no gaps between their `ends`, of rows with one count in all columns.

    A state has its first count, its last, or all between: nothing changes between those counts and their neighbours.
    """
    marks = np.unique([ends - 1.0, ends, ends + 1.0])
    marks = marks[marks >= 0]
    tables = []
    for family in (p, q):
        x = np.repeat(marks[:, None], family.n_features, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = family.log_mass(x, x).min(axis=2)
        tables.append(np.isfinite(logs).T)
    return tables[0], tables[1]


def log_weights(family: Family, x: Array) -> Array:
    """(n, K): log-density of x (n, F), -inf outside the sample space."""
    try:
        return family.log_weight(x)
    except ValueError:  # outside the sample space of this family: it has no mass there
        away = np.full_like(x, np.inf)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            terms = family.log_density(x)
            # A formula may give a number beyond the support: what lies there has no mass on one side of it.
            inside = (family.log_mass(-away, x) > -np.inf) & (family.log_mass(x, away) > -np.inf)
            terms = np.where(inside, terms, -np.inf).sum(axis=2)
        return np.where(np.isnan(terms), -np.inf, terms)
