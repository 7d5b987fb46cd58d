"""The divergences of initial laws, transition rows and emission states, and which of them p reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.pair import Pair, families, of_models
from hidiv.emissions.registry import pair as comparison
from hidiv.errors import HidivError, OutOfRange, counted, refuse
from hidiv.models.until_end import UntilEnd
from hidiv.recursions.state_laws import reach
from hidiv.recursions.terms import row_divergence
from hidiv.types import Array, IntArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from hidiv.emissions.family import Family
    from hidiv.models.model import Model
    from hidiv.models.tree import Tree

NEVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, eq=False)
class Local:
    """Root, row and state divergences; one group when neither model ties that part by group."""

    initial: float
    rows: Array  # (G or 1, K)
    states: Array  # (G or 1, K)

    @property
    def is_finite(self) -> bool:
        """Whether no term at all is infinite, reached or not."""
        return bool(np.isfinite(self.initial) and np.isfinite(self.rows).all() and np.isfinite(self.states).all())


@of_models
def local_terms(pair: Pair) -> Local:
    """KL of the initial laws, of every transition row (end included) and of every emission state."""
    p, q = pair.p, pair.q
    initial, rows = _row_terms(p, q)
    return Local(initial, used_rows(p, q, rows), by_family(p, q, _emission_divergence))


def _row_terms(p: Model, q: Model) -> tuple[float, Array]:
    """KL of the initial laws, and (G or 1, K) of the transition rows; in one call where all rows are of one length."""
    if p.end is not None:
        return float(row_divergence(p.initial, q.initial)), row_divergence(with_end(p), with_end(q))
    if len(p.transitions) == len(q.transitions) == 1:
        terms = row_divergence(*(np.concatenate([m.initial[None], m.transitions[0]]) for m in (p, q)))
        return float(terms[0]), terms[None, 1:]
    return float(row_divergence(p.initial, q.initial)), row_divergence(p.transitions, q.transitions)


def used_rows(p: Model, q: Model, rows: Array) -> Array:
    """Row terms (G or 1, K) with 0 for a group that lacks a matrix in either model: such a group is never used."""
    return np.where((p.has_transition & q.has_transition)[:, None], rows, 0.0)


def _emission_divergence(p: Family, q: Family) -> Array:
    """(K,): +inf only where q lacks support that p has; a finite value no double holds is an error."""
    value = comparison(p, q).kl(p, q)
    if np.isinf(value).any():
        for state, gap in enumerate(p.gaps(q)):
            if gap is None and np.isinf(value[state]):
                refuse(
                    OutOfRange,
                    "emission",
                    f"the divergence in state {state} is finite but beyond the range of doubles",
                    remedy="rescale the observations",
                )
    return value


def with_end(model: Model) -> Array:
    """Transition rows (G, K, K), with the end probability as a last column where there is one."""
    return (
        model.transitions
        if model.end is None
        else np.concatenate([model.transitions, model.end[None, :, None]], axis=2)
    )


def by_family(p: Model, q: Model, compare: Callable[[Family, Family], Array]) -> Array:
    """(G or 1, K): one comparison for each pair of families; a refusal starts with the group.

    The component of a mixture is compared as part of the hidden state.
    """
    pairs = families(p, q)
    compared = []
    for g, (a, b) in enumerate(pairs):
        try:
            if a.nested is None and b.nested is None:
                compared.append(compare(a, b))
                continue
            comparison(a, b)  # a refusal names the families as the user knows them
            compared.append(compare(a.complete(), b.complete()))
        except HidivError as error:
            raise type(error)(f"group {g}, {error}" if len(pairs) > 1 else str(error)) from None
    return np.stack(compared)


class Places(NamedTuple):
    """The first node or level where p has mass: (G or 1, K) by row (the state of the parent) and by state, or NEVER."""

    rows: IntArray
    states: IntArray
    by: str  # what is counted: "node" or "level"

    def reached(self, local: Local) -> Local:
        """Local divergences with 0 in place of the infinite ones that p never reaches."""
        rows, states = (
            np.where(np.isinf(table) & (when == NEVER), 0.0, table)
            for table, when in ((local.rows, self.rows), (local.states, self.states))
        )
        return Local(local.initial, rows, states)


class Reached(NamedTuple):
    """Local terms as far as p reaches them, and the reasons why the divergence is infinite, if it is."""

    local: Local
    reasons: list[str]


def reached_terms(pair: Pair) -> Reached:
    """The local terms of a pair that p reaches on its tree."""
    local = pair.once(local_terms)
    return Reached(local, []) if local.is_finite else reached(pair, local)


def reached(pair: Pair, local: Local) -> Reached:
    """The same for other local terms, those of a Renyi divergence."""
    if local.is_finite:
        return Reached(local, [])
    places = first_places(pair.p, pair.tree, len(local.rows), len(local.states))
    return Reached(places.reached(local), infinite_places(pair.p, pair.q, local, places))


def first_places(p: Model, tree: Tree | UntilEnd | None, row_groups: int, state_groups: int) -> Places:
    """When p first reaches each row and state; None stands for an endless chain."""
    if tree is None or isinstance(tree, UntilEnd):
        return first_levels(p, None)
    if row_groups == state_groups == 1:
        return first_levels(p, tree.depth)
    if tree.kind == "regular":
        parent, group, by = np.arange(-1, tree.depth - 1), np.arange(tree.depth), "level"
    else:
        assert tree.group is not None
        parent, group, by = tree.parent, tree.group, "node"
    own = group if len(p.transitions) > 1 else np.zeros_like(group)
    possible = reach(p.initial > 0, parent, own, p.transitions > 0)
    order = np.arange(len(parent))[:, None]
    rows = _earliest(np.where(possible[parent[1:]], order[1:], NEVER), group[1:], row_groups)
    return Places(rows, _earliest(np.where(possible, order, NEVER), group, state_groups), by)


def first_levels(p: Model, depth: int | None) -> Places:
    """Places of a homogeneous model on any tree of `depth` levels; None: a chain without bound."""
    last = NEVER - 1 if depth is None else depth - 1
    first = np.where(p.initial > 0, 0, NEVER)
    allowed, fresh, level = p.transitions[0] > 0, p.initial > 0, 0
    while fresh.any() and level < last:
        level += 1
        fresh = allowed[fresh].any(axis=0) & (first == NEVER)
        first[fresh] = level
    rows = np.where(first < last, np.minimum(first, last) + 1, NEVER)
    return Places(rows[None, :], first[None, :], "level")


def _earliest(when: IntArray, group: IntArray, groups: int) -> IntArray:
    """(G, K): the smallest entry of each group; one group takes them all."""
    first = np.full((groups, when.shape[1]), NEVER)
    np.minimum.at(first, group if groups > 1 else np.zeros_like(group), when)
    return first


def infinite_places(p: Model, q: Model, local: Local, places: Places) -> list[str]:
    """Sentences for the places p reaches where q has no mass, in the order p comes to them."""
    sentences: list[tuple[int, int, str]] = []
    if np.isinf(local.initial):
        state = int(np.argmax((p.initial > 0) & (q.initial == 0)))
        text = f"initial: {state_in_words(p, state)} has probability {p.initial[state]:g} under p and 0 under q"
        sentences.append((0, 0, text))
    for g, r in np.argwhere(np.isinf(local.rows) & (places.rows < NEVER)):
        a, b = (with_end(model)[min(g, len(model.transitions) - 1), r] for model in (p, q))
        s = int(np.argmax((a > 0) & (b == 0)))
        step = f"from {state_in_words(p, int(r))} to {state_in_words(p, s) if s < p.n_states else 'the end'}"
        text = f"transition: {_group(g, local.rows)}{step} has probability {a[s]:g} under p and 0 under q"
        sentences.append((int(places.rows[g, r]), 1, f"{text} (first at {places.by} {places.rows[g, r]})"))
    by_group = families(p, q)
    for g, s in np.argwhere(np.isinf(local.states) & (places.states < NEVER)):
        family_p, family_q = by_group[g]
        gap = family_p.complete().gaps(family_q.complete())[s]
        what = "has a Renyi integral that diverges" if gap is None else f"emits {gap} under p and never under q"
        text = f"emission: {_group(g, local.states)}{state_in_words(p, int(s))} {what}"
        sentences.append((int(places.states[g, s]), 2, f"{text} (first at {places.by} {places.states[g, s]})"))
    return [text for _, _, text in sorted(sentences)]


class Forbidden(NamedTuple):
    """First states, transitions (ends among them) and emissions that p uses on a tree, and how many q forbids."""

    starts: tuple[int, int]  # forbidden, of how many
    transitions: tuple[int, int]
    emissions: tuple[int, int]  # states whose emissions q forbids in part

    @property
    def words(self) -> str:
        """For example "3 of 9 transitions that p takes"."""
        named = zip(self, (("first state", "has"), ("transition", "takes"), ("emission", "shows")), strict=True)
        return " and ".join(
            f"{some} of {counted(total, what)} that p {does}" for (some, total), (what, does) in named if some
        )


def forbidden_by_q(pair: Pair) -> Forbidden:
    """How much of what p uses has no probability under q, states paired by their labels."""
    p, q, local = pair.p, pair.q, pair.once(local_terms)
    places = first_places(p, pair.tree, len(local.rows), len(local.states))
    used, zero = (p.initial > 0), (q.initial == 0)
    taken = (with_end(p) > 0) & (places.rows < NEVER)[:, :, None] & (p.has_transition & q.has_transition)[:, None, None]
    shown = places.states < NEVER
    return Forbidden(
        (int((used & zero).sum()), int(used.sum())),
        (int((taken & (with_end(q) == 0)).sum()), int(taken.sum())),
        (int((shown & np.isinf(local.states)).sum()), int(shown.sum())),
    )


def _group(g: int, table: NDArray[np.float64]) -> str:
    """The group in front of a sentence, where a table has groups."""
    return f"group {g}, " if len(table) > 1 else ""


def state_in_words(model: Model, state: int) -> str:
    """A state as sentences name it: "state 2", or "state 2 ('rain')"."""
    return f"state {state}" if model.state_names is None else f"state {state} ({model.state_names[state]!r})"
