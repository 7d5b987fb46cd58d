"""Which file answers for a pair: the routing table, and how "auto" goes through it.

Every file in the table has the same two functions: `applies(pair)` gives the reason why it cannot answer, or None, and
`run(pair, budget)` answers, or raises NotApplicable where the reason shows only on the way. Of the rows that have the
method and the place of a pair the first that answers counts.
"""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import NamedTuple, Protocol

from hidiv.divergences.observed import variational
from hidiv.divergences.observed.alphabets import by_formula, symbol_probabilities
from hidiv.divergences.observed.budget import QUICK, Budget
from hidiv.divergences.observed.certified import (
    chains,
    cheap_bounds,
    joint_bound,
    number_chains,
    rates,
)
from hidiv.divergences.observed.certified.trees import listed_trees, regular_trees
from hidiv.divergences.observed.enumerated import chain_words, tree_configurations
from hidiv.divergences.observed.interval import Interval, NotApplicable
from hidiv.divergences.observed.quadrature import two_state_chains, two_state_trees
from hidiv.divergences.observed.sampled import rate_estimate, tree_estimate, until_end_estimate
from hidiv.divergences.pair import Pair
from hidiv.divergences.result import Divergence
from hidiv.errors import OutOfRange
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.models.until_end import UntilEnd

AUTO = ("exact", "certified", "quadrature", "montecarlo")  # the first of these that is quick or narrow enough


class MethodFile(Protocol):
    """A file of the table."""

    @property
    def __name__(self) -> str:
        """The module's name."""

    def applies(self, pair: Pair) -> str | None:
        """Why it cannot answer for this pair; None where it can try."""

    def run(self, pair: Pair, budget: Budget) -> Divergence:
        """The divergence; NotApplicable where it cannot be had after all."""


CHAIN, GROUPED, REGULAR, LISTED = "chain", "grouped chain", "regular tree", "listed tree"
ENDLESS, UNTIL_END = "endless chain", "until the end"
TREES = (CHAIN, GROUPED, REGULAR, LISTED)


class Route(NamedTuple):
    """A row: what a caller asks for, where, for how many states and which observations, and the file that answers."""

    method: str
    places: tuple[str, ...]
    states: str
    observations: str
    file: MethodFile


ROUTES = (
    Route("exact", (CHAIN,), "any", "symbols", chain_words),
    Route("exact", (GROUPED, REGULAR, LISTED), "any", "symbols", tree_configurations),
    Route("certified", (CHAIN,), "any", "symbols", chains),
    Route("certified", (ENDLESS,), "any", "symbols", rates),
    Route("certified", (*TREES, ENDLESS), "as many in both, or one process", "any", joint_bound),
    Route("certified", (GROUPED, REGULAR), "at most 2", "symbols", regular_trees),
    Route("certified", (LISTED,), "at most 2", "symbols", listed_trees),
    Route("certified", (CHAIN, ENDLESS), "at most 2", "normal numbers, counts", number_chains),
    Route("certified", (*TREES, ENDLESS, UNTIL_END), "any", "any", cheap_bounds),
    Route("quadrature", (CHAIN, ENDLESS), "at most 2", "one number", two_state_chains),
    Route("quadrature", (GROUPED, REGULAR, LISTED), "at most 2", "one number", two_state_trees),
    Route("montecarlo", TREES, "any", "any", tree_estimate),
    Route("montecarlo", (ENDLESS,), "any", "any", rate_estimate),
    Route("montecarlo", (UNTIL_END,), "any", "any", until_end_estimate),
    Route("variational", TREES, "any", "any", variational),
)


def place(pair: Pair) -> str:
    """Where a pair is compared, as the table says it."""
    tree = pair.tree
    if tree is None:
        return ENDLESS
    if isinstance(tree, UntilEnd):
        return UNTIL_END
    if tree.is_chain and pair.p.n_groups == pair.q.n_groups == 1:
        return CHAIN
    if tree.kind == "regular":
        return REGULAR
    return GROUPED if tree.is_chain else LISTED


def rows(pair: Pair, method: str) -> list[Route]:
    """The rows of a method for the place of a pair, in order."""
    where = place(pair)
    return [route for route in ROUTES if route.method == method and where in route.places]


