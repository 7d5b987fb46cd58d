"""Checks that two models can be compared; each refusal is one sentence that says what differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hidiv.emissions.registry import has_kl
from hidiv.emissions.sample_space import Kind, SampleSpace
from hidiv.errors import IncompatibleModels, refuse
from hidiv.models.symbol_names import listed

if TYPE_CHECKING:
    from hidiv.emissions.family import Family
    from hidiv.models.model import Model


def check_same_states(p: Model, q: Model, quantity: str) -> None:
    """Refuse different numbers of states: joint and posterior divergences pair states by their labels."""
    if p.n_states != q.n_states:
        refuse(
            IncompatibleModels,
            "p and q",
            f"have {p.n_states} and {q.n_states} states, so their {quantity} divergence is not defined",
            remedy="use hd.observed_kl, which does not look at states",
        )


def check_observations(p: Model, q: Model) -> None:
    """Refuse models of different observations: symbols, counts, numbers or angles, column by column."""
    for one in p.emissions:
        for two in q.emissions:
            if columns(one) != columns(two):
                refuse(
                    IncompatibleModels,
                    "emission",
                    f"p shows {_family_in_words(one)} and q shows {_family_in_words(two)}",
                    remedy="compare models of the same observations",
                )


def closed(p: Model, q: Model) -> bool:
    """Whether the emissions have divergences in closed form."""
    return all(has_kl(one, two) for one in p.emissions for two in q.emissions)


def columns(family: Family) -> list[str]:
    """What each column of the observations holds; a bit is a symbol of two, and of several columns sizes count."""
    spaces = family.column_spaces()
    return [_in_words(space, len(spaces) > 1) for space in spaces]


def _in_words(space: SampleSpace, sized: bool) -> str:
    """What one column shows, with the size of its alphabet where there are several columns."""
    if space.n_symbols is not None:
        return f"symbols of {space.n_symbols}" if sized else "symbols"
    return "counts" if space.is_counts else "angles" if space.kind is Kind.ANGLE else "numbers"


def _family_in_words(family: Family) -> str:
    """What a family shows: "counts", or "3 columns of counts and numbers"."""
    kinds = columns(family)
    if len(kinds) < 2:
        return kinds[0] if kinds else "nothing"
    return f"{len(kinds)} columns of {' and '.join(dict.fromkeys(kinds))}"


def check_length(p: Model, q: Model, until_end: bool) -> None:
    """Refuse models with `end` on a tree of known size, and models without it until the end."""
    _check_symbols(p, q)
    if (p.end is None) != (q.end is None):
        with_end, without = ("p", "q") if p.end is not None else ("q", "p")
        refuse(
            IncompatibleModels,
            "end",
            f"{with_end} has end probabilities and {without} has none",
            remedy="give both or neither an end",
        )
    if until_end and p.end is None:
        refuse(
            IncompatibleModels,
            "tree",
            "UNTIL_END needs models with end probabilities",
            remedy="give a tree, or models with end",
        )
    if not until_end and p.end is not None:
        refuse(
            IncompatibleModels,
            "tree",
            "models with end probabilities choose their own length",
            remedy="use tree=hd.UNTIL_END",
        )


def _check_symbols(p: Model, q: Model) -> None:
    """Refuse symbols with different names in the two models: by number, the wrong ones would be paired."""
    for one, two in zip(p.symbol_names or (), q.symbol_names or (), strict=False):
        if one is not None and two is not None and one != two:
            rule = f"p has the symbols {listed(one)} and q has {listed(two)}"
            remedy = "fit both with the same categories, in one order"
            refuse(IncompatibleModels, "symbol_names", rule, remedy=remedy)