def by_name(pair: Pair, method: str, budget: Budget) -> Divergence:
    """What the first row of a method that applies gives; NotApplicable, with the last reason, where none does."""
    reasons: list[str] = []
    for route in rows(pair, method):
        reason = route.file.applies(pair)
        if reason is None:
            try:
                result = route.file.run(pair, budget)
                return _because(result, reasons[-1]) if route.file is cheap_bounds and reasons else result
            except NotApplicable as error:
                reason = str(error)
        if route.file is not joint_bound:  # which bounds what is near, not what is hard to bound
            reasons.append(reason)
    raise NotApplicable(reasons[-1] if reasons else f"there is no such method for {place(pair)}")


def _because(result: Divergence, reason: str) -> Divergence:
    """Wide bounds whose certificate says why there are no narrow ones."""
    return replace(result, certificate=(result.certificate or {}) | {"because": reason})


def automatic(pair: Pair, budget: Budget) -> Divergence:
    """Exact where that is quick, certified where it soon is as narrow as asked, by quadrature, or else an estimate.

    What was passed over, and why, is in the notes. Nothing here depends on the clock unless it ends a search.
    """
    notes: list[str] = []
    began = monotonic()
    for method in AUTO:
        if not rows(pair, method) or (method == "certified" and place(pair) == UNTIL_END):
            continue  # the bounds of random lengths are always wide, and the estimate gives the upper one
        try:
            return _quick_or_narrow(pair, method, budget.after(monotonic() - began)).noted(*notes)
        except (NotApplicable, OutOfRange) as reason:
            if method == AUTO[-1]:
                raise
            if method != "quadrature":
                notes.append(f"not {method}, because {reason}")
    raise NotApplicable("nothing applies")


def _quick_or_narrow(pair: Pair, method: str, budget: Budget) -> Divergence:
    """A method as "auto" tries it; NotApplicable where it would take long or is not as narrow as asked."""
    if method == "exact" and not _few_words(pair):
        raise NotApplicable("there are too many words to list")
    if method != "certified":
        return by_name(pair, method, budget)
    if not by_formula(pair.p, pair.q):
        raise NotApplicable("bounds for mixtures take integrals, one for each pair of states")
    soon = budget.soon()
    result = by_name(pair, method, soon)
    if result.infinite or (
        result.lower is not None and result.upper is not None and soon.narrow(Interval(result.lower, result.upper))
    ):
        return result
    ended = ", the clock having ended the search" if (result.certificate or {}).get("stopped") == "the time" else ""
    raise NotApplicable(
        f"the proven bounds, {result.lower:.6g} and {result.upper:.6g}, are wider apart than asked for{ended}"
    )


def listed_soon(pair: Pair) -> Divergence | None:
    """The exact divergence where all words are quickly listed, which then takes less than any draws; None elsewhere."""
    pair = pair.once(in_logarithms)
    try:
        return _quick_or_narrow(pair, "exact", Budget()) if rows(pair, "exact") else None
    except (NotApplicable, OutOfRange):
        return None


def _few_words(pair: Pair) -> bool:
    """Whether the words of a tree are few enough to be listed at once."""
    tree, symbols = pair.tree, symbol_probabilities(pair.p).shape[-1]
    assert isinstance(tree, Tree)
    return tree.depth < 64 and (symbols == 1 or symbols ** min(tree.n_nodes, 64) <= QUICK)


def in_logarithms(pair: Pair) -> Pair:
    """A pair of models of log x where all emissions have a law of it, as log-normal ones do; else the pair itself."""
    if not all(family.logarithms is not None for model in (pair.p, pair.q) for family in model.emissions):
        return pair
    return Pair(_logarithms(pair.p), _logarithms(pair.q), pair.tree, pair.initial)


def _logarithms(model: Model) -> Model:
    """The model of log x."""
    emissions = [f.logarithms(**f.parameters()) for f in model.emissions if f.logarithms is not None]
    return Model(
        model.initial, model.transition, emissions, name=model.name, state_names=model.state_names, end=model.end
    )
